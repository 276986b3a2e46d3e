"""Settings as values: a class declares each field's type, range and default; all are checked."""

import ast
import contextlib
import difflib
import functools
import re
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import PydanticCustomError

LARGEST = 10**9  # of a number whose field has no other limit

Number = Annotated[float, Field(ge=0, le=LARGEST)]
Count = Annotated[int, Field(ge=1, le=LARGEST)]
CountOrZero = Annotated[int, Field(ge=0, le=LARGEST)]
Probability = Annotated[float, Field(ge=0, le=1)]
Name = Annotated[str, Field(pattern="^[A-Za-z_][A-Za-z0-9_]*$")]  # also a part of a file's name

# Of a field that takes a tuple: a list instead, too
LIST_TOO = Field(strict=False)
# Of a field that takes settings of several classes, each with a word as its `kind`: the word alone
# stands for its class with all defaults.
BY_KIND = Field(discriminator="kind")
BY_WORD = BeforeValidator(lambda value: {"kind": value} if isinstance(value, str) else value)

AnySettings = TypeVar("AnySettings", bound="Settings")


class Settings(BaseModel):
    """The base class of all settings.

    A field may have a list of items, such as a stage its objectives. A field of the items that is
    given to the whole is given to each item: `Stage(num_updates=5, learning_rate=1e-3)` has one
    objective, of that rate, and `replace(stage, learning_rate=1e-3)` changes all objectives.

    Raises:
      ValueError: a field that is unknown or missing, or a value that its field does not take.
    """

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, allow_inf_nan=False, validate_default=True
    )
    # (the field that holds the items, their class)
    ITEMS: ClassVar[tuple[str, type["Settings"]] | None] = None

    @classmethod
    def known_fields(cls) -> list[str]:
        """Lists the fields that may be given: its own, and those that it gives to its items."""
        return [*cls.model_fields, *(cls.ITEMS[1].known_fields() if cls.ITEMS else ())]

    @model_validator(mode="before")
    @classmethod
    def _give_to_items(cls, fields: Any) -> Any:
        if not isinstance(fields, Mapping):
            return fields
        known = cls.known_fields()
        for name in fields:
            if name not in known:
                nearest = difflib.get_close_matches(str(name), known, 1)
                hint = (
                    f"did you mean {nearest[0]}?" if nearest else f"fields are {', '.join(known)}"
                )
                raise PydanticCustomError(
                    "unknown", "{name}: no such field; {hint}", {"name": name, "hint": hint}
                )
        own = {name: value for name, value in fields.items() if name in cls.model_fields}
        if len(own) == len(fields) or cls.ITEMS is None:
            return fields
        field, given = cls.ITEMS[0], {n: v for n, v in fields.items() if n not in own}
        items = fields.get(field, ({},))
        if not isinstance(items, list | tuple) or not all(
            isinstance(item, Settings | Mapping) for item in items
        ):
            return own  # which the field refuses
        return {**own, field: tuple(_fields(item, given) for item in items)}


class _Part(dict):
    """Some items of a mapping, whose others stay: a path of `change` names one of them."""


def _fields(item, given):
    """The fields of settings, or of a dict instead, with those that are given to it."""
    fields = dict(item)
    for name, value in given.items():
        old = fields.get(name)
        some = isinstance(old, Settings) and isinstance(value, Mapping)
        some = isinstance(value, _Part) or (some and "kind" not in value)  # of the fields of `name`
        if some and isinstance(old, tuple):
            value = _merged(old, value, name)
        elif some:
            value = {**dict(old or {}), **value}
        fields[name] = value
    return fields


def replace(settings: AnySettings, **fields: Any) -> AnySettings:
    """Makes settings with other values of some fields.

    A dict stands for some fields of settings: `replace(config, train={"batch_size": 32})`.

    Raises:
      ValueError: a field that is unknown, or a value that its field does not take.
    """
    return _merged(settings, fields, "")


def change(settings: AnySettings, path: str, text: str) -> AnySettings:
    """Makes settings with another value of one field, such as `train.stages[1].num_updates`.

    Args:
      text: the value as a user types it: a word, or Python's literal.

    Raises:
      ValueError: no such field, or a value that it does not take.
    """
    literal: Any = text
    with contextlib.suppress(ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        literal = ast.literal_eval(text.capitalize() if text in ("true", "false") else text)
    keys = re.findall(r"[^.\[\]]+", path) or [path]

    def changed(value):
        return replace(
            settings, **functools.reduce(lambda v, key: _Part({key: v}), keys[::-1], value)
        )

    try:
        return changed(literal)
    except ValueError:
        with contextlib.suppress(ValueError):  # a text, though it looks like a number
            if not isinstance(literal, bool):
                return changed(text)
        raise


def _merged(old: Any, new: Any, path: str) -> Any:
    """What is old with the fields, or items, that are new; `path` is where it is."""
    if not isinstance(new, Mapping) or (path and "kind" in new):
        return new
    if isinstance(old, tuple):
        items = list(old)
        for key, value in new.items():
            if not (key.isdigit() and int(key) < len(items)):
                raise ValueError(f"{path}[{key}]: no such item; there are {len(items)}, from 0 on")
            items[int(key)] = _merged(items[int(key)], value, f"{path}[{key}]")
        return tuple(items)
    if old is not None and not isinstance(old, (Settings, Mapping)):
        return new  # which its field will refuse
    if isinstance(old, Mapping) and not isinstance(new, _Part):
        return new  # a stage's options are given whole
    fields = (_Part if isinstance(new, _Part) else dict)(old or {})
    for name, value in new.items():
        fields[name] = _merged(fields.get(name), value, f"{path}.{name}".lstrip("."))
    return create(type(old), fields, path) if isinstance(old, Settings) else fields


def create(cls: type[AnySettings], fields: Mapping[str, Any], path: str = "") -> AnySettings:
    """Makes settings of a dict; `path` is where they are, for the message.

    Raises:
      ValueError: one line: a field that is unknown or missing, or a value that it does not take.
    """
    try:
        return cls.model_validate(fields)
    except ValidationError as error:
        raise ValueError(in_words(error, path)) from None


def in_words(error: ValidationError, path: str = "") -> str:
    """Says which field of settings is wrong first: its path, what it takes, its value."""
    found = error.errors(include_url=False)[0]
    for key in found["loc"]:
        path += f"[{key}]" if isinstance(key, int) else f".{key}"
    path = path.removeprefix(".")
    if found["type"] == "unknown":  # begins with the field
        return f"{path}.{found['msg']}".removeprefix(".")
    message = found["msg"].removeprefix("Value error, ")
    if found["type"] in ("missing", "value_error"):
        return f"{path}: {message}".removeprefix(": ")
    try:
        value = repr(found["input"])
    except ValueError:  # Python does not write integers of thousands of digits
        value = "a number of thousands of digits"
    return f"{path}: {message}, got {value[:200]}"
