"""Training in stages: which losses train which variables, for how many updates."""

import operator
from collections.abc import Sequence

import tensorflow as tf

from rrn import config, optimizers
from rrn.optimizers import Optimizer, learning_rate
from rrn.optimizers.optimizer import Gradient
from rrn.tasks.task import Task
from rrn.variables.reading import Variable, module_variables, shards

MODULES = "encoder", "network"  # of every task


class Objective:
    """A loss, the variables that it trains, and how.

    Warm-up, decay and Adam's bias correction count the stage's updates alone.

    Raises:
      ValueError: a module that does not exist or has no variables.
    """

    def __init__(self, settings: config.Objective, num_updates: int, task: Task):
        self.config, self.num_updates = settings, num_updates
        self.loss, self.task, modules = settings.loss, task, settings.modules
        self.title = self.loss  # in reports
        self._groups = {path: module_variables(find_module(task, path)) for path in modules}
        variables = {id(v): v for group in self._groups.values() for v in group}
        self.variables_ = list(variables.values())
        if not variables:
            raise ValueError(f"modules {modules} have no variables")

    def check_reached(self, gradients: Sequence[Gradient], stage: str) -> None:
        """Checks that every module has a variable with a gradient; there is one of each shard.

        Raises:
          ValueError: a module has none.
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
        """Computes the learning rate after some updates of the stage, a scalar."""
        settings = self.config
        return learning_rate(update, settings.learning_rate, settings.schedule, self.num_updates)

    def label(self, name: str) -> str:
        """Names a metric of this objective: "loss", or of another loss "discriminator/loss"."""
        return name if self.title == "loss" else f"{self.title}/{name}"


class Stage:
    """Objectives that are trained on the same batches, after `first` updates of other stages.

    Raises:
      ValueError: an option that the task does not take, two objectives that train one variable, or
        see `Objective`.
    """

    def __init__(self, settings: config.Stage, first: int, task: Task):
        self.name, self.first, self.num_updates = settings.name, first, settings.num_updates
        options = task.config.split_options(settings.options, "options")
        self.loss_options, self.batch_options = options
        self.segments = settings.segments
        self.error_share, self.error_power = settings.error_share, settings.error_power
        self.group_shares = settings.group_shares
        self.by_group = bool(self.group_shares or self.error_share)
        self.objectives = [
            Objective(objective, settings.num_updates, task) for objective in settings.objectives
        ]
        losses = [objective.loss for objective in self.objectives]
        if any(o.config.l2 for o in self.objectives) and not task.regularized():
            raise ValueError("l2: this task has no variables in the L2 term; expected 0")
        for objective in self.objectives:
            if losses.count(objective.loss) > 1:
                objective.title = f"{objective.loss} of {', '.join(objective.config.modules)}"
        names = [variable.name.removesuffix(":0") for variable in self.trained()]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"only one objective can train {', '.join(twice)}")

    @property
    def trains(self) -> tuple:
        """Which losses train which modules, and by which optimizers."""
        return tuple((o.loss, o.config.modules, o.config.optimizer) for o in self.objectives)

    def create_optimizers(self) -> list[Optimizer]:
        """Creates each objective's optimizer, with new slots.

        Raises:
          ValueError: an optimizer that does not fit its variables.
        """
        try:
            return [create_optimizer(o.config.optimizer, o.variables_) for o in self.objectives]
        except ValueError as error:
            raise ValueError(f"stage {self.name}: {error}") from None

    def trained(self) -> list[Variable]:
        """Lists the variables that the stage changes, whole."""
        return [v for objective in self.objectives for v in objective.variables_]


class Plan:
    """The stages of a run.

    Raises:
      ValueError: what does not fit the task; the message names the stage.
    """

    def __init__(self, settings: config.Train, task: Task):
        self.stages, self.num_updates = [], 0
        for stage in settings.stages:
            try:
                self.stages.append(Stage(stage, self.num_updates, task))
            except ValueError as error:
                raise ValueError(f"stage {stage.name}: {error}") from None
            self.num_updates += stage.num_updates

    def stage(self, update: int) -> Stage:
        """Finds the stage of the update that comes after this many."""
        return [stage for stage in self.stages if stage.first <= update][-1]

    def updates_left(self, update: int) -> int:
        """Counts the updates that come after this many until the next stage begins."""
        stage = self.stage(update)
        return stage.first + stage.num_updates - update

    def finished(self, update: int) -> Stage | None:
        """Finds the stage that ends after this many updates, if one does."""
        return next((s for s in self.stages if s.first + s.num_updates == update), None)


def create_optimizer(settings: config.Optimizers, variables: Sequence[Variable]) -> Optimizer:
    """Makes the optimizer of some variables, with new slots.

    Raises:
      ValueError: an argument that does not fit the variables.
    """
    try:
        create = getattr(optimizers, type(settings).__name__.removesuffix("Settings"))
        return create(variables, **settings.model_dump(exclude={"kind"}))
    except ValueError as error:
        raise ValueError(f"optimizer {settings.kind}: {error}") from None


def find_module(task: Task, path: str) -> tf.Module:
    """Finds a module of a task.

    Args:
      path: "encoder", "network", or an attribute of theirs, as "network.readout".

    Raises:
      ValueError: there is no such module; the message lists them.
    """
    try:
        module = operator.attrgetter(path)(task)
    except AttributeError:
        module = None
    if path.partition(".")[0] not in MODULES or not isinstance(module, tf.Module):
        children = [(n, *item) for n in MODULES for item in vars(getattr(task, n)).items()]
        known = [
            f"{name}.{child}" for name, child, value in children if isinstance(value, tf.Module)
        ]
        names = ", ".join([*MODULES, *known])
        raise ValueError(f"modules must be a tuple of some of {names}; got {path!r}")
    return module
