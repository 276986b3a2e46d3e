"""Checks a prepared file: its digest, its attributes and its contents."""

import argparse
import importlib.util
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType, ModuleType

from rrn.data_prep import DataError, failures, hdf5
from rrn.data_prep.finding import find

SCHEMAS = {
    name: importlib.import_module(f"{__package__}.{module}")
    for name, module in find(Path(__file__).parent, "check", "schema").items()
}
ATTRIBUTES = {"schema": str, "version": int, "notes": str, "seed": int}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of `python -m data_prep check`.

    Args:
      parser: the command's own parser.
    """
    parser.add_argument("files", metavar="FILE", type=Path, nargs="+", help="a prepared file")
    parser.add_argument(
        "--schema",
        metavar="NAME.py",
        type=Path,
        help="a file of your own that defines check(datasets), for files whose schema is NAME",
    )


def run(args: argparse.Namespace) -> None:
    """Checks files and prints what was verified.

    Args:
      args: the parsed options.

    Raises:
      DataError: a file is wrong.
    """
    own = {args.schema.stem: _execute(args.schema)} if args.schema else {}
    for path in args.files:
        contents = hdf5.read(path)
        print(f"{path}: {contents.size:,} bytes, as written: SHA-256 {contents.digest}")
        for phrase in verify_contents(contents, own):
            print(f"  {phrase}")


def _execute(path: Path) -> ModuleType:
    """The module of a user's own Python file, which has a `check`."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise DataError(
            f"--schema {path}: no Python file; expected one that defines check(datasets)"
        )
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:  # a user's file may raise anything
        raise DataError(f"--schema {path}: {_what(error)}") from error
    if not callable(getattr(module, "check", None)):
        raise DataError(f"--schema {path}: no check in it; expected a function check(datasets)")
    return module


def verify_contents(
    contents: hdf5.Contents, own: Mapping[str, ModuleType] = MappingProxyType({})
) -> list[str]:
    """Returns what was verified of a prepared file beyond its digest, a phrase each.

    Args:
      contents: what `hdf5.read` has read.
      own: schema -> a module with its `check`, besides those of the project.

    Raises:
      DataError: the file is of an unknown schema, or its contents are wrong.
    """
    path, attributes = contents.path, contents.attributes
    for name, kind in ATTRIBUTES.items():
        if type(attributes.get(name)) is not kind:  # a bool is an int, too
            raise DataError(
                f"{path}: attribute {name} is {attributes.get(name)!r}; expected {kind.__name__}"
            )
    schema, version = attributes["schema"], attributes["version"]
    schemas = {**SCHEMAS, **own}
    if schema not in schemas or version != 1:
        own_file = f"; --schema {schema}.py names a file of your own that checks it"
        raise DataError(
            f"{path}: schema {schema!r}, version {version}; expected one of {', '.join(schemas)}, "
            f"version 1{'' if schema in schemas else own_file}"
        )
    try:
        verified = schemas[schema].check(contents.datasets) or ()
    except DataError as error:
        raise DataError(f"{path}: {error}") from None
    except Exception as error:
        if schema not in own:
            raise
        raise DataError(f"{path}: {_what(error)}") from error
    return [f"schema {schema!r}, version {version}, notes {attributes['notes']!r}", *verified]


def _what(error):
    """What a user's own file has raised, and where."""
    place = failures.find_place(error, str(Path(__file__).parent))
    return f"{failures.words_of(error)}{f' (raised in {place})' if place else ''}"
