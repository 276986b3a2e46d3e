"""Makes Sudoku puzzles with one solution."""

from collections.abc import Iterator

import numpy as np

from rrn.data_prep.sudoku.solver import solve

FEWEST, MOST = 22, 34  # givens
BATCH = 2048  # puzzles made at a time


def generate(count: int, rng: np.random.Generator) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yields batches of puzzles, `count` in all, with 22 to 34 givens and their only solutions.

    The solver fills a grid and draws the digits that it tries. A number of givens is drawn for
    each grid, all from 22 to 34 equally likely. Then cells are blanked in random order where the
    solution stays the only one, until that number is reached or no further cell can be blanked.
    Few puzzles get below 24 givens.
    """
    while count > 0:
        blank = np.zeros((min(count, BATCH), 81), np.uint8)
        solutions, _ = solve(blank, max_solutions=1, rng=rng)
        wanted = rng.integers(FEWEST, MOST + 1, size=len(solutions))
        puzzles = solutions.copy()
        order = rng.permuted(np.tile(np.arange(81), (len(puzzles), 1)), axis=1)
        for cell in order.T:
            rows = np.flatnonzero(np.count_nonzero(puzzles, axis=1) > wanted)
            fewer = puzzles[rows]
            fewer[np.arange(len(rows)), cell[rows]] = 0
            _, counts = solve(fewer)
            puzzles[rows[counts == 1]] = fewer[counts == 1]
        fits = np.count_nonzero(puzzles, axis=1) <= MOST
        count -= np.count_nonzero(fits)
        yield puzzles[fits], solutions[fits]
