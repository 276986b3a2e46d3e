"""Settings as values: a class declares its fields, and no wrong or changed value of it exists.

A field is declared once: its type and range, its default, and what it is for. Whoever makes
settings gives the fields that are not to have their defaults; `replace` makes others of them. Both
check every field. Needs no TensorFlow, so that a config is checked before TensorFlow has loaded.
"""

import ast
import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

LARGEST = 10**9  # of a number whose field has no other limit

Number = Annotated[float, Field(ge=0, le=LARGEST)]
Count = Annotated[int, Field(ge=1, le=LARGEST)]
CountOrZero = Annotated[int, Field(ge=0, le=LARGEST)]
Probability = Annotated[float, Field(ge=0, le=1)]
Name = Annotated[str, Field(pattern="^[A-Za-z_][A-Za-z0-9_]*$")]  # also a part of a file's name

# Of a field that takes a tuple: a list in its place, too
LIST_TOO = Field(strict=False)
# Of a field that takes settings of several classes, each with a word as its `kind`: the word alone
# stands for its class with all defaults.
BY_KIND = Field(discriminator="kind")
BY_WORD = BeforeValidator(lambda value: {"kind": value} if isinstance(value, str) else value)

AnySettings = TypeVar("AnySettings", bound="Settings")


class Settings(BaseModel):
    """The base class of all settings.

    Settings may have a list of further settings as one of their fields, such as a stage its
    objectives. A field of the items that is given to the whole is given to each item:
    `Stage(num_updates=5, learning_rate=1e-3)` is a stage with one objective, of that rate, and
    `replace(stage, learning_rate=1e-3)` gives it to all objectives of a stage.

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
        of_items = cls.ITEMS[1].known_fields() if cls.ITEMS else []
        return [*cls.model_fields, *of_items]

    @model_validator(mode="before")
    @classmethod
    def _give_to_items(cls, fields: Any) -> Any:
        if not isinstance(fields, Mapping) or cls.ITEMS is None:
            return fields
        field, item_class = cls.ITEMS
        given = {n: v for n, v in fields.items() if n not in cls.model_fields}
        given = {n: v for n, v in given.items() if n in item_class.known_fields()}
        items = fields.get(field, ({},))
        if not given or not isinstance(items, Sequence):
            return fields
        own = {name: value for name, value in fields.items() if name not in given}
        return {**own, field: tuple(_fields(item, given) for item in items)}


def replace(settings: AnySettings, **fields: Any) -> AnySettings:
    """Makes settings of which some fields are others; the given ones stay as they are.

    Args:
      **fields: the new values. A dict in the place of settings has the fields of these that are
        new: `replace(config, train={"batch_size": 32})`.

    Raises:
      ValueError: a field that is unknown, or a value that its field does not take.
    """
    return _merged(settings, fields, "")


def _merged(settings: AnySettings, fields: Mapping[str, Any], path: str) -> AnySettings:
    merged = dict(settings)
    for name, value in fields.items():
        deeper = _has_fields_of(merged.get(name), value)
        merged[name] = _merged(merged[name], value, f"{path}.{name}") if deeper else value
    return made(type(settings), merged, path)


def _fields(item: Any, given: Mapping[str, Any]) -> Any:
    """The fields of settings, or of a dict in their place, with those that are given to it."""
    if not isinstance(item, (Settings, Mapping)):
        return item  # no settings, which their field will refuse
    fields = dict(item)
    for name, value in given.items():
        deeper = _has_fields_of(fields.get(name), value)
        fields[name] = {**dict(fields[name]), **value} if deeper else value
    return fields


def _has_fields_of(settings: Any, value: Any) -> bool:
    """Whether a value has some of the fields of settings, not all of others in their place."""
    return isinstance(settings, Settings) and isinstance(value, Mapping) and "kind" not in value


def made(cls: type[AnySettings], fields: Mapping[str, Any], path: str = "") -> AnySettings:
    """Makes settings of a dict, as a file has it; `path` is where they are, for the message.

    Raises:
      ValueError: a field that is unknown or missing, or a value that its field does not take; one
        line.
    """
    try:
        return cls.model_validate(fields)
    except ValidationError as error:
        raise ValueError(in_words(error, path)) from None


def change(settings: AnySettings, path: str, text: str) -> AnySettings:
    """Makes settings of which one field has the value that a text says.

    Args:
      path: the field's place, such as `train.stages[1].num_updates`.
      text: the value as a user types it: a word, or Python's literal of a number, a tuple or such.

    Raises:
      ValueError: no such field, or a value that it does not take.
    """
    keys = re.findall(r"[^.\[\]]+", path)
    error: ValueError | None = None
    for value in _meanings(text):
        try:
            return _changed(settings, keys, value, "")
        except ValueError as found:
            error = error or found
    assert error is not None  # a text has at least one meaning
    raise error


def _meanings(text: str) -> list[Any]:
    """What a text may mean: a literal, and itself."""
    if text.lower() in ("true", "false"):
        return [text.lower() == "true"]
    try:
        return [ast.literal_eval(text), text]
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return [text]


def _changed(value: Any, keys: Sequence[str], new: Any, path: str) -> Any:
    """A value of which the part at some keys is new; `path` is where the value is."""
    if not keys:
        return new
    key, rest = keys[0], keys[1:]
    if isinstance(value, tuple):
        if not (key.isdigit() and int(key) < len(value)):
            raise ValueError(f"{path}[{key}]: no such item; there are {len(value)}, from 0 on"[1:])
        number = int(key)
        item = _changed(value[number], rest, new, f"{path}[{key}]")
        return (*value[:number], item, *value[number + 1 :])
    inner = f"{path}.{key}"
    if value is None or isinstance(value, Mapping):
        fields = value or {}
        return {**fields, key: _changed(fields.get(key), rest, new, inner)}
    if not isinstance(value, Settings):
        raise ValueError(f"{inner[1:]}: no such field; {path[1:]} is {value!r}")
    fields = dict(value)
    if key in fields:
        fields[key] = _changed(fields[key], rest, new, inner)
    elif key in value.known_fields():
        assert value.ITEMS is not None  # whose fields it knows beside its own
        field, _ = value.ITEMS
        items = [
            _changed(item, keys, new, f"{path}.{field}[{i}]")
            for i, item in enumerate(fields[field])
        ]
        fields[field] = tuple(items)
    else:
        names = ", ".join(value.known_fields()) or "none"
        raise ValueError(f"{inner[1:]}: no such field; fields are {names}")
    return made(type(value), fields, path)


def in_words(error: ValidationError, path: str = "") -> str:
    """Says which field of settings is wrong first: its place, what it takes, its value."""
    found = error.errors(include_url=False, include_context=True)[0]
    for key in found["loc"]:
        if key not in _kinds(Settings):  # which pydantic puts between a field and its settings'
            path += f"[{key}]" if isinstance(key, int) else f".{key}"
    path = path.removeprefix(".")
    if found["type"] == "extra_forbidden":
        return f"{path}: no such field"
    if found["type"] == "missing":
        return f"{path}: missing"
    context = found.get("ctx", {})
    if found["type"] == "union_tag_invalid":
        tags = context["expected_tags"].replace("'", "")
        return f"{path}: expected one of {tags}, got {_shown(context['tag'])}"
    if found["type"] == "value_error":  # of a check of several fields
        return f"{path}: {context['error']}".removeprefix(": ")
    message = found["msg"]
    message = re.sub("Input should be (?=greater|less)", "expected a number ", message)
    message = message.replace("Input should be", "expected")
    return f"{path}: {message}, got {_shown(found['input'])}"


def _kinds(base: type[Settings]) -> set[str]:
    """The words of all settings that have a `kind`."""
    kinds = {cls.model_fields["kind"].default for cls in [base] if "kind" in cls.model_fields}
    return kinds.union(*map(_kinds, base.__subclasses__()))


def _shown(value: Any) -> str:
    try:
        shown = repr(value)
    except ValueError:  # Python does not write integers of thousands of digits
        return f"an integer of {value.bit_length():,} bits"
    return shown if len(shown) <= 200 else f"{shown[:200]}..."
