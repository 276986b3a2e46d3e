"""A solved board, and puzzles of it, that Sudoku's tests share."""

import numpy as np

GRID = np.array([(3 * (r % 3) + r // 3 + c) % 9 + 1 for r in range(9) for c in range(9)])


def puzzles(count, givens=30):
    """Digits `[count, 81]`: some cells of `GRID`."""
    random = np.random.default_rng(0)
    shown = random.random([count, 81]).argsort(axis=1) < givens
    return np.where(shown, GRID, 0).astype(np.int32)


def text(digits, blank="."):
    return "".join(map(str, digits)).replace("0", blank)
