"""What holds of every prepared Sudoku file; `data_prep.sudoku.prepare` describes it."""

from collections.abc import Mapping

import numpy as np

from rrn.data_prep.layout import SPLITS, check_all, check_layout, check_range
from rrn.data_prep.sudoku.puzzles import UNITS, repeats_digit

FEWEST_GIVENS = 17  # no puzzle with fewer has a single solution
LAYOUT = {
    "{split}/puzzle": ("uint8", ("N", 81)),
    "{split}/solution": ("uint8", ("N", 81)),
    "{split}/givens": ("uint8", ("N",)),
    "{split}/pool_puzzle": ("int32", ("N",)),
    "{split}/pool": ("uint8", ("P", 81)),
}


def check(datasets: Mapping[str, np.ndarray]) -> None:
    """Refuses wrong arrays with a `DataError`."""
    check_layout(datasets, LAYOUT)
    for split in SPLITS:
        puzzle, solution, givens, pool_puzzle, pool = (
            datasets[f"{split}/{name}"]
            for name in ("puzzle", "solution", "givens", "pool_puzzle", "pool")
        )
        # Every unit of a solution has all nine bits.
        bits = np.uint16(1) << solution.astype(np.uint16)
        solves = (np.bitwise_or.reduce(bits[:, UNITS], axis=2) == 0b1111111110).all(axis=1)
        check_all(f"{split}/solution", solves, solution, "each digit once in all units")
        kept = (puzzle == 0) | (puzzle == solution)
        check_all(f"{split}/puzzle", kept, puzzle, "0, or the digit of the solution")
        counted = givens == np.count_nonzero(puzzle, axis=1)
        check_all(f"{split}/givens", counted, givens, "the number of the puzzle's givens")
        check_all(f"{split}/givens", givens >= FEWEST_GIVENS, givens, "at least 17")
        ordered = givens[1:] >= givens[:-1]
        check_all(f"{split}/givens", ordered, givens[1:], "at least as many as before")
        check_range(f"{split}/pool", pool, 0, 10)
        check_all(f"{split}/pool", ~repeats_digit(pool).any(axis=1), pool, "no digit twice")
        check_range(f"{split}/pool_puzzle", pool_puzzle, 0, len(pool))
        _check_origin(split, puzzle, pool[pool_puzzle])


def _check_origin(split: str, puzzle: np.ndarray, origin: np.ndarray) -> None:
    """Each digit of the pool's puzzle has one digit in the example, and no two have the same."""
    labels = np.zeros((len(puzzle), 10), np.uint8)
    rows = np.arange(len(puzzle))[:, None]
    labels[rows, origin] = puzzle
    labels[:, 0] = 0
    permuted = (origin == 0) | (labels[rows, origin] == puzzle)
    given = np.sort(labels[:, 1:], axis=1)
    distinct = ((np.diff(given.astype(np.int16), axis=1) > 0) | (given[:, 1:] == 0)).all(axis=1)
    right = permuted.all(axis=1) & distinct & ((origin == 0) | (puzzle > 0)).all(axis=1)
    check_all(f"{split}/puzzle", right, puzzle, "its pool's puzzle with permuted digits")
