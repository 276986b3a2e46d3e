"""The Sudoku grid: its units, and what is said of boards that contradict its rules."""

import numpy as np

from rrn.data_prep import DataError

_CELLS = np.arange(81).reshape(9, 9)
_BOXES = _CELLS.reshape(3, 3, 3, 3).swapaxes(1, 2).reshape(9, 9)
UNITS = np.concatenate([_CELLS, _CELLS.T, _BOXES])  # [27, 9]: the cells of rows, columns, boxes
KINDS = ("row", "column", "box")  # unit i is a KINDS[i // 9]


class PuzzleError(DataError):
    """Something that is no puzzle.

    Args:
      message: says what is wrong with it.
      line: the number of its line in the text, from 1.
    """

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


def repeats_digit(puzzles: np.ndarray) -> np.ndarray:
    """Returns which units of each puzzle hold a digit more than once.

    Args:
      puzzles: [puzzles, 81] integers, 0 for a blank.

    Returns:
      [puzzles, 27] bool, in the order of `UNITS`.
    """
    digits = np.sort(puzzles[:, UNITS], axis=2)
    return ((digits[..., 1:] == digits[..., :-1]) & (digits[..., 1:] > 0)).any(axis=2)


def contradiction(board: np.ndarray) -> str | None:
    """Says which of a board's digits contradict each other.

    Args:
      board: [81] integers, 0 for a blank.

    Returns:
      The first digit that is twice in a unit and its first two places; None if no digit is.
    """
    repeats = repeats_digit(board[None])[0]
    if not repeats.any():
        return None
    unit = repeats.argmax()
    held = board[UNITS[unit]]
    digit = min(digit for digit in held if digit and (held == digit).sum() > 1)
    first, second, *_ = UNITS[unit][held == digit]
    kind = KINDS[unit // 9]
    return f"the digit {digit} is twice in a {kind}: {place(first)} and {place(second)}"


def place(cell: int) -> str:
    """Returns a cell's row and column in words.

    Args:
      cell: its index, 0 to 80.
    """
    return f"row {cell // 9 + 1}, column {cell % 9 + 1}"


def quoted(line: str) -> str:
    """Returns a line in quotes, cut after 90 characters.

    Args:
      line: the line.
    """
    return repr(line if len(line) <= 90 else line[:90] + "...")
