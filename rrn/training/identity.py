"""What a run is: its config, its data and the program that makes it.

It is saved with all of a run: in config.json, in every checkpoint and weights file, and, in short,
in every line of metrics.jsonl. Who goes on with a run or evaluates it compares them. Needs no
TensorFlow.
"""

import contextlib
import functools
import hashlib
import importlib.metadata
import json
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import rrn

RUN = "run"  # beside the config's fields: the data's digest and the program
FREE = "evaluate", "variables"  # fields on which no result of training depends
PROGRAM = "run.commit", "run.rrn", "run.tensorflow"  # may differ, and that is said
LENGTH = re.compile(r"train\.stages\.(\d+)\.num_updates")


def identity(fields: Mapping[str, Any], data: str) -> dict[str, Any]:
    """Says what a run is.

    Args:
      fields: every field of the config, and "config", its name.
      data: the digest of the prepared file that it trains on.

    Returns:
      The fields, and "run": the digest, the checkout's commit (None without one), and versions.
    """
    return {**fields, RUN: {"data_sha256": data, **program()}}


def of_parts(run: Mapping[str, Any]) -> dict[str, Any]:
    """Says of an identity what a run's parts hold: all but the fields that may differ."""
    return {name: value for name, value in run.items() if name not in FREE}


@functools.cache
def program() -> dict[str, str | None]:
    """Names the checkout's commit (None without one), and the versions of rrn and TensorFlow."""
    root, commit = Path(rrn.__file__).parents[1], None
    if (root / ".git").exists():  # else it is installed, perhaps within another checkout
        command = ["git", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
        with contextlib.suppress(OSError, subprocess.SubprocessError):
            found = subprocess.run(
                command, cwd=root, capture_output=True, text=True, timeout=10, check=True
            )
            commit = found.stdout.strip()
    tensorflow = None
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        tensorflow = importlib.metadata.version("tensorflow")
    return {"commit": commit, "rrn": rrn.__version__, "tensorflow": tensorflow}


def differences(
    there: Mapping[str, Any], wanted: Mapping[str, Any], may_be_longer: bool = False
) -> list[str]:
    """Compares what makes two runs the same.

    Args:
      there: the identity that was saved.
      wanted: this run's.
      may_be_longer: whether this run may have more updates in its last stage.

    Returns:
      A line for each difference; none of the program's, or of free fields.
    """
    there, wanted = _compared(there), _compared(wanted)
    if may_be_longer and (length := _length_field(wanted)):
        before = there.get(length)
        if type(before) is int and before < wanted[length]:
            there[length] = wanted[length]
    return _lines(there, wanted)


def program_differences(there: Mapping[str, Any], wanted: Mapping[str, Any]) -> list[str]:
    """Compares the programs of two identities, which have "run"; a line for each difference."""
    there, wanted = (
        {name: value for name, value in flatten(some).items() if name in PROGRAM}
        for some in (there, wanted)
    )
    return _lines(there, wanted)


def digest(run: Mapping[str, Any]) -> str:
    """Makes a short name of an identity, which its longer runs share.

    Args:
      run: the identity.

    Returns:
      16 hexadecimal digits.
    """
    fields = _compared(run)
    if length := _length_field(fields):
        del fields[length]
    text = json.dumps(fields, sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def num_updates(run: Mapping[str, Any]) -> Any:
    """Finds the number of updates of a run's last stage; None if it is not said."""
    fields = flatten(run)
    length = _length_field(fields)
    return fields[length] if length else None


def _length_field(fields):
    found = [match for name in fields if (match := LENGTH.fullmatch(name))]
    return max(found, key=lambda match: int(match[1]))[0] if found else None


def _compared(run):
    fields = flatten(json.loads(json.dumps(of_parts(run))))  # tuples are lists there
    return {name: value for name, value in fields.items() if name not in PROGRAM}


def _lines(there, wanted):
    return [
        f"  {name}: {there.get(name, 'absent')} there, {wanted.get(name, 'absent')} wanted"
        for name in sorted(there.keys() | wanted.keys())
        if there.get(name) != wanted.get(name)
    ]


def flatten(value: Any, prefix: str = "") -> dict[str, Any]:
    """Makes one level of nested dicts, lists and tuples: {"a.b.0": 1} for {"a": {"b": [1]}}.

    Args:
      value: dicts, lists and other values; an empty dict or list has no entry.
      prefix: what every name begins with.

    Returns:
      Full name -> value.
    """
    if isinstance(value, (list, tuple)):
        value = dict(enumerate(value))
    if not isinstance(value, dict):
        return {prefix[:-1]: value}
    flat = {}
    for key, item in value.items():
        flat.update(flatten(item, f"{prefix}{key}."))
    return flat
