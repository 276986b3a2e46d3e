"""Reads a list of Sudoku puzzles, solves them, and refuses puzzles without a single solution."""

from pathlib import Path

import numpy as np

from rrn.data_prep import DataError
from rrn.data_prep.progress import Progress
from rrn.data_prep.sudoku.puzzles import (
    KINDS,
    UNITS,
    PuzzleError,
    parse_puzzles,
    quoted,
    read_lines,
    repeats_digit,
)
from rrn.data_prep.sudoku.solver import search

FEWEST_GIVENS = 17  # no puzzle with fewer has a single solution
BATCH = 8192  # puzzles solved between two reports of progress


def read(path: Path, most_givens: int = 80) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns the puzzles of a list, their solutions, and how hard they are.

    Args:
      path: the list; see `data_prep.sudoku.puzzles` for its form.
      most_givens: the most givens that a puzzle may have.

    Returns:
      puzzles: [puzzles, 81] uint8, 0 for a blank, in the list's order. solutions: [puzzles, 81]
      uint8. guesses: [puzzles] int64; see `data_prep.sudoku.solver.search`.

    Raises:
      DataError: the file is cut short or empty, a line is not a puzzle, a puzzle has too few or too
        many givens, or it does not have exactly one solution. The message names the first such
        line.
    """
    lines = read_lines(path)
    try:
        puzzles = parse_puzzles(lines)
    except PuzzleError as error:
        raise DataError(f"{path}, line {error.index + 1}: {error}") from None
    givens = np.count_nonzero(puzzles, axis=1)
    fits = (givens >= FEWEST_GIVENS) & (givens <= most_givens)
    fits &= ~repeats_digit(puzzles).any(axis=1)
    if not fits.all():
        first = fits.argmin()
        raise _error(path, first, lines, _misfit(puzzles[first], most_givens))
    solutions, guesses = np.empty_like(puzzles), np.empty(len(puzzles), np.int64)
    progress = Progress("solving", len(puzzles))
    for start in range(0, len(puzzles), BATCH):
        piece = slice(start, start + BATCH)
        solutions[piece], counts, guesses[piece] = search(puzzles[piece])
        if (counts != 1).any():
            bad = (counts != 1).argmax()
            found = "more than one solution" if counts[bad] else "no solution"
            raise _error(path, start + bad, lines, f"has {found}; expected exactly one")
        progress.show(start + len(counts))
    return puzzles, solutions, guesses


def _misfit(puzzle: np.ndarray, most_givens: int) -> str:
    """Says why a puzzle with 81 digits cannot be used, without solving it."""
    repeats = repeats_digit(puzzle[None])[0]
    if repeats.any():
        unit = repeats.argmax()
        times = np.bincount(puzzle[UNITS[unit]], minlength=10)[1:]
        name = f"{KINDS[unit // 9]} {unit % 9 + 1}"
        return f"has the digit {times.argmax() + 1} {times.max()} times in {name}"
    givens = np.count_nonzero(puzzle)
    return f"has {givens} givens; expected {FEWEST_GIVENS} to {most_givens}"


def _error(path: Path, index: int, lines: list[str], what: str) -> DataError:
    return DataError(f"{path}, line {index + 1}: {quoted(lines[index])} {what}")
