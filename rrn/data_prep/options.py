"""What holds of the options of all commands; it is checked before any work is done."""

import argparse
import tempfile
from pathlib import Path

from rrn.data_prep import DataError

MOST = 1_000_000  # of whatever an option counts: examples, stories, scenes, digits or puzzles


def check_options(args: argparse.Namespace) -> None:
    """Checks the options of a command.

    Raises:
      DataError: a number that is no seed is too large, or `--out` cannot be written.
    """
    for name, value in vars(args).items():
        for number in value if isinstance(value, tuple) else (value,):
            if isinstance(number, int) and number > MOST and name != "seed":
                raise DataError(f"--{name} {number}: at most {MOST:,} is possible")
    if out := getattr(args, "out", None):
        _check_out(out)


def _check_out(out: Path) -> None:
    if not out.name or out.is_dir():
        raise DataError(f"--out {out}: a folder; expected a file's name, as data/new.h5")
    folder = next(parent for parent in out.parents if parent.exists())
    if not folder.is_dir():
        raise DataError(f"--out {out}: {folder} is no folder")
    try:
        tempfile.TemporaryFile(dir=folder).close()  # it has no name
    except OSError as error:
        raise DataError(f"--out {out}: cannot be written: {error.strerror}") from None
