"""Reads lists of Sudoku puzzles, solves them, and refuses puzzles without a single solution."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from rrn.data_prep import DataError
from rrn.data_prep.progress import Progress
from rrn.data_prep.sudoku.reading import Puzzles, read_files
from rrn.data_prep.sudoku.schema import FEWEST_GIVENS
from rrn.data_prep.sudoku.solver import solve

BATCH = 8192  # puzzles solved between two reports of progress


def read(paths: Sequence[Path], most_givens: int = 80) -> tuple[Puzzles, np.ndarray]:
    """Returns the puzzles of lists, in their order, and their solutions `[puzzles, 81]` uint8.

    A puzzle must have 17 to `most_givens` givens, and exactly one solution.
    """
    puzzles = read_files(paths)
    givens = np.count_nonzero(puzzles.digits, axis=1)
    fits = (givens >= FEWEST_GIVENS) & (givens <= most_givens)
    for index in map(int, np.flatnonzero(~fits)):
        expected = f"expected {FEWEST_GIVENS} to {most_givens}"
        raise DataError(f"{puzzles.place(index)}: {givens[index]} givens; {expected}")
    solutions = np.empty_like(puzzles.digits)
    progress = Progress("solving", len(givens))
    for start in range(0, len(givens), BATCH):
        piece = slice(start, start + BATCH)
        solutions[piece], counts = solve(puzzles.digits[piece])
        for index in np.flatnonzero(counts != 1):
            found = "more than one solution" if counts[index] else "no solution"
            raise DataError(f"{puzzles.place(start + index)}: {found}; expected exactly one")
        progress.show(start + len(counts))
    return puzzles, solutions
