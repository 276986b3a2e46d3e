"""Equivalent puzzles have the same fingerprint, others another one."""

import numpy as np

from rrn.data_prep.sudoku.symmetry import fingerprints
from tests.data_prep.sudoku.helpers import transform


def test_fingerprints_are_the_same_for_equivalent_puzzles_only(generated):
    rng = np.random.default_rng(0)
    puzzles, solutions = generated
    expected = fingerprints(puzzles, solutions)
    for _ in range(10):
        pairs = np.array([transform(*pair, rng) for pair in zip(puzzles, solutions, strict=True)])
        np.testing.assert_array_equal(fingerprints(pairs[:, 0], pairs[:, 1]), expected)
    # With one given at another cell, it is another puzzle.
    moved = puzzles.copy()
    moved[np.arange(60), (puzzles > 0).argmax(axis=1)] = 0
    moved[np.arange(60), (puzzles == 0).argmax(axis=1)] = 1
    assert not set(fingerprints(moved, solutions)) & set(expected)
