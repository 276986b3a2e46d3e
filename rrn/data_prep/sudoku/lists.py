"""Reads lists of Sudoku puzzles, solves them, and refuses puzzles without a single solution."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from rrn.data_prep import DataError
from rrn.data_prep.progress import Progress
from rrn.data_prep.sudoku.puzzles import quoted
from rrn.data_prep.sudoku.reading import Puzzles, read_files
from rrn.data_prep.sudoku.schema import FEWEST_GIVENS
from rrn.data_prep.sudoku.solver import search

BATCH = 8192  # puzzles solved between two reports of progress


def read(paths: Sequence[Path], most_givens: int = 80) -> tuple[Puzzles, np.ndarray, np.ndarray]:
    """Returns the puzzles of lists, their solutions, and how hard they are.

    Args:
      paths: the lists; see `data_prep.sudoku.formats` for their forms.
      most_givens: the most givens that a puzzle may have.

    Returns:
      puzzles: in the lists' order. solutions: [puzzles, 81] uint8. guesses: [puzzles] int64; see
      `data_prep.sudoku.solver.search`.

    Raises:
      DataError: a list is not understood (see `read_files`), a puzzle has too few or too many
        givens, or it does not have exactly one solution. The message names the first such line.
    """
    puzzles = read_files(paths)
    givens = np.count_nonzero(puzzles.digits, axis=1)
    fits = (givens >= FEWEST_GIVENS) & (givens <= most_givens)
    if not fits.all():
        first = fits.argmin()
        expected = f"expected {FEWEST_GIVENS} to {most_givens}"
        raise _error(puzzles, first, f"has {givens[first]} givens; {expected}")
    solutions = np.empty_like(puzzles.digits)
    guesses = np.empty(len(puzzles), np.int64)
    progress = Progress("solving", len(puzzles))
    for start in range(0, len(puzzles), BATCH):
        piece = slice(start, start + BATCH)
        solutions[piece], counts, guesses[piece] = search(puzzles.digits[piece])
        if (counts != 1).any():
            bad = (counts != 1).argmax()
            found = "more than one solution" if counts[bad] else "no solution"
            raise _error(puzzles, start + bad, f"has {found}; expected exactly one")
        progress.show(start + len(counts))
    return puzzles, solutions, guesses


def _error(puzzles, index, what):
    text = "".join(map(str, puzzles.digits[index]))
    return DataError(f"{puzzles.place(index)}: {quoted(text)} {what}")
