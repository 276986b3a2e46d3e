"""What holds of the options that several commands have; it is checked before any work is done."""

import argparse
from pathlib import Path

from data_prep import DataError

MOST = 1_000_000  # examples, stories, scenes, digits or puzzles that an option asks for
COUNTS = (
    *("counts", "generate", "scenes", "stories", "test_pool", "valid_pool"),
    *("train_per_level", "valid_per_level", "test_per_level"),
)
LARGEST_IMAGE = 1024  # pixels


def check(args: argparse.Namespace) -> None:
    """Checks the options of a command.

    Args:
      args: the parsed options.

    Raises:
      DataError: a number is too large, or `--out` cannot be a file.
    """
    for name in COUNTS:
        _check_most(name, getattr(args, name, None), MOST)
    _check_most("images", getattr(args, "images", None), LARGEST_IMAGE)
    if out := getattr(args, "out", None):
        _check_out(out)


def _check_most(name: str, value: int | tuple[int, ...] | None, most: int) -> None:
    for number in value if isinstance(value, tuple) else (value or 0,):
        if number > most:
            raise DataError(f"--{name} {number}: at most {most:,} is possible")


def _check_out(out: Path) -> None:
    if not out.name or out.is_dir():
        raise DataError(f"--out {out}: a folder; expected a file's name, as data/new.h5")
    folder = next(parent for parent in out.parents if parent.exists())
    if not folder.is_dir():
        raise DataError(f"--out {out}: {folder} is no folder")
