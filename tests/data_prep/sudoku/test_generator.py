"""Made puzzles have one solution and as many givens as they should."""

import numpy as np

from rrn.data_prep.sudoku.solver import solve
from rrn.data_prep.sudoku.symmetry import fingerprints


def test_generate(generated):
    puzzles, solutions = generated
    givens = np.count_nonzero(puzzles, axis=1)
    assert len(puzzles) == 60 and givens.min() >= 22 and givens.max() <= 34
    assert len(set(givens)) > 8
    found, counts = solve(puzzles)
    assert (counts == 1).all()
    np.testing.assert_array_equal(found, solutions)
    assert len(np.unique(fingerprints(puzzles, solutions))) == 60
