"""What the programs share: a task on its devices, its inputs and evaluation."""

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import tensorflow as tf

from rrn.distribute.towers import Tower, make_towers
from rrn.distribute.variables import plan_placement
from rrn.files.data import PreparedData, read_prepared
from rrn.files.weights import model_variables
from rrn.models import describe
from rrn.tasks import create_report, create_task
from rrn.tasks.inputs import Groups, training_inputs
from rrn.tasks.report import Report
from rrn.tasks.task import Arrays, Task
from rrn.training.evaluation import Evaluator
from rrn.training.machines import OneMachine
from rrn.training.request import Request
from rrn.training.step import Trainer
from rrn.training.workdir import Workdir
from rrn.variables.reading import Variable


def read_data(request: Request) -> tuple[PreparedData, PreparedData]:
    """Reads the prepared files on which the model is made and evaluated, often one.

    Raises:
      ValueError: a file is missing or damaged. The message names it.
    """
    config = request.config
    read = functools.cache(read_prepared)
    return read(config.data.path), read(config.evaluate.path or config.data.path)


@dataclasses.dataclass(frozen=True)
class Setup:
    """A task on its machines, and the folder of its run.

    Attributes:
      machines: where towers, variables and inputs are.
      data: what the model was made on.
      evaluation_data: what `evaluate` names.
    """

    request: Request
    machines: OneMachine
    data: PreparedData
    evaluation_data: PreparedData
    task: Task
    report: Report

    _traced: dict[Any, Any] = dataclasses.field(default_factory=dict)

    @property
    def workdir(self) -> Workdir:
        """The folder of the run."""
        return Workdir(self.request.workdir)

    @property
    def variables(self) -> list[Variable]:
        """The model's variables, whole."""
        return model_variables(self.task)

    @property
    def stages(self) -> list[str]:
        """The names of the config's stages."""
        return [stage.name for stage in self.request.config.train.stages]

    @property
    def about(self) -> dict[str, Any]:
        """What weights files hold beside the weights."""
        return {"config": self.request.name, **describe(self.request.config.model, self.data)}

    def stage_weights(self, stage: str) -> Path:
        """Names the file of the weights at the end of a stage."""
        return self.workdir / f"weights_{stage}.h5"

    def arrays(self, data: PreparedData, split: str) -> Arrays:
        """Puts the arrays of a split on the CPU.

        Raises:
          ValueError: there is no such split, or no example in it.
        """
        arrays = data.arrays(split)
        if not self.task.num_examples(arrays):
            raise ValueError(f"{data.path}: its {split} split has no examples")
        return arrays

    def evaluation_arrays(self) -> Arrays:
        """Puts what `config.evaluate` names on the CPU; see `arrays`.

        Raises:
          ValueError: the data do not fit the model.
        """
        self.data.check_compatible(self.evaluation_data)
        return self.arrays(self.evaluation_data, self.request.config.evaluate.split)

    @functools.cached_property
    def training_arrays(self) -> Arrays:
        """The training split's; see `arrays`."""
        return self.arrays(self.data, "train")

    def inputs(
        self,
        num_done: int,
        groups: Groups | None = None,
        shares: Sequence[float] | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> list[tf.data.Dataset]:
        """Makes each device's data set from update `num_done` on; see `training_inputs`.

        They are traced once for all updates and shares, except on other machines.
        """
        config, machines, key = self.request.config, self.machines, (str(options), groups)
        sizes = config.train.batch_size, len(machines.devices)
        args = self.task, self.training_arrays, *sizes, config.seed
        settings = {"cpus": machines.cpus, "groups": groups, "options": options}
        make = functools.partial(training_inputs, *args, **settings)
        if not machines.cpus:
            make = self._traced.setdefault(key, tf.function(make, autograph=False))
        first_update = tf.constant(num_done, tf.int64)
        return make(
            first_update, shares=None if shares is None else tf.constant(shares, tf.float64)
        )

    def towers(self, devices: Sequence[str]) -> list[Tower]:
        """Makes a tower on each device."""
        itself, task = _encodes_itself(self.request.config), self.task
        compiled = self.machines.compiles(devices)
        return make_towers(devices, task.network, task.encoder, itself, compiled)

    def trainer(self, num_done: int = 0) -> Trainer:
        """Makes the trainer of what follows the first `num_done` updates; see `Trainer`."""

        def specs(**settings) -> Any:
            return [dataset.element_spec for dataset in self.inputs(num_done, **settings)]

        train, towers = self.request.config.train, self.towers(self.machines.devices)
        return Trainer(self.task, train, towers, specs, self.training_arrays, num_done)

    def evaluator(self, arrays: Arrays, num_examples: int) -> Evaluator:
        """Makes what evaluates the model on some of the examples, all of them if it is 0."""
        config, towers = self.request.config, self.towers(self.machines.evaluation_devices)
        return Evaluator(self.report, config.evaluate, towers, arrays, config.seed, num_examples)


def set_up(
    request: Request, machines: OneMachine, data: PreparedData, evaluation_data: PreparedData
) -> Setup:
    """Makes the task, with its variables on their devices.

    Raises:
      ValueError: the data does not fit the task, or the placement of variables not the machines.
    """
    config = request.config
    create = functools.partial(create_task, config.model, data)
    where = config.variables.policy.model_dump()  # its kind, and the axis of shards

    def on_cpu(task):  # unless all variables are elsewhere
        return () if _encodes_itself(config) else task.encoder.variables

    args = where.pop("kind"), machines.devices, machines.servers
    with plan_placement(create, *args, **where, pinned=on_cpu).scope():
        task = create()
    task.fixed_shapes = machines.compiles(machines.devices)
    return Setup(request, machines, data, evaluation_data, task, create_report(task))


def _encodes_itself(config):
    return config.variables.encoder_device == "tower"
