"""Pools of puzzles, and the examples that are made from them."""

import itertools

import numpy as np

from rrn.data_prep.sudoku.examples import make_examples, split_pools


def test_split_pools_keeps_kinds_together():
    kinds = np.array([7, 5, 7, 1, 2, 3, 7, 4, 5, 9])
    seen = set()
    for seed in range(20):
        rng = np.random.default_rng(seed)
        pools, notes = split_pools(kinds, {"test": 3, "valid": 2}, rng)
        assert sorted(np.concatenate(list(pools.values()))) == list(range(10))
        assert len(pools["test"]) == 3 and len(pools["valid"]) == 2
        for a, b in itertools.combinations(pools.values(), 2):
            assert not set(kinds[a]) & set(kinds[b])
        assert notes[1].startswith("5 puzzles are equivalent to others")
        seen.add(tuple(pools["test"]))
    assert len(seen) > 3


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
