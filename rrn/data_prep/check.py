"""Checks a prepared file: its digest, its attributes and its contents."""

import argparse
import importlib
from pathlib import Path

from rrn.data_prep import DataError, hdf5
from rrn.data_prep.finding import find

SCHEMAS = {
    name: importlib.import_module(f"{__package__}.{module}")
    for name, module in find(Path(__file__).parent, "check", "schema").items()
}
ATTRIBUTES = {"schema": str, "version": int, "notes": str, "seed": int}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of `python -m data_prep check`."""
    parser.add_argument("files", metavar="FILE", type=Path, nargs="+", help="a prepared file")


def run(args: argparse.Namespace) -> None:
    """Checks files and prints what was verified; raises `DataError` where one is wrong."""
    for path in args.files:
        contents = hdf5.read(path)
        print(f"{path}: as written, SHA-256 {contents.digest}")
        for phrase in verify_contents(contents):
            print(f"  {phrase}")


def verify_contents(contents: hdf5.Contents) -> list[str]:
    """Returns what was verified of a prepared file beyond its digest, a phrase each."""
    path, attributes = contents.path, contents.attributes
    for name, kind in ATTRIBUTES.items():
        if type(attributes.get(name)) is not kind:  # a bool is an int, too
            raise DataError(
                f"{path}: attribute {name} is {attributes.get(name)!r}; expected {kind.__name__}"
            )
    schema, version = attributes["schema"], attributes["version"]
    if schema not in SCHEMAS or version != 1:
        names = ", ".join(SCHEMAS)
        raise DataError(
            f"{path}: schema {schema!r}, version {version}; expected one of {names}, version 1"
        )
    try:
        verified = SCHEMAS[schema].check(contents.datasets) or ()
    except DataError as error:
        raise DataError(f"{path}: {error}") from None
    return [f"schema {schema!r}, version {version}, notes {attributes['notes']!r}", *verified]
