"""Sudoku puzzles as text and as digits: the units of the grid, and the parser of lists.

A list is a text file, plain or .gz, with one puzzle a line: 81 digits row by row, '0' or '.' for
a blank.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from rrn.data_prep import DataError, input_files

_CELLS = np.arange(81).reshape(9, 9)
_BOXES = _CELLS.reshape(3, 3, 3, 3).swapaxes(1, 2).reshape(9, 9)
UNITS = np.concatenate([_CELLS, _CELLS.T, _BOXES])  # [27, 9]: the cells of rows, columns, boxes
KINDS = ("row", "column", "box")  # unit i is a KINDS[i // 9]

_CHARACTERS = frozenset("0123456789.")


class PuzzleError(DataError):
    """A line that is not a puzzle.

    Args:
      message: quotes the line and says what is wrong with it.
      index: the line's index among the lines that were parsed.
      cell: the index of the line's first wrong character; None if its length is wrong.
    """

    def __init__(self, message: str, index: int, cell: int | None = None) -> None:
        super().__init__(message)
        self.index, self.cell = index, cell


def read_lines(path: Path) -> list[str]:
    """Returns the lines of a list of puzzles.

    Args:
      path: the list, plain or .gz.

    Raises:
      DataError: the file is empty, or a .gz file that is cut short or damaged.
    """
    lines = input_files.read_file(path).splitlines()
    if not lines:
        raise DataError(f"{path}: empty; expected one puzzle of 81 characters a line")
    return [line.decode(errors="replace") for line in lines]


def parse_puzzles(lines: Sequence[str]) -> np.ndarray:
    """Returns the digits of puzzles.

    Args:
      lines: the puzzles, each of 81 characters.

    Returns:
      [puzzles, 81] uint8, 0 for a blank.

    Raises:
      PuzzleError: a line has another length, or another character than a digit or '.'.
    """
    for index, line in enumerate(lines):
        if len(line) != 81:
            raise PuzzleError(f"{quoted(line)} has {len(line)} characters; expected 81", index)
        if not _CHARACTERS.issuperset(line):
            cell = next(i for i, character in enumerate(line) if character not in _CHARACTERS)
            raise PuzzleError(
                f"{quoted(line)} has the character {line[cell]!r};"
                " expected digits, '0' or '.' for blanks",
                index,
                cell,
            )
    text = "".join(lines).replace(".", "0").encode()
    return np.frombuffer(text, np.uint8).reshape(-1, 81) - np.uint8(ord("0"))


def repeats_digit(puzzles: np.ndarray) -> np.ndarray:
    """Returns which units of each puzzle hold a digit more than once.

    Args:
      puzzles: [puzzles, 81] integers, 0 for a blank.

    Returns:
      [puzzles, 27] bool, in the order of `UNITS`.
    """
    digits = np.sort(puzzles[:, UNITS], axis=2)
    return ((digits[..., 1:] == digits[..., :-1]) & (digits[..., 1:] > 0)).any(axis=2)


def quoted(line: str) -> str:
    """Returns a line in quotes, cut after 90 characters.

    Args:
      line: the line.
    """
    return repr(line if len(line) <= 90 else line[:90] + "...")
