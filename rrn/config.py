"""What an experiment's config may say: every setting that all experiments have in common.

The settings of a task's model are declared beside its network.
"""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Field, SerializeAsAny, field_validator, model_validator

from rrn.hardware import faster_type
from rrn.settings import (
    BY_KIND,
    BY_WORD,
    LIST_TOO,
    Count,
    CountOrZero,
    Name,
    Number,
    Probability,
    Settings,
    create,
)
from rrn.settings import replace as replace

BatchSize = Annotated[int, Field(ge=1, le=65_536)]


# How variables are trained


class AdamSettings(Settings):
    """Adam; see `rrn.optimizers.Adam`."""

    kind: Literal["adam"] = "adam"


class RMSPropSettings(Settings):
    """RMSProp; see `rrn.optimizers.RMSProp`."""

    kind: Literal["rmsprop"] = "rmsprop"


class MuonSettings(Settings):
    """Muon for matrices, and Adam for other variables; see `rrn.optimizers.Muon`."""

    kind: Literal["muon"] = "muon"
    # A regular expression: matrices in whose names it is found are Adam's, too. Empty: none are.
    exclude: str = ""
    weight_decay: Number = 0.0  # of Muon's matrices, times the learning rate at every update


class Schedule(Settings):
    """How the learning rate changes; see `rrn.optimizers.learning_rate`."""

    warmup_updates: CountOrZero = 0  # in which the rate rises from zero


class Constant(Schedule):
    """Stays as it is after the warm-up."""

    kind: Literal["constant"] = "constant"


class Cosine(Schedule):
    """Falls along half a cosine to zero at the end of the stage."""

    kind: Literal["cosine"] = "cosine"


class Exponential(Schedule):
    """Falls by a factor in every `decay_updates`, smoothly."""

    kind: Literal["exponential"] = "exponential"
    decay_rate: Annotated[float, Field(ge=1e-6, le=1)]  # the factor
    decay_updates: Count  # in how many updates the rate takes the factor


class Staircase(Exponential):
    """Falls by the factor at once, at the end of every `decay_updates`."""

    kind: Literal["staircase"] = "staircase"


Optimizers = Annotated[AdamSettings | RMSPropSettings | MuonSettings, BY_KIND, BY_WORD]
Schedules = Annotated[Constant | Cosine | Exponential | Staircase, BY_KIND, BY_WORD]


class Objective(Settings):
    """A loss, the modules that it trains, and how."""

    loss: str = "loss"  # one of those that the task's `loss` returns
    # Attributes of the task, or attributes of these, such as "network.readout".
    modules: Annotated[tuple[str, ...], LIST_TOO] = ("encoder", "network")
    optimizer: Optimizers = AdamSettings()
    learning_rate: Number
    schedule: Schedules = Constant()
    l2: Number = 0.0  # the factor of the L2 term, the sum of w squared / 2 of regularized w
    clip_norm: Number = 0.0  # the largest norm of all gradients together; 0: they are not clipped


class Segments(Settings):
    """Examples stay for several updates; see `rrn/training/segments.py`."""

    max_segments: Annotated[int, Field(ge=2, le=10**9)]  # updates that an example may stay
    leave_probability: Probability = 0.5  # with which a solved example leaves before that


class Stage(Settings):
    """A part of a training, in which the same objectives are trained on the same batches."""

    ITEMS: ClassVar = ("objectives", Objective)

    name: Name = "train"
    num_updates: Count
    objectives: Annotated[tuple[Objective, ...], LIST_TOO, Field(min_length=1)]
    # Arguments of the task's `loss` or `make_batch`, such as {"num_steps": 16}.
    options: dict[str, Any] = Field({})
    segments: Segments | None = None  # None: every update has examples of its own
    # The share of a batch that is sampled in proportion to validation error to this power; the rest
    # is drawn evenly over the task's groups of examples.
    error_share: Probability = 0.0
    error_power: Annotated[float, Field(ge=0, le=10)] = 1.0
    # Group -> the share of a batch that it always gets, such as {17: 0.3}; the rest is as above.
    group_shares: dict[Annotated[int, LIST_TOO], Probability] = Field({})


class Train(Settings):
    """How it is trained."""

    ITEMS: ClassVar = ("stages", Stage)

    batch_size: BatchSize  # of all devices together
    stages: Annotated[tuple[Stage, ...], LIST_TOO, Field(min_length=1)]
    # Of the weights' moving averages a, which are evaluated: a = d a + (1 - d) w. 0: none.
    ema_decay: Annotated[float, Field(ge=0, lt=1)] = 0.0
    log_every_updates: Count = 100  # more often where updates take long
    evaluate_every_updates: Count
    validation_examples: CountOrZero = 0  # 0: all
    checkpoint_every_updates: Count
    checkpoint_every_seconds: CountOrZero = 300

    @field_validator("stages")
    @classmethod
    def _names_differ(cls, stages: tuple[Stage, ...]) -> tuple[Stage, ...]:
        names = [stage.name for stage in stages]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"expected stages of different names; several are {', '.join(twice)}")
        return stages


# What else an experiment has


class Data(Settings):
    """On which data the model is made and trained."""

    path: Annotated[str, Field(min_length=1)]  # of a prepared file


class Evaluate(Settings):
    """How it is evaluated; validations have the same passes and batch size."""

    path: str = ""  # of a prepared file; data.path if empty
    split: Literal["train", "valid", "test"] = "test"
    examples: CountOrZero = 0  # drawn, from all over the split; 0: all
    batch_size: BatchSize
    passes: Annotated[int, Field(ge=1, le=1000)] = 1  # their outputs averaged; not for completion
    by_stage: bool = True  # where there are several stages, also the weights at the end of each


class WholeVariables(Settings):
    """Variables are whole; see `rrn/distribute/sharding.py`."""

    kind: Literal["auto", "cpu", "first_device", "round_robin"] = "auto"


class ShardedVariables(Settings):
    """Variables are cut into shards on parameter servers; see `rrn/distribute/sharding.py`."""

    kind: Literal["fixed_shards", "balanced"]
    axis: Literal["longest", "0", "1", "2", "3"] = "longest"  # along which a variable is cut


class Variables(Settings):
    """Where variables are."""

    policy: Annotated[WholeVariables | ShardedVariables, BY_KIND, BY_WORD] = WholeVariables()
    # cpu: one encoder on the CPU, which all towers share; tower: each tower runs its own.
    encoder_device: Literal["cpu", "tower"] = "cpu"


# What a model may be; its task declares it

# The type of matrix products. "auto" becomes the one that is faster on this machine.
ComputeType = Annotated[
    Literal["float32", "bfloat16", "auto"],
    AfterValidator(lambda name: faster_type() if name == "auto" else name),
]


class ModelSettings(Settings):
    """The base class of a model's settings."""

    TASK: ClassVar[str]  # the name of its task's package in rrn/tasks
    # What a stage may give to the task's `loss`, and what it may give to its `make_batch`.
    LOSS_OPTIONS: ClassVar[type[Settings]] = Settings
    BATCH_OPTIONS: ClassVar[type[Settings]] = Settings

    compute_dtype: ComputeType = "float32"

    def split_options(
        self, options: Mapping[str, Any], path: str
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Checks the options of a stage.

        Returns:
          (those of the task's `loss`, those of its `make_batch`).

        Raises:
          ValueError: an option that the task does not have, or a value that it does not take.
        """
        kinds = self.LOSS_OPTIONS, self.BATCH_OPTIONS
        known = [name for kind in kinds for name in kind.model_fields]
        for name in options:
            if name not in known:
                names = ", ".join(known) or "none"
                raise ValueError(f"{path}.{name}: no such option; this task's are {names}")
        split = [{n: v for n, v in options.items() if n in kind.model_fields} for kind in kinds]
        for kind, own in zip(kinds, split, strict=True):
            create(kind, own, path)
        return split[0], split[1]


Size = Annotated[int, Field(ge=1, le=4096)]  # of a hidden state or an embedding
Steps = Annotated[int, Field(ge=1, le=256)]  # each is traced by itself
Dropout = Annotated[float, Field(ge=0, lt=1)]  # the probability of dropping


class Experiment(Settings):
    """The config of an experiment."""

    model: SerializeAsAny[ModelSettings]
    seed: Annotated[int, Field(ge=0, le=2 * 10**9)] = 0  # with the passes' numbers, an int32
    data: Data
    train: Train
    evaluate: Evaluate
    variables: Variables = Variables()

    @model_validator(mode="after")
    def _check_options(self) -> "Experiment":
        for i, stage in enumerate(self.train.stages):
            self.model.split_options(stage.options, f"train.stages[{i}].options")
        return self

    @property
    def task(self) -> str:
        """The name of the model's task."""
        return self.model.TASK

    def to_dict(self) -> dict[str, Any]:
        """Makes a dict of it, and of settings in it, for files; "task" is its task's name."""
        return {"task": self.task, **self.model_dump()}
