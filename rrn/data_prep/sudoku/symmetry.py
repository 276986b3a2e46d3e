"""Finds Sudoku puzzles that are equivalent to each other.

Two puzzles are equivalent if a permutation of the digits and a symmetry of the grid turn one into
the other. The 2 * 6**8 symmetries are the transpose and the permutations of the bands, of the rows
within a band, of the stacks and of the columns within a stack.
"""

import numpy as np

ROUNDS = 4  # 2 are enough to tell all 17-clue puzzles of Royle's list apart
BATCH = 4096  # puzzles at a time, to bound the memory


def fingerprints(puzzles: np.ndarray, solutions: np.ndarray) -> np.ndarray:
    """Returns [puzzles] uint64, equal for equivalent puzzles, of puzzles with one solution each.

    Every cell has a colour, which says at first whether it is a given. In each round, a cell's new
    colour is a hash of its own colour and of the sums of the colours in its row, band, column,
    stack and box and of the cells with its digit. Sums do not depend on the order of the cells or
    on the names of the digits. The fingerprint is the sum of the colours.

    Two puzzles with different fingerprints are not equivalent. Two puzzles with the same
    fingerprint nearly always are. So it is safe to treat equal fingerprints as equivalent where
    equivalent puzzles have to stay together.
    """
    starts = range(0, len(puzzles), BATCH)
    pieces = [slice(start, start + BATCH) for start in starts]
    found = (_fingerprints(puzzles[piece], solutions[piece]) for piece in pieces)
    return np.concatenate([np.empty(0, np.uint64), *found])  # of no puzzles, too


def _fingerprints(puzzles, solutions):
    cells_of_digit = solutions.argsort(axis=1, kind="stable")  # nine cells of each digit
    digit_of_cell = solutions.astype(np.int64) - 1
    colours = _hash((puzzles > 0).astype(np.uint64), 0)
    for _ in range(ROUNDS):
        grid = colours.reshape(-1, 3, 3, 3, 3)  # [puzzles, band, row, stack, column]
        row = _hash(grid.sum((3, 4), keepdims=True), 1)
        column = _hash(grid.sum((1, 2), keepdims=True), 1)
        row = _hash(row + _hash(row.sum(2, keepdims=True), 2), 3)
        column = _hash(column + _hash(column.sum(4, keepdims=True), 2), 3)
        box = _hash(grid.sum((2, 4), keepdims=True), 4)
        units = (row + column + box).reshape(-1, 81)  # row + column: the same when transposed
        digits = np.take_along_axis(colours, cells_of_digit, axis=1).reshape(-1, 9, 9).sum(axis=2)
        digits = np.take_along_axis(_hash(digits, 5), digit_of_cell, axis=1)
        colours = _hash(colours + units + digits, 6)
    return colours.sum(axis=1)


def _hash(values, kind):
    """Mixes the bits of 64-bit integers as SplitMix64 does, each `kind` in another way."""
    values = values + np.uint64(0x9E3779B97F4A7C15 * (kind + 1) % 2**64)
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))
