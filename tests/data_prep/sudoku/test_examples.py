"""The examples that are made from a pool of puzzles."""

import numpy as np

from rrn.data_prep.sudoku.examples import make_examples


def test_examples_are_drawn_evenly(generated):
    puzzles, solutions = generated[0][:2], generated[1][:2]
    made = make_examples(puzzles, solutions, 500, np.random.default_rng(0))
    # 9,000 draws of 2 puzzles: standard deviation 47.
    assert abs((made["pool_puzzle"] == 0).sum() - 4500) < 240
    for i in range(2):
        rows = made["pool_puzzle"] == i
        puzzle, solution = made["puzzle"][rows], made["solution"][rows]
        # A digit becomes each of the 9 digits in a ninth of the examples.
        for digit in range(1, 10):
            new = solution[:, (solutions[i] == digit).argmax()]
            shares = np.bincount(new, minlength=10)[1:] / len(new)
            assert abs(shares - 1 / 9).max() < 0.03
        # On average 8.5 of the blanks are revealed, each as often as any other.
        blank = puzzles[i] == 0
        shares = (puzzle[:, blank] > 0).mean(axis=0)
        assert abs(shares - 8.5 / blank.sum()).max() < 0.035
