"""Inspection: who reads and trains which variable, where it is, and each tower's hidden states."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from rrn.distribute.variables import format_hidden, format_variables, list_variables
from rrn.training.machines import make_machines
from rrn.training.request import Request
from rrn.training.setup import Setup, read_data, set_up
from rrn.training.step import Trainer
from rrn.variables.recorder import Record, recording


def inspect(request: Request) -> None:
    """Traces an update of the first stage and prints what it uses; none is made.

    Raises:
      ValueError: the data does not fit the task, or the placement of variables not the machines.
      ConnectionError: a process of the cluster did not come or has failed.
    """
    data, machines = read_data(request), make_machines(dataclasses.replace(request, jit="off"))
    with machines.ready():  # XLA would hide the steps
        setup = set_up(request, machines, *data)
        with recording() as towers:
            trainer = setup.trainer(setup.data.arrays("train"))
        setup.workdir.path.mkdir(parents=True, exist_ok=True)
        print(format_variables(write_variables(setup, trainer, towers)))
        print(format_hidden(towers))


def write_variables(
    setup: Setup, trainer: Trainer, towers: Mapping[str, Record]
) -> list[dict[str, Any]]:
    """Writes variables.json; returns its rows, see `list_variables`."""
    trained = {stage.name: stage.trained() for stage in trainer.plan.stages}
    rows = list_variables(setup.variables, towers, trained)
    setup.workdir.write_json("variables.json", rows)
    return rows
