"""Training in stages: which losses train which variables, for how many updates.

In a config `train.stages` is a tuple with a dict for each stage:

    {"name": "first", "num_updates": 900, "loss": "a", "modules": ("network.f",)},
    {"name": "both", "num_updates": 500, "learning_rate": 1e-4,
     "objectives": ({"loss": "a", "modules": ("network.f",)},
                    {"loss": "b", "modules": ("network.g",), "clip_norm": 1.0})},

A stage takes what it does not give from `train`, and an objective from its stage;
`rrn/training/fields.py` lists the fields of each. `loss` is one of those that the task's `loss`
returns, "loss" if not given; `modules` are attributes of the task, or their attributes, `MODULES`
if not given. A stage without `objectives` has one, made of its own fields; a config without stages
has one stage, made of train's. `options` are arguments of the task's `loss` or `make_batch` in the
stage, as {"num_steps": 16}. The plan runs `train.repeats` times.
"""

import inspect
import operator
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import tensorflow as tf
from ml_collections import ConfigDict

from rrn.optimizers import OPTIMIZERS, Optimizer, learning_rate
from rrn.optimizers.optimizer import Gradient
from rrn.reading import Variable, module_variables, shards
from rrn.tasks.task import Task
from rrn.training.fields import (
    OBJECTIVE_FIELDS,
    SHARED_OBJECTIVE_FIELDS,
    SHARED_STAGE_FIELDS,
    check_train,
)

MODULES = "encoder", "network"  # of every task
# What no stage can set.
LOSS_ARGUMENTS = {"encodings", "batch", "random", "training", "state"}
BATCH_ARGUMENTS = {"arrays", "examples", "random", "training"}


class Objective(tf.Module):
    """A loss, the variables that it trains, and their optimizer with slots of its own.

    Warm-up, decay and Adam's bias correction count the stage's updates alone. Lists of gradients
    have one for each shard of the variables, in their order.

    Args:
      fields: name -> value, all of `OBJECTIVE_FIELDS`.
      num_updates: the stage's number of updates in the whole run.
      task: the task.

    Raises:
      ValueError: a module that is not there or has no variables, or fields that do not fit each
        other.
    """

    def __init__(self, fields: Mapping[str, Any], num_updates: int, task: Task):
        super().__init__(name="objective")
        self.config = SimpleNamespace(**fields, num_updates=num_updates)
        self.rate(0)  # fields that do not fit each other are an error here, in plain words
        self.loss, self.task = fields["loss"], task
        modules = fields["modules"]
        self._groups = {path: module_variables(find_module(task, path)) for path in modules}
        variables = {id(v): v for group in self._groups.values() for v in group}
        self.variables_ = list(variables.values())
        if not variables:
            raise ValueError(f"modules {modules} have no variables")
        self.optimizer = create_optimizer(self.config, self.variables_)

    def check_reached(self, gradients: Sequence[Gradient], stage: str) -> None:
        """Refuses a loss on which no variable of one of the modules has an influence.

        Args:
          gradients: those of the loss.
          stage: the stage's name.

        Raises:
          ValueError: all variables of a module have no gradient.
        """
        pairs = zip(shards(self.variables_), gradients, strict=True)
        reached = {variable.ref() for variable, gradient in pairs if gradient is not None}
        for path, variables in self._groups.items():
            if variables and not any(shard.ref() in reached for shard in shards(variables)):
                names = ", ".join(variable.name.removesuffix(":0") for variable in variables)
                raise ValueError(
                    f"stage {stage}: loss {self.loss!r} reaches no variable of {path}: {names}"
                )

    def rate(self, update: int | tf.Tensor) -> tf.Tensor:
        """Computes the learning rate of an update.

        Args:
          update: the number of the stage's updates before this one.

        Returns:
          The rate, a scalar.
        """
        return learning_rate(
            update,
            base=self.config.learning_rate,
            warmup_updates=self.config.warmup_updates,
            decay=self.config.decay,
            num_updates=self.config.num_updates,
            decay_rate=self.config.decay_rate,
            decay_updates=self.config.decay_updates,
        )

    def label(self, name: str) -> str:
        """Names a figure of this objective in reports.

        Args:
          name: the figure's name, as "loss".

        Returns:
          The name alone for the loss "loss"; for another one as "discriminator/loss".
        """
        return name if self.loss == "loss" else f"{self.loss}/{name}"


class Stage(tf.Module):
    """Objectives that are trained on the same batches, from one forward pass.

    Args:
      fields: name -> value, all of `STAGE_FIELDS`.
      first: how many updates of the plan come before the stage's.
      repeats: how often the plan runs.
      task: the task.

    Raises:
      ValueError: an option that the task does not take, two objectives that train one variable, or
        as of `Objective`.
    """

    def __init__(self, fields: Mapping[str, Any], first: int, repeats: int, task: Task):
        super().__init__(name=fields["name"])
        self.first, self.num_updates = first, fields["num_updates"]
        self.loss_options, self.batch_options = _split_options(fields["options"], task)
        self.max_segments = fields["max_segments"]
        self.leave_probability = fields["leave_probability"]
        self.error_share = fields["error_share"]
        inherited = {name: fields[name] for name in OBJECTIVE_FIELDS}
        self.objectives = [
            Objective({**inherited, **own}, repeats * self.num_updates, task)
            for own in fields["objectives"] or ({},)
        ]
        names = [variable.name.removesuffix(":0") for variable in self.trained()]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"only one objective can train {', '.join(twice)}")

    def trained(self) -> list[Variable]:
        """Lists the variables that the stage changes.

        Returns:
          Whole variables.
        """
        return [v for objective in self.objectives for v in objective.variables_]


class Plan(tf.Module):
    """The stages of a run. Which one an update belongs to follows from its number.

    Args:
      config: the experiment's `train`.
      task: the task.

    Raises:
      ValueError: a field that `check_train` refuses, or one that does not fit the task or the other
        fields; the message names the field or the stage.

    Attributes:
      stages: the stages, in their order.
      num_updates: the number of updates of the whole run.
    """

    def __init__(self, config: ConfigDict, task: Task):
        super().__init__(name="plan")
        check_train(config)
        self.repeats = config.repeats
        defaults = {
            "name": "train",
            "options": {},
            "objectives": (),
            "loss": "loss",
            "modules": MODULES,
        }
        shared = {name: config[name] for name in (*SHARED_STAGE_FIELDS, *SHARED_OBJECTIVE_FIELDS)}
        self.stages, self._round = [], 0
        for own in config.stages or ({},):
            fields = {**defaults, **shared, **own}
            try:
                self.stages.append(Stage(fields, self._round, self.repeats, task))
            except ValueError as error:
                raise ValueError(f"stage {fields['name']}: {error}") from None
            self._round += fields["num_updates"]
        self.num_updates = self.repeats * self._round

    def _place(self, update):
        """The update's place in its round; what follows the plan belongs to the last round."""
        return update - min(update // self._round, self.repeats - 1) * self._round

    def stage(self, update: int) -> Stage:
        """Finds the stage of an update.

        Args:
          update: the number of updates before it.

        Returns:
          The stage.
        """
        return [stage for stage in self.stages if stage.first <= self._place(update)][-1]

    def updates_left(self, update: int) -> int:
        """Counts the updates of a stage that are left.

        Args:
          update: the number of updates so far.

        Returns:
          How many come until the next stage begins.
        """
        stage = self.stage(update)
        return stage.first + stage.num_updates - self._place(update)

    def finished(self, update: int) -> Stage | None:
        """Finds the stage that is over for good.

        Args:
          update: the number of updates so far.

        Returns:
          The stage whose last update this was; None if it was no stage's last.
        """
        place = update - (self.repeats - 1) * self._round
        return next((s for s in self.stages if s.first + s.num_updates == place), None)

    def own_update(self, stage: Stage, update: tf.Tensor) -> tf.Tensor:
        """Counts a stage's own updates.

        Args:
          stage: the stage.
          update: the number of updates so far, an integer tensor, while the stage is running.

        Returns:
          How many of them were the stage's.
        """
        others = self._round - stage.num_updates
        return update - stage.first - update // self._round * others


def create_optimizer(config: SimpleNamespace, variables: Sequence[Variable]) -> Optimizer:
    """Makes the optimizer of some variables.

    A field whose name begins with the optimizer's is an argument of the optimizer: `muon_exclude`
    is `Muon`'s `exclude`.

    Args:
      config: an objective's fields as attributes; `optimizer` is the optimizer's name.
      variables: the variables to train.

    Returns:
      The optimizer, with new slots.

    Raises:
      ValueError: an argument that the optimizer does not take.
    """
    name = config.optimizer
    arguments = {
        field.removeprefix(f"{name}_"): value
        for field, value in vars(config).items()
        if field.startswith(f"{name}_")
    }
    try:
        return OPTIMIZERS[name](variables, **arguments)
    except ValueError as error:
        raise ValueError(f"optimizer {name}: {error}") from None


def stage_names(config: ConfigDict) -> list[str]:
    """Lists the names of a config's stages.

    Args:
      config: the experiment's `train`.

    Returns:
      The names; none if the config has no stages.
    """
    return [fields.get("name", "train") for fields in config.stages]


def _split_options(options, task):
    """Those that the task's `loss` takes, and those that its `make_batch` takes; raises ValueError
    for one that neither does, for a number in place of a switch, or a switch in place of a number.
    """
    of_loss, of_batch = (
        {n: p for n, p in inspect.signature(function).parameters.items() if n not in others}
        for function, others in ((task.loss, LOSS_ARGUMENTS), (task.make_batch, BATCH_ARGUMENTS))
    )
    known = {**of_loss, **of_batch}
    for name, value in options.items():
        if name not in known:
            raise ValueError(f"no option {name}; this task's are {', '.join(known) or 'none'}")
        is_switch = isinstance(known[name].default, bool)
        if is_switch != isinstance(value, bool):
            kind = "True or False" if is_switch else "a whole number"
            raise ValueError(f"option {name}: expected {kind}, got {value!r}")
    return (
        {name: value for name, value in options.items() if name in of_loss},
        {name: value for name, value in options.items() if name in of_batch},
    )


def find_module(task: Task, path: str) -> tf.Module:
    """Finds a module of a task.

    Args:
      task: the task.
      path: "encoder", "network", or an attribute of theirs, as "network.readout".

    Returns:
      The module.

    Raises:
      ValueError: there is no such module; the message lists those that there are.
    """
    try:
        module = operator.attrgetter(path)(task)
    except AttributeError:
        module = None
    if path.partition(".")[0] not in MODULES or not isinstance(module, tf.Module):
        there = [
            f"{name}.{child}"
            for name in MODULES
            for child, value in vars(getattr(task, name)).items()
            if isinstance(value, tf.Module)
        ]
        there = ", ".join([*MODULES, *there])
        raise ValueError(f"modules must be a tuple of some of {there}; got {path!r}")
    return module
