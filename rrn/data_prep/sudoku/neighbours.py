"""Further puzzles for training: a puzzle's neighbours differ from it in one given."""

import numpy as np

from rrn.data_prep.progress import Progress
from rrn.data_prep.sudoku.solver import search
from rrn.data_prep.sudoku.symmetry import fingerprints

BATCH = 50  # puzzles at a time, to bound the memory
MOST_SOLUTIONS = 500  # a given without which a puzzle has as many stays


def neighbours(puzzles: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Finds the hard neighbours of puzzles `[puzzles, 81]` with one solution each.

    Without one of its givens, a puzzle has several solutions. A digit in a cell that only one of
    these has makes it a puzzle with one solution again. It is hard if the solver has to guess.

    Returns:
      (neighbours, solutions) `[neighbours, 81]` uint8, and their fingerprints; no two are
      equivalent.
    """
    progress, batches = Progress("neighbours of puzzles", len(puzzles)), []
    for start in range(0, len(puzzles), BATCH):
        batches.append(_neighbours(puzzles[start : start + BATCH]))
        progress.show(min(start + BATCH, len(puzzles)))
    found, solutions = map(np.concatenate, zip(*batches, strict=True))
    kinds, first = np.unique(fingerprints(found, solutions), return_index=True)
    return found[first], solutions[first], kinds


def _neighbours(puzzles):
    which, given = np.nonzero(puzzles)
    without = puzzles[which]
    without[np.arange(len(given)), given] = 0
    digits_found = np.zeros([len(without), 81, 9], np.int32)
    _, counts, _ = search(without, MOST_SOLUTIONS, digits_found=digits_found)
    once = (digits_found == 1) & (without == 0)[:, :, None]
    which, cell, digit = np.nonzero(once & (counts < MOST_SOLUTIONS)[:, None, None])
    found = without[which]
    found[np.arange(len(cell)), cell] = digit + 1
    solutions, _, guesses = search(found)
    return found[guesses > 0], solutions[guesses > 0]
