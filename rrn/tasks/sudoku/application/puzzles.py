"""Reads and checks puzzles that are to be solved; needs no TensorFlow."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from rrn.data_prep.sudoku.puzzles import (
    KINDS,
    UNITS,
    PuzzleError,
    parse_puzzles,
    read_lines,
    repeats_digit,
)


def read_puzzles(puzzle: str) -> np.ndarray:
    """Reads one puzzle, or a file of puzzles.

    Args:
      puzzle: 81 characters; or the name of a file, plain or .gz, with as many on each line.

    Returns:
      Digits `[n, 81]`, int32.

    Raises:
      ValueError: what is wrong, and where.
    """
    if not os.path.isfile(puzzle):
        try:
            return check_puzzles([puzzle], lambda number: "PUZZLE")
        except ValueError as error:
            raise ValueError(f"{error} (there is no file of that name)") from None
    return check_puzzles(read_lines(Path(puzzle)), lambda number: f"{puzzle}, line {number}")


def check_puzzles(puzzles: Sequence[str] | np.ndarray, name: Callable[[int], str]) -> np.ndarray:
    """Reads puzzles from strings or digits, and checks them.

    Args:
      puzzles: as of `solve_sudoku`.
      name: what an error calls the i-th puzzle, from 1.

    Returns:
      Digits `[n, 81]`, int32.

    Raises:
      ValueError: a puzzle is malformed, or a given is twice in a row, column or box.
    """
    if isinstance(puzzles, str) or not hasattr(puzzles, "__len__") or not len(puzzles):
        raise ValueError(f"expected a list of puzzles or digits [n, 81], got {puzzles!r}")
    digits = _parse(puzzles, name) if isinstance(puzzles[0], str) else np.asarray(puzzles)
    if digits.ndim != 2 or digits.shape[1] != 81 or digits.dtype.kind not in "iu":
        raise ValueError(
            f"expected strings or integers [n, 81], got {digits.dtype} of shape {digits.shape}"
        )
    if ((digits < 0) | (digits > 9)).any():
        puzzle, cell = np.argwhere((digits < 0) | (digits > 9))[0]
        where = f"{name(puzzle + 1)}: {_place(cell)}"
        raise ValueError(f"{where} holds {digits[puzzle, cell]}; expected 0 to 9")
    _check_givens(digits, name)
    return digits.astype(np.int32)


def _parse(lines, name):
    try:
        return parse_puzzles(lines)
    except PuzzleError as error:
        what, cell = str(error), error.cell
        if cell is not None:
            character = lines[error.index][cell]
            what = f"character {cell + 1} is {character!r}; expected digits, and 0 or . for a blank"
        raise ValueError(f"{name(error.index + 1)}: {what}") from None


def _check_givens(digits, name):
    """Raises ValueError where a digit is twice in a row, column or box."""
    repeats = repeats_digit(digits)
    if repeats.any():
        puzzle, unit = np.argwhere(repeats)[0]
        held = digits[puzzle, UNITS[unit]]
        digit = min(digit for digit in held if digit and (held == digit).sum() > 1)
        first, second, *_ = UNITS[unit][held == digit]
        raise ValueError(
            f"{name(puzzle + 1)}: no solution, the digit {digit} is twice in a "
            f"{KINDS[unit // 9]}: {_place(first)} and {_place(second)}"
        )


def _place(cell):
    return f"row {cell // 9 + 1}, column {cell % 9 + 1}"
