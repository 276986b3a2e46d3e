"""Reads a list of Sudoku puzzles, solves them, and refuses what is not a puzzle with one solution.

A list is a text file, plain or .gz, with one puzzle a line: 81 digits row by row, '0' or '.' for
a blank.
"""

from pathlib import Path

import numpy as np

from data_prep import DataError, input_files
from data_prep.progress import Progress
from data_prep.sudoku.solver import solve

FEWEST_GIVENS = 17  # no puzzle with fewer has a single solution
BATCH = 8192  # puzzles solved between two reports of progress

_CELLS = np.arange(81).reshape(9, 9)
UNITS = {  # [9, 9]: the i-th row is the cells of the i-th unit
    "row": _CELLS,
    "column": _CELLS.T,
    "box": _CELLS.reshape(3, 3, 3, 3).swapaxes(1, 2).reshape(9, 9),
}


def read(path: Path, most_givens: int = 80) -> tuple[np.ndarray, np.ndarray]:
    """Returns the puzzles of a list and their solutions.

    Args:
        path: the list.
        most_givens: the most givens that a puzzle may have.

    Returns:
        puzzles: [puzzles, 81] uint8, 0 for a blank, in the list's order.
        solutions: [puzzles, 81] uint8.

    Raises:
        DataError: the file is cut short or empty, a line is not a puzzle, or a puzzle has another
            number of solutions than one; the message names the first such line.
    """
    lines = _lines(path)
    for number, line in enumerate(lines, 1):
        if len(line) != 81:
            raise _error(path, number, line, f"has {len(line)} characters; expected 81")
        if wrong := line.translate(None, b"0123456789."):
            what = f"has the character {_quoted(wrong[:1])}; expected digits, '0' or '.' for blanks"
            raise _error(path, number, line, what)
    text = b"".join(lines).replace(b".", b"0")
    puzzles = np.frombuffer(text, np.uint8).reshape(-1, 81) - np.uint8(ord("0"))
    fits = _fits(puzzles, most_givens)
    if not fits.all():
        first = fits.argmin()
        raise _error(path, first + 1, lines[first], _misfit(puzzles[first], most_givens))
    solutions = np.empty_like(puzzles)
    progress = Progress("solving", len(puzzles))
    for start in range(0, len(puzzles), BATCH):
        piece = slice(start, start + BATCH)
        solutions[piece], counts = solve(puzzles[piece])
        if (counts != 1).any():
            bad = (counts != 1).argmax()
            found = "more than one solution" if counts[bad] else "no solution"
            what = f"has {found}; expected exactly one"
            raise _error(path, start + bad + 1, lines[start + bad], what)
        progress.show(start + len(counts))
    return puzzles, solutions


def _lines(path: Path) -> list[bytes]:
    lines = input_files.read_file(path).splitlines()
    if not lines:
        raise DataError(f"{path}: empty; expected one puzzle of 81 characters a line")
    return lines


def _fits(puzzles: np.ndarray, most_givens: int) -> np.ndarray:
    """Returns for each puzzle whether its givens are neither too few nor too many nor at odds."""
    givens = np.count_nonzero(puzzles, axis=1)
    fits = (givens >= FEWEST_GIVENS) & (givens <= most_givens)
    for cells in UNITS.values():
        digits = np.sort(puzzles[:, cells], axis=2)
        twice = (digits[..., 1:] == digits[..., :-1]) & (digits[..., 1:] > 0)
        fits &= ~twice.any(axis=(1, 2))
    return fits


def _misfit(puzzle: np.ndarray, most_givens: int) -> str:
    """Says why a puzzle does not fit."""
    for name, units in UNITS.items():
        for i, cells in enumerate(units, 1):
            times = np.bincount(puzzle[cells], minlength=10)[1:]
            if times.max() > 1:
                return f"has the digit {times.argmax() + 1} {times.max()} times in {name} {i}"
    givens = np.count_nonzero(puzzle)
    return f"has {givens} givens; expected {FEWEST_GIVENS} to {most_givens}"


def _error(path: Path, number: int, line: bytes, what: str) -> DataError:
    return DataError(f"{path}, line {number}: {_quoted(line)} {what}")


def _quoted(text: bytes) -> str:
    shown = text.decode(errors="replace")
    return repr(shown if len(shown) <= 90 else shown[:90] + "...")
