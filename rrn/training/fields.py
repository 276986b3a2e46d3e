"""What the fields that all configs have in common may be, and which of them a stage may set.

A setting is added here and, with its usual value, in `configs.Train` or `configs.Evaluate`. One of
an optimizer's own is called after it: `muon_exclude` is the argument `exclude` of `Muon`.
"""

import dataclasses
import math
import numbers
from collections.abc import Mapping
from typing import Any

from rrn.distribute.sharding import POLICIES
from rrn.optimizers import DECAYS, OPTIMIZERS

# How an error calls a type, and what passes for one.
TYPES = {
    bool: ("True or False", bool),
    int: ("an integer", numbers.Integral),
    float: ("a number", numbers.Real),
    str: ("a string", str),
    dict: ("a dict", dict),
    tuple: ("a tuple", (tuple, list)),
}


@dataclasses.dataclass(frozen=True)
class Field:
    """The values that a field takes: of a type, and within limits or among choices.

    A number is never nan, infinite or a bool.
    """

    type: type
    at_least: float | None = None
    at_most: float | None = None
    below: float | None = None
    choices: tuple = ()
    items: type | None = None  # of a tuple

    def check(self, path: str, value: Any) -> None:
        """Raises ValueError, which calls the field `path`, for a value that it does not take."""
        if not self._takes(value):
            raise ValueError(f"{path}: expected {self._describe()}, got {value!r}")

    def _takes(self, value):
        if not _is(value, self.type):
            return False
        if self.type in (int, float):
            return (
                math.isfinite(value)
                and (self.at_least is None or value >= self.at_least)
                and (self.at_most is None or value <= self.at_most)
                and (self.below is None or value < self.below)
            )
        if self.choices and value not in self.choices:
            return False
        return not self.items or all(_is(item, self.items) for item in value)

    def _describe(self):
        if self.choices:
            return f"one of {', '.join(self.choices)}"
        if self.items:
            return f"a tuple, each item {TYPES[self.items][0]}"
        limits = {"at least": self.at_least, "at most": self.at_most, "below": self.below}
        limits = [f"{word} {limit}" for word, limit in limits.items() if limit is not None]
        return TYPES[self.type][0] + (f" of {' and '.join(limits)}" if limits else "")


def _is(value, type_):
    return isinstance(value, TYPES[type_][1]) and (type_ is bool or not isinstance(value, bool))


# Fields of `train` that hold for the whole run.
RUN_FIELDS = {
    "batch_size": Field(int, at_least=1),
    "stages": Field(tuple, items=dict),
    "repeats": Field(int, at_least=1),
    "average_decay": Field(float, at_least=0, below=1),
    "log_every_updates": Field(int, at_least=1),
    "evaluate_every_updates": Field(int, at_least=1),
    "validation_examples": Field(int, at_least=0),
    "checkpoint_every_updates": Field(int, at_least=1),
    "checkpoint_every_seconds": Field(int, at_least=0),
}
# Fields of `train` that a stage may set for itself.
SHARED_STAGE_FIELDS = {
    "num_updates": Field(int, at_least=0),
    "max_segments": Field(int, at_least=1),
    "leave_probability": Field(float, at_least=0, at_most=1),
    "error_share": Field(float, at_least=0, at_most=1),
}
# Fields of `train` that a stage, or an objective of a stage, may set for itself.
SHARED_OBJECTIVE_FIELDS = {
    "optimizer": Field(str, choices=tuple(OPTIMIZERS)),
    "muon_exclude": Field(str),
    "learning_rate": Field(float, at_least=0),
    "warmup_updates": Field(int, at_least=0),
    "decay": Field(str, choices=DECAYS),
    "decay_rate": Field(float, at_least=0, at_most=1),
    "decay_updates": Field(int, at_least=0),
    "l2": Field(float, at_least=0),
    "clip_norm": Field(float, at_least=0),
}

TRAIN_FIELDS = {**RUN_FIELDS, **SHARED_STAGE_FIELDS, **SHARED_OBJECTIVE_FIELDS}
OBJECTIVE_FIELDS = {
    "loss": Field(str),
    "modules": Field(tuple, items=str),
    **SHARED_OBJECTIVE_FIELDS,
}
STAGE_FIELDS = {
    "name": Field(str),
    "options": Field(dict),
    "objectives": Field(tuple, items=dict),
    **SHARED_STAGE_FIELDS,
    **OBJECTIVE_FIELDS,
}
EVALUATE_FIELDS = {
    "path": Field(str),
    "split": Field(str),
    "examples": Field(int, at_least=0),
    "batch_size": Field(int, at_least=1),
    "passes": Field(int, at_least=1),
    "by_stage": Field(bool),
}
VARIABLES_FIELDS = {"policy": Field(str, choices=tuple(POLICIES))}


def check_config(config: Any) -> None:
    """Checks an experiment's `train`, `evaluate` and `variables`.

    Raises:
      ValueError: an unknown field, or a value that its field does not take. The message gives the
        field's full name, as `train.stages[1].learning_rate`.
    """
    check_train(config.train)
    _check(config.evaluate, EVALUATE_FIELDS, "evaluate")
    _check(config.variables, VARIABLES_FIELDS, "variables")


def check_train(train: Mapping) -> None:
    """Checks an experiment's `train`, with its stages' and their objectives' own fields.

    Raises:
      ValueError: as `check_config`.
    """
    _check(train, TRAIN_FIELDS, "train")
    for i, stage in enumerate(train["stages"]):
        _check(stage, STAGE_FIELDS, f"train.stages[{i}]")
        for j, objective in enumerate(stage.get("objectives", ())):
            _check(objective, OBJECTIVE_FIELDS, f"train.stages[{i}].objectives[{j}]")


def _check(values, fields, path):
    for name, value in values.items():
        if name not in fields:
            raise ValueError(f"{path}.{name}: no such field; fields are {', '.join(fields)}")
        fields[name].check(f"{path}.{name}", value)
