"""Config files: what they are made with, and what the command line changes.

Needs no TensorFlow.
"""

import importlib.util
import os
import re
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from pydantic import ValidationError

from rrn.config import Experiment, replace
from rrn.data_prep.failures import words_of
from rrn.settings import change, in_words

PACKAGE = Path(__file__).resolve().parent
FLAG = re.compile(r"--?config\.([^=]+)(?:=(.*))?", re.DOTALL)
Recipe = Callable[[], Experiment]


class UsageError(ValueError):
    """What is wrong is on the command line, not in a file."""


def split_arguments(arguments: Sequence[str]) -> tuple[list[str], list[tuple[str, str]]]:
    """Takes `--config.FIELD=VALUE` and `--config.FIELD VALUE` out of a command line.

    Returns:
      (the other arguments; (field, value) of these, in their order).

    Raises:
      UsageError: a field without a value.
    """
    others, changes, left = [], [], list(arguments)
    while left:
        match = FLAG.fullmatch(argument := left.pop(0))
        if not match:
            others.append(argument)
            continue
        field, value = match.groups()
        if value is None:
            if not left or left[0].startswith("--"):
                raise UsageError(f"--config.{field}: has no value; expected --config.{field}=VALUE")
            value = left.pop(0)
        changes.append((field, value))
    return others, changes


def read_config(name: str, changes: Sequence[tuple[str, str]] = ()) -> Experiment:
    """Executes a config file, and changes fields of what it gives.

    Args:
      name: FILE or FILE:VARIANT, which the file's function `get_config` takes.
      changes: (field, value) as texts, such as ("train.stages[0].num_updates", "100").

    Raises:
      ValueError: no such file or variant, or a file that does not give a config. The message names
        the file, and the line of what it has raised.
      UsageError: a field that is unknown, or a value that it does not take.
    """
    config = _execute(name)
    for field, value in changes:
        try:
            config = change(config, field, value)
        except ValueError as error:
            raise UsageError(str(error)) from None
    return config


def run_name(name: str) -> str:
    """Names the folder of a run: babi_quick for configs/babi.py:quick."""
    return re.sub(r"\.py:?", "_", os.path.basename(name)).strip("_")


def find_file(path: str) -> str | None:
    """Finds a config file; the project's own, such as configs/babi.py, from any folder."""
    own = path.startswith("configs/")
    # A wheel has the project's configs within rrn, a checkout beside it.
    places = [Path(), *([PACKAGE, PACKAGE.parent] if own else [])]
    return next((str(place / path) for place in places if (place / path).is_file()), None)


def look_up(recipes: Mapping[str, Recipe]) -> Callable[[str], Experiment]:
    """Makes the `get_config` of a config file of these recipes: variant -> recipe."""

    def get_config(variant: str = "") -> Experiment:
        if variant not in recipes:
            variants = ", ".join(name for name in recipes if name) or "none"
            raise ValueError(f"variants are {variants}, got {variant!r}")
        return recipes[variant]()

    return get_config


def shorten(config: Experiment, examples: int = 0) -> Experiment:
    """Shortens a recipe to seconds; `examples` of each split are evaluated, all if it is 0."""
    return replace(
        config,
        train={
            "batch_size": 16,
            "num_updates": 20,
            "log_every_updates": 5,
            "evaluate_every_updates": 20,
            "checkpoint_every_updates": 10,
            "validation_examples": examples,
        },
        evaluate={"examples": examples},
    )


def _execute(name):
    given, _, variant = name.partition(":")
    if (path := find_file(given)) is None:
        raise ValueError(f"--config={name}: no file {given}; configs/ has one for each experiment")
    try:
        spec = importlib.util.spec_from_file_location("rrn_config_file", path)
        if spec is None or spec.loader is None:
            raise ValueError("no Python file; expected a name that ends in .py")
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module  # where dataclasses and pydantic look for types
        spec.loader.exec_module(module)
        if not callable(get_config := getattr(module, "get_config", None)):
            raise ValueError("no get_config in it; expected a function that returns the config")
        config = get_config(variant) if variant else get_config()
        if not isinstance(config, Experiment):
            got = type(config).__name__
            raise ValueError(f"get_config gave a {got}; expected an rrn.config.Experiment")
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a config file may raise anything, and may want to exit
        lines = [
            frame.lineno
            for frame in traceback.extract_tb(error.__traceback__)
            if os.path.realpath(frame.filename) == os.path.realpath(path)
        ]
        if isinstance(error, SyntaxError) and error.lineno:
            lines.append(error.lineno)
        where = f" (raised in {path}:{lines[-1]})" if lines else ""
        raise ValueError(f"--config={name}: {_what(error)}{where}") from error
    return config


def _what(error):
    if isinstance(error, ValidationError):
        return f"{error.title}: {in_words(error)}"
    lines = words_of(error).strip().splitlines()
    return lines[-1].strip() if lines else type(error).__name__
