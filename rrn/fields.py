"""What the fields of a config may be: declared in tables, name -> `Field`, and checked.

Needs no TensorFlow, so that a config is checked before TensorFlow has loaded. The table of the
fields that all configs have is in `rrn/training/fields.py`, that of a task's `model` in the task's
room.
"""

import dataclasses
import re
from collections.abc import Mapping
from typing import Any

from ml_collections import ConfigDict

LARGEST = 10**9  # of a number whose field has no other limit

# How an error calls a type, and what passes for one.
TYPES = {
    bool: ("True or False", bool),
    int: ("an integer", int),  # not NumPy's, which JSON does not take
    float: ("a number", (int, float)),
    str: ("a string", str),
    dict: ("a dict", (Mapping, ConfigDict)),
    tuple: ("a tuple", (tuple, list)),
}


@dataclasses.dataclass(frozen=True)
class Field:
    """The values that a field takes.

    Attributes:
      type: bool, int, float, str, dict or tuple. A bool is no number, an integer is a float.
      at_least: of a number, the smallest.
      at_most: of a number, the largest. nan is within no limits.
      below: of a number, what it does not reach.
      choices: of a string, the only values.
      pattern: of a string, a regular expression of all of it.
      items: of a tuple, what each item is.
      length: of a tuple, how many items it has.
      absent: of a field that came later, its value in weights files that do not have it.
    """

    type: type
    at_least: float = -LARGEST
    at_most: float = LARGEST
    below: float | None = None
    choices: tuple[str, ...] = ()
    pattern: str = ""
    items: "Field | None" = None
    length: int | None = None
    absent: Any = None

    def check(self, path: str, value: Any) -> None:
        """Checks a value.

        Args:
          path: the field's full name, for the message.
          value: the value.

        Raises:
          ValueError: the field does not take the value.
        """
        if not self._takes(value):
            raise ValueError(f"{path}: expected {self.describe()}, got {_shown(value)}")
        for i, item in enumerate(value if self.items else ()):
            self.items.check(f"{path}[{i}]", item)

    def _takes(self, value):
        is_bool = isinstance(value, bool)
        if not isinstance(value, TYPES[self.type][1]) or is_bool != (self.type is bool):
            return False
        if self.type in (int, float):
            return self.at_least <= value <= self.at_most and not (
                self.below is not None and value >= self.below
            )
        if self.choices and value not in self.choices:
            return False
        if self.pattern and not re.fullmatch(self.pattern, value):
            return False
        return self.length is None or len(value) == self.length

    def describe(self) -> str:
        """Says in words what the field takes.

        Returns:
          Such as "an integer from 1 to 4,096".
        """
        name = TYPES[self.type][0]
        if self.type in (int, float):
            end = f"{self.at_most:,}" if self.below is None else f"below {self.below:,}"
            return f"{name} from {self.at_least:,} to {end}"
        if self.choices:
            return f"one of {', '.join(self.choices)}"
        if self.pattern:
            return f"{name} like {self.pattern}"
        return name if self.length is None else f"{name} of {self.length} items"


def _shown(value):
    try:
        return repr(value)
    except ValueError:  # Python does not write integers of thousands of digits
        return f"an integer of {value.bit_length():,} bits"


# What models of several tasks have
SIZE = Field(int, at_least=1, at_most=4096)  # of a hidden state or an embedding
STEPS = Field(int, at_least=1, at_most=256)  # each is traced by itself
DROPOUT = Field(float, at_least=0, below=1)  # the probability of dropping
LOSS_WEIGHT = Field(float, at_least=0)  # of a further term of the loss
SWITCH = Field(bool)
COMPUTE_DTYPE = Field(str, choices=("float32", "bfloat16"))


def check_fields(
    values: Mapping[str, Any], fields: Mapping[str, Field], path: str = "", partial: bool = False
) -> None:
    """Checks values against a table.

    Args:
      values: name -> value.
      fields: name -> what the value may be.
      path: the full name of what the values are fields of, as `train.stages[1]`; empty for a
        whole config.
      partial: whether fields may be left out.

    Raises:
      ValueError: a field that is unknown or missing, or a value that its field does not take. The
        message gives the field's full name.
    """
    prefix = f"{path}." if path else ""
    for name, value in values.items():
        if name not in fields:
            raise ValueError(f"{prefix}{name}: no such field; fields are {', '.join(fields)}")
        fields[name].check(f"{prefix}{name}", value)
    for name, field in () if partial else fields.items():
        if name not in values:
            raise ValueError(f"{prefix}{name}: missing, expected {field.describe()}")
