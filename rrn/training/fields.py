"""What the fields that all configs have in common may be, and which of them a stage may set.

A setting is added here and, with its usual value, in `configs.Train` or `configs.Evaluate`. One of
an optimizer's own is called after it: `muon_exclude` is the argument `exclude` of `Muon`. Needs no
TensorFlow.
"""

from collections.abc import Mapping
from typing import Any

from rrn.distribute.sharding import AXES, CUTTING, POLICIES
from rrn.fields import LARGEST, STEPS, Field, check_fields
from rrn.tasks import find_task, task_names

COUNT = Field(int, at_least=1)
COUNT_OR_NONE = Field(int, at_least=0)
BATCH = Field(int, at_least=1, at_most=65_536)
PROBABILITY = Field(float, at_least=0, at_most=1)
NAME = Field(str, pattern="[A-Za-z_][A-Za-z0-9_]*")  # also a part of a file's name

# Fields of `train` that hold for the whole run.
RUN_FIELDS = {
    "batch_size": BATCH,
    "stages": Field(tuple, items=Field(dict)),
    "repeats": COUNT,
    "average_decay": Field(float, at_least=0, below=1),
    "log_every_updates": COUNT,
    "evaluate_every_updates": COUNT,
    "validation_examples": COUNT_OR_NONE,
    "checkpoint_every_updates": COUNT,
    "checkpoint_every_seconds": COUNT_OR_NONE,
}
# Fields of `train` that a stage may set for itself.
SHARED_STAGE_FIELDS = {
    "num_updates": COUNT_OR_NONE,
    "max_segments": COUNT,
    "leave_probability": PROBABILITY,
    "error_share": PROBABILITY,
}
# Fields of `train` that a stage, or an objective of a stage, may set for itself.
SHARED_OBJECTIVE_FIELDS = {
    "optimizer": Field(str, choices=("adam", "rmsprop", "muon")),
    "muon_exclude": Field(str),
    "muon_weight_decay": Field(float, at_least=0),
    "learning_rate": Field(float, at_least=0),
    "warmup_updates": COUNT_OR_NONE,
    "decay": Field(str, choices=("constant", "cosine", "exponential", "staircase")),
    "decay_rate": Field(float, at_least=1e-6, at_most=1),
    "decay_updates": COUNT_OR_NONE,
    "l2": Field(float, at_least=0),
    "clip_norm": Field(float, at_least=0),
}

TRAIN_FIELDS = {**RUN_FIELDS, **SHARED_STAGE_FIELDS, **SHARED_OBJECTIVE_FIELDS}
OBJECTIVE_FIELDS = {
    "loss": Field(str),
    "modules": Field(tuple, items=Field(str)),
    **SHARED_OBJECTIVE_FIELDS,
}
STAGE_FIELDS = {
    "name": NAME,
    "options": Field(dict),
    "objectives": Field(tuple, items=Field(dict)),
    **SHARED_STAGE_FIELDS,
    **OBJECTIVE_FIELDS,
}
EVALUATE_FIELDS = {
    "path": Field(str),
    "split": Field(str, choices=("train", "valid", "test")),
    "examples": COUNT_OR_NONE,
    "batch_size": BATCH,
    "passes": Field(int, at_least=1, at_most=1000),
    "by_stage": Field(bool),
}
VARIABLES_FIELDS = {
    "policy": Field(str, choices=("auto", *POLICIES)),
    "axis": Field(str, choices=AXES),
    "encoder_device": Field(str, choices=("cpu", "tower")),
}
CONFIG_FIELDS = {
    "task": Field(str, choices=tuple(task_names())),
    "seed": Field(int, at_least=0, at_most=2 * LARGEST),  # with the passes' numbers, an int32
    "data": Field(dict),
    "model": Field(dict),
    "train": Field(dict),
    "evaluate": Field(dict),
    "variables": Field(dict),
}


def check_config(config: Mapping[str, Any]) -> None:
    """Checks all fields of an experiment's config.

    Args:
      config: the experiment's config.

    Raises:
      ValueError: a field that is unknown or missing, or a value that its field does not take; or an
        axis for a policy that cuts nothing. The message gives the field's full name, as
        `train.stages[1].learning_rate`.
    """
    check_fields(config, CONFIG_FIELDS)
    check_fields(config["data"], {"path": Field(str, pattern=".+")}, "data")
    check_fields(config["model"], find_task(config["task"]).FIELDS, "model")
    check_train(config["train"])
    check_fields(config["evaluate"], EVALUATE_FIELDS, "evaluate")
    check_fields(config["variables"], VARIABLES_FIELDS, "variables")
    policy, axis = config["variables"]["policy"], config["variables"]["axis"]
    if axis != "longest" and policy not in CUTTING:
        raise ValueError(
            f"variables.axis: policy {policy} cuts nothing; expected 'longest', got {axis!r}"
        )


def check_train(train: Mapping[str, Any]) -> None:
    """Checks an experiment's `train`, with its stages' and their objectives' own fields.

    Args:
      train: the experiment's `train`.

    Raises:
      ValueError: as of `check_config`; or a stage without updates, or two of one name.
    """
    check_fields(train, TRAIN_FIELDS, "train")
    names = []
    for i, stage in enumerate(train["stages"] or ({},)):
        path = f"train.stages[{i}]" if train["stages"] else "train"
        _check_stage(stage, path)
        if stage.get("num_updates", train["num_updates"]) < 1:
            raise ValueError(f"{path}.num_updates: expected at least 1, got 0")
        if (name := stage.get("name", "train")) in names:
            raise ValueError(f"{path}.name: two stages cannot both be {name!r}")
        names.append(name)


def _check_stage(stage, path):
    check_fields(stage, STAGE_FIELDS, path, partial=True)
    for name, value in stage.get("options", {}).items():
        if not isinstance(value, bool):  # the plan knows which options are switches
            STEPS.check(f"{path}.options.{name}", value)
    for j, objective in enumerate(stage.get("objectives", ())):
        check_fields(objective, OBJECTIVE_FIELDS, f"{path}.objectives[{j}]", partial=True)
