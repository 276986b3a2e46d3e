"""Checks a prepared file: its digest, its attributes and its contents."""

import argparse
from pathlib import Path

from data_prep import DataError, hdf5
from data_prep.ages import schema as ages
from data_prep.babi import schema as babi
from data_prep.mnist import schema as mnist
from data_prep.pretty_clevr import schema as pretty_clevr
from data_prep.sudoku import schema as sudoku

SCHEMAS = {
    "ages": ages,
    "babi": babi,
    "mnist": mnist,
    "pretty_clevr": pretty_clevr,
    "sudoku": sudoku,
}
ATTRIBUTES = {"schema": str, "version": int, "notes": str, "seed": int}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of `python -m data_prep check`.

    Args:
      parser: the command's own parser.
    """
    parser.add_argument("files", metavar="FILE", type=Path, nargs="+", help="a prepared file")


def run(args: argparse.Namespace) -> None:
    """Checks files and prints what was verified.

    Args:
      args: the parsed options.

    Raises:
      DataError: a file is wrong.
    """
    for path in args.files:
        digest, attributes, datasets = hdf5.read_verified(path)
        print(f"{path}: {path.stat().st_size:,} bytes, as written: SHA-256 {digest}")
        for phrase in _verified(path, attributes, datasets):
            print(f"  {phrase}")


def verify_contents(path: Path) -> list[str]:
    """Returns what was verified of a prepared file beyond its digest, a phrase each.

    Args:
      path: the file.

    Raises:
      DataError: the file is damaged, of an unknown schema, or its contents are wrong.
    """
    return _verified(path, *hdf5.read(path))


def _verified(path, attributes, datasets):
    for name, kind in ATTRIBUTES.items():
        if type(attributes.get(name)) is not kind:  # a bool is an int, too
            raise DataError(
                f"{path}: attribute {name} is {attributes.get(name)!r}; expected {kind.__name__}"
            )
    schema, version = attributes["schema"], attributes["version"]
    if schema not in SCHEMAS or version != 1:
        known = ", ".join(SCHEMAS)
        raise DataError(
            f"{path}: schema {schema!r}, version {version}; expected one of {known}, version 1"
        )
    try:
        verified = SCHEMAS[schema].check(datasets)
    except DataError as error:
        raise DataError(f"{path}: {error}") from None
    return [f"schema {schema!r}, version {version}, notes {attributes['notes']!r}", *verified]
