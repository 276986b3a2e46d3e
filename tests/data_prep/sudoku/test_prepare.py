"""The Sudoku data set: lists with equivalent puzzles, made puzzles, and the real list."""

import re

import numpy as np
import pytest

from rrn.data_prep.__main__ import main
from rrn.data_prep.sudoku.examples import SPLITS
from rrn.data_prep.sudoku.solver import solve
from rrn.data_prep.sudoku.symmetry import fingerprints
from tests.data_prep.helpers import contents, measured, needs_proc
from tests.data_prep.sudoku.helpers import SMALL, assert_solves, lines, prepare, transform

# Pools.


@pytest.mark.parametrize("seed", range(3))
def test_equivalent_puzzles_land_in_one_pool(generated, tmp_path, seed):
    rng = np.random.default_rng(seed)
    origin = rng.permutation(np.repeat(np.arange(60), 3))
    listed = [transform(generated[0][i], generated[1][i], rng)[0] for i in origin]
    (tmp_path / "clues.txt").write_text(lines(listed))
    options = ("--test_pool", "50", "--valid_pool", "20", "--seed", str(seed))
    assert prepare(tmp_path / "clues.txt", tmp_path / "s.h5", *options) == 0
    datasets, attributes = contents(tmp_path / "s.h5")
    origin_of = {tuple(puzzle): i for puzzle, i in zip(listed, origin, strict=True)}
    pools = [[origin_of[tuple(p)] for p in datasets[f"{s}/pool"]] for s in SPLITS]
    # 16 and 6 triples are what fits into 50 and 20.
    assert [len(pool) for pool in pools] == [180 - 48 - 18, 18, 48]
    assert sum(len(set(pool)) for pool in pools) == 60
    assert "180 puzzles are equivalent to others" in attributes["notes"]


def test_pools_are_the_papers_share(generated, clues, tmp_path):
    assert prepare(clues, tmp_path / "s.h5") == 0
    datasets, _ = contents(tmp_path / "s.h5")
    # 60 * 10,000 / 49,151 = 12.2 and 60 * 1,000 / 49,151 = 1.2
    sizes = {split: len(datasets[f"{split}/pool"]) for split in SPLITS}
    assert sizes == {"train": 47, "valid": 1, "test": 12}
    pooled = np.concatenate([datasets[f"{split}/pool"] for split in SPLITS])
    assert sorted(map(tuple, pooled)) == sorted(map(tuple, generated[0]))


def test_equivalent_puzzles_that_fill_no_pool(generated, tmp_path, capsys):
    (tmp_path / "clues.txt").write_text(lines(generated[0][[0] * 5]))
    assert prepare(tmp_path / "clues.txt", tmp_path / "s.h5") == 1
    expected = "error: 5 puzzles of 1 kinds leave the valid pool empty; equivalent puzzles stay"
    assert capsys.readouterr().err.startswith(expected)


# Examples.


def assert_made_from_pool(datasets: dict[str, np.ndarray], split: str) -> set[int]:
    """Every example is its pool puzzle relabelled, with further cells of the solution.

    Returns the fingerprints of the pool's puzzles.
    """
    puzzle, solution, givens, source, pool = (
        datasets[f"{split}/{name}"]
        for name in ("puzzle", "solution", "givens", "pool_puzzle", "pool")
    )
    assert_solves(solution, puzzle)
    np.testing.assert_array_equal(givens, (puzzle > 0).sum(axis=1))
    assert (np.diff(givens.astype(int)) >= 0).all()
    solved, counts = solve(pool)
    assert (counts == 1).all()
    relabelled = np.zeros((len(puzzle), 10), int)
    np.put_along_axis(relabelled, solved[source].astype(int), solution, axis=1)
    assert (np.sort(relabelled[:, 1:], axis=1) == np.arange(1, 10)).all()
    np.testing.assert_array_equal(
        solution, np.take_along_axis(relabelled, solved[source].astype(int), axis=1)
    )
    contained = np.take_along_axis(relabelled, pool[source].astype(int), axis=1)
    assert ((contained == 0) | (contained == puzzle)).all()
    return set(fingerprints(pool, solved))


def test_examples(clues, tmp_path):
    assert prepare(clues, tmp_path / "s.h5") == 0
    datasets, attributes = contents(tmp_path / "s.h5")
    for split, per_level in (("train", 6), ("valid", 4), ("test", 5)):
        assert_made_from_pool(datasets, split)
        own = (datasets[f"{split}/pool"] > 0).sum(axis=1)
        levels = datasets[f"{split}/givens"] - own[datasets[f"{split}/pool_puzzle"]]
        assert np.bincount(levels).tolist() == [per_level] * 18
    assert {name: array.dtype for name, array in datasets.items() if "test" in name} == {
        "test/puzzle": np.uint8,
        "test/solution": np.uint8,
        "test/givens": np.uint8,
        "test/pool_puzzle": np.int32,
        "test/pool": np.uint8,
    }
    assert attributes | {"sha256": ""} == {
        "schema": "sudoku",
        "version": 1,
        "source": "clues.txt",
        "sha256": "",
        "notes": "The puzzles are split at random by seed",
        "seed": 0,
    }
    assert re.fullmatch("[0-9a-f]{64}", attributes["sha256"])


def test_same_seed_same_bytes(clues, tmp_path):
    for name, seed in (("a", "1"), ("b", "1"), ("c", "2")):
        assert prepare(clues, tmp_path / name, "--seed", seed) == 0
    a, b, c = ((tmp_path / name).read_bytes() for name in "abc")
    assert a == b != c


def test_generated_data_set(tmp_path, capsys):
    for name in "ab":
        command = ["sudoku", "--generate", "20", "--out", str(tmp_path / name), *SMALL]
        assert main(command) == 0
    datasets, attributes = contents(tmp_path / "a")
    assert (attributes["source"], attributes["sha256"]) == ("generated", "")
    assert [len(datasets[f"{split}/pool"]) for split in SPLITS] == [15, 1, 4]
    for split in SPLITS:
        assert_made_from_pool(datasets, split)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert re.search(r"train +108 +\d+-\d+ +15\n", capsys.readouterr().out)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--seed", "-1"), "--seed -1: at least 0 is needed"),
        (("--test_pool", "0"), "--test_pool 0: at least 1 is needed"),
        (("--train_per_level", "0"), "--train_per_level 0: at least 1 is needed"),
        (("--test_pool", "50", "--valid_pool", "10"), "60 puzzles: 50 for test and 10 for valid"),
    ],
)
def test_wrong_options(clues, tmp_path, capsys, options, message):
    assert prepare(clues, tmp_path / "s.h5", *options) == 1
    assert capsys.readouterr().err.startswith(f"error: {message}")


# The real list.


def test_real_data_set(sudoku_h5):
    datasets, attributes = contents(sudoku_h5)
    counts = {"train": (30_389, 10_000), "valid": (797, 1_000), "test": (7_965, 1_000)}
    tenth = {
        name: rows if name.endswith("/pool") else rows[::10] for name, rows in datasets.items()
    }
    kinds = set()
    for split, (pool, per_level) in counts.items():
        assert len(datasets[f"{split}/pool"]) == pool
        expected = [0] * 17 + [per_level] * 18
        assert np.bincount(datasets[f"{split}/givens"]).tolist() == expected
        kinds |= assert_made_from_pool(tenth, split)
    assert len(kinds) == 39_151  # no two puzzles of the list are equivalent
    assert attributes["notes"] == "The puzzles are split at random by seed"


@needs_proc
def test_real_time_and_memory(sudoku_clues, tmp_path):
    out = tmp_path / "sudoku.h5"
    printed, seconds, kibibytes = measured(
        "sudoku", "--clues", str(sudoku_clues), "--out", str(out)
    )
    assert "train        180,000" in printed
    assert seconds < 60
    assert kibibytes < 2**19
    assert out.stat().st_size < 20e6
