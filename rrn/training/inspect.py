"""Inspection: who reads and trains which variable, where it is, and what each tower has of its own.

Updates are traced and none is made, with the first steps of a network alone. What a cluster would
do is shown on stand-ins for its devices.
"""

from collections.abc import Mapping
from typing import Any

from rrn.distribute.inspection import (
    format_activations,
    graph_with_variables,
    list_activations,
    write_graph,
)
from rrn.distribute.variables import (
    format_policies,
    format_variables,
    list_variables,
    short_device,
)
from rrn.training.files import Files
from rrn.training.machines import make_machines
from rrn.training.request import Request
from rrn.training.setup import Setup, set_up
from rrn.training.trainer import Trainer
from rrn.variables.recorder import Record, recording

TRACED_STEPS = 2  # all others read what the second reads; see `rrn.variables.recorder.traced_steps`


def inspect(request: Request, files: Files) -> None:
    """Traces the updates and prints what they use; writes each stage's graph for TensorBoard.

    Raises:
      ValueError: the data does not fit the task, or the placement of variables not the machines.
    """
    machines = make_machines(request)
    setup = set_up(request, files, machines, machines.stand_ins())
    arrays, workdir = setup.data.arrays("train"), setup.workdir
    with recording(TRACED_STEPS) as towers:
        trainer = setup.trainer(arrays)
    workdir.path.mkdir(parents=True, exist_ok=True)
    print(format_variables(write_variables(setup, trainer, towers)))
    if servers := machines.servers:
        axis = getattr(request.config.variables.policy, "axis", "longest")
        print(format_policies(setup.placement.variables, servers, axis))
    rows = list_activations(towers)
    workdir.write_json("activations.json", rows)
    num_steps = max(record.num_steps for record in towers.values())
    print(format_activations(rows, num_steps))
    folder = workdir / "events"
    for stage, function in trainer.traced.items():
        graph = graph_with_variables(function, trainer.variables, _shown_names(setup))
        write_graph(folder / f"update_{stage}", graph)
    print(f"graph of an update: tensorboard --logdir {folder}")


def write_variables(
    setup: Setup, trainer: Trainer, towers: Mapping[str, Record]
) -> list[dict[str, Any]]:
    """Writes variables.json; returns its rows, see `list_variables`."""
    trained = {stage.name: stage.trained() for stage in trainer.plan.stages}
    rows = list_variables(setup.variables, towers, trained, _shown_names(setup))
    setup.workdir.write_json("variables.json", rows)
    return rows


def _shown_names(setup):
    """The short name of a stand-in -> the device that it stands in for."""
    return {short_device(ours): shown for shown, ours in setup.stand_ins.items()}
