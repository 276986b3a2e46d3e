"""The Sudoku grid: its units, and what is said of boards that contradict its rules."""

import numpy as np

_CELLS = np.arange(81).reshape(9, 9)
_BOXES = _CELLS.reshape(3, 3, 3, 3).swapaxes(1, 2).reshape(9, 9)
UNITS = np.concatenate([_CELLS, _CELLS.T, _BOXES])  # [27, 9]: the cells of rows, columns, boxes
KINDS = ("row", "column", "box")  # unit i is a KINDS[i // 9]


def repeats_digit(puzzles: np.ndarray) -> np.ndarray:
    """Returns [puzzles, 27], which of the `UNITS` of each puzzle hold a digit more than once."""
    digits = np.sort(puzzles[:, UNITS], axis=2)
    return ((digits[..., 1:] == digits[..., :-1]) & (digits[..., 1:] > 0)).any(axis=2)


def contradiction(board: np.ndarray) -> str | None:
    """Names the first digit that is twice in a unit of a board `[81]`; None if no digit is."""
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
    """Names the row and column of a cell, 0 to 80."""
    return f"row {cell // 9 + 1}, column {cell % 9 + 1}"


def quoted(line: str) -> str:
    """Returns a line in quotes, cut after 90 characters."""
    return repr(line if len(line) <= 90 else line[:90] + "...")
