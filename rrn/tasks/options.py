"""Options: what a stage of training may set for a task, beside the config's `model`.

A task declares them, each with its type, its range and what it does; needs no TensorFlow, so that a
wrong one is an error before TensorFlow has loaded.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any, Literal

from rrn.fields import Field


@dataclasses.dataclass(frozen=True)
class Option:
    """An argument of a task's `loss` or `make_batch` that a stage may give.

    Attributes:
      argument_of: the method.
      field: the values that it takes.
      meaning: what it does, and what holds without it, in a sentence.
    """

    argument_of: Literal["loss", "make_batch"]
    field: Field
    meaning: str


def check_options(values: Mapping[str, Any], options: Mapping[str, Option], path: str) -> None:
    """Checks a stage's options against what its task declares.

    Args:
      values: name -> value.
      options: the task's, by name.
      path: the full name of what the values are fields of, as `train.stages[1].options`.

    Raises:
      ValueError: an option that the task does not have, or a value that it does not take.
    """
    for name, value in values.items():
        if name not in options:
            known = ", ".join(options) or "none"
            raise ValueError(f"{path}.{name}: no such option; this task's are {known}")
        options[name].field.check(f"{path}.{name}", value)


def arguments_of(
    method: str, values: Mapping[str, Any], options: Mapping[str, Option]
) -> dict[str, Any]:
    """Chooses the options that a method takes.

    Args:
      method: "loss" or "make_batch".
      values: a stage's options that `check_options` has found right.
      options: the task's, by name.

    Returns:
      name -> value.
    """
    return {name: v for name, v in values.items() if options[name].argument_of == method}
