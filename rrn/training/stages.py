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
has one stage, made of train's. `options` are arguments of the task's `loss` in the stage, as
{"num_steps": 16}. The plan runs `train.repeats` times.
"""

import inspect
import operator
from types import SimpleNamespace

import tensorflow as tf

from rrn.optimizers import OPTIMIZERS, Optimizer, clip_by_global_norm, learning_rate
from rrn.reading import module_variables, shards
from rrn.training.fields import (
    OBJECTIVE_FIELDS,
    SHARED_OBJECTIVE_FIELDS,
    SHARED_STAGE_FIELDS,
    check_train,
)

MODULES = "encoder", "network"  # of every task
LOSS_ARGUMENTS = {"encodings", "batch", "random", "training", "state"}  # what no stage can set


class Objective(tf.Module):
    """A loss, the variables that it trains, and their optimizer with slots of its own.

    fields: a dict of `OBJECTIVE_FIELDS`; num_updates: the stage's, in the whole run. Warm-up, decay
    and Adam's bias correction count the stage's updates alone.
    """

    def __init__(self, fields, num_updates, task):
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

    def add_l2(self, gradients):
        """Adds the L2 term's gradient, l2 w, for each of the task's regularized variables w.

        Here and below gradients are those of the variables' shards, in their order.
        """
        regularized = {shard.ref() for shard in shards(self.task.regularized())}

        def add(variable, gradient):
            if gradient is None or not self.config.l2 or variable.ref() not in regularized:
                return gradient
            with tf.device(variable.device):
                return gradient + self.config.l2 * variable

        return [add(v, g) for v, g in zip(shards(self.variables_), gradients, strict=True)]

    def check_reached(self, gradients, stage):
        """Raises ValueError where all variables of a module have no gradient; `stage`: its name."""
        pairs = zip(shards(self.variables_), gradients, strict=True)
        reached = {variable.ref() for variable, gradient in pairs if gradient is not None}
        for path, variables in self._groups.items():
            if variables and not any(shard.ref() in reached for shard in shards(variables)):
                names = ", ".join(variable.name.removesuffix(":0") for variable in variables)
                raise ValueError(
                    f"stage {stage}: loss {self.loss!r} reaches no variable of {path}: {names}"
                )

    def rate(self, update):
        """The learning rate of an update, a number that counts the stage's updates alone."""
        return learning_rate(
            update,
            base=self.config.learning_rate,
            warmup_updates=self.config.warmup_updates,
            decay=self.config.decay,
            num_updates=self.config.num_updates,
            decay_rate=self.config.decay_rate,
            decay_updates=self.config.decay_updates,
        )

    def apply(self, gradients, update):
        """Clips, and takes the optimizer's step; returns (the gradients' norm before, the rate)."""
        gradients, norm = clip_by_global_norm(gradients, self.config.clip_norm)
        rate = self.rate(update)
        self.optimizer.apply(gradients, rate, update)
        return norm, rate

    def label(self, name):
        """The name of a figure of this objective in reports: "loss", "discriminator/loss"."""
        return name if self.loss == "loss" else f"{self.loss}/{name}"


class Stage(tf.Module):
    """Objectives that are trained on the same batches, from one forward pass.

    fields: a dict of `STAGE_FIELDS`; first: how many updates of the plan come before the stage's;
    repeats: how often the plan runs.
    """

    def __init__(self, fields, first, repeats, task):
        super().__init__(name=fields["name"])
        self.first, self.num_updates = first, fields["num_updates"]
        self.options = _check_options(fields["options"], task)
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

    def trained(self):
        """The variables that the stage changes."""
        return [v for objective in self.objectives for v in objective.variables_]

    def losses(self, losses):
        """The objectives' losses, means over a tower's examples, from the task's by name."""
        for objective in self.objectives:
            if objective.loss not in losses:
                names = ", ".join(losses)
                raise ValueError(
                    f"stage {self.name}: loss must be one of {names}, got {objective.loss!r}"
                )
        return [tf.reduce_mean(losses[objective.loss]) for objective in self.objectives]

    def metrics(self, metrics, losses):
        """Those to be reported: without those of losses (`<loss>/...`) that are not trained."""
        others = losses.keys() - {objective.loss for objective in self.objectives}
        return {n: value for n, value in metrics.items() if n.partition("/")[0] not in others}


class Plan(tf.Module):
    """The stages of a run. Which one an update belongs to follows from its number.

    config: the experiment's `train`.

    Raises:
      ValueError: a field that `check_train` refuses, or one that does not fit the task or the other
        fields; the message names the field or the stage.
    """

    def __init__(self, config, task):
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

    def stage(self, update):
        """The stage of `update`, an integer from 0 on."""
        return [stage for stage in self.stages if stage.first <= self._place(update)][-1]

    def updates_left(self, update):
        """How many updates, this one included, the stage has until the next stage."""
        stage = self.stage(update)
        return stage.first + stage.num_updates - self._place(update)

    def finished(self, update):
        """The stage that is over for good when `update` updates are done, None if none is."""
        place = update - (self.repeats - 1) * self._round
        return next((s for s in self.stages if s.first + s.num_updates == place), None)

    def own_update(self, stage, update):
        """How many of the first `update` updates (an integer tensor) were the stage's."""
        others = self._round - stage.num_updates
        return update - stage.first - update // self._round * others


def create_optimizer(config, variables) -> Optimizer:
    """The variables' optimizer, `config.optimizer`.

    A field whose name begins with the optimizer's is an argument of the optimizer: `muon_exclude`
    is `Muon`'s `exclude`.
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


def stage_names(config):
    """The names of the stages of a config's `train`; none if it has no stages."""
    return [fields.get("name", "train") for fields in config.stages]


def _check_options(options, task):
    """Raises ValueError for an option that the task's `loss` does not take."""
    known = [n for n in inspect.signature(task.loss).parameters if n not in LOSS_ARGUMENTS]
    for name in options:
        if name not in known:
            raise ValueError(f"no option {name}; this task's are {', '.join(known) or 'none'}")
    return options


def find_module(task, path):
    """The module at `path`: "encoder", "network", or an attribute of theirs, "network.readout"."""
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
