"""The Sudoku data set: lists with equivalent puzzles, made puzzles, and the real list."""

import gzip
import os
import re
import threading

import numpy as np
import pytest

from rrn.data_prep.__main__ import main
from rrn.data_prep.sudoku.examples import SPLITS
from rrn.data_prep.sudoku.neighbours import neighbours
from rrn.data_prep.sudoku.solver import search, solve
from rrn.data_prep.sudoku.symmetry import fingerprints
from tests.data_prep.helpers import contents
from tests.data_prep.sudoku.helpers import SMALL, assert_solves, boards, lines, prepare, transform

GOOD = "000000010400000000020000000000050407008000300001090000300400200050100000000806000"
FULL = "693784512487512936125963874932651487568247391741398625319475268856129743274836159"


# Lists.


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (GOOD[:-1], "line 2: .* has 80 characters; expected 81"),
        (GOOD.replace("6", "0"), "line 2: 16 givens; expected 17 to 64"),
        (FULL[:65] + "0" * 16, "line 2: 65 givens; expected 17 to 64"),
        ("1" + GOOD[1:], "line 2: no solution, the digit 1 is twice in a row: row 1, column 1"),
        ("5" + GOOD[1:], "line 2: no solution; expected exactly one"),
        (GOOD.replace("6", "0").replace("0", "6", 1), "line 2: more than one solution; expected"),
    ],
)
def test_a_wrong_puzzle_is_named_with_its_line(tmp_path, capsys, bad, message):
    clues = tmp_path / "clues.txt"
    clues.write_text(f"{GOOD}\n{bad}\n{GOOD}\n")
    assert prepare(clues, tmp_path / "s.h5") == 1
    assert re.fullmatch(f"error: {clues}, {message}.*\n", capsys.readouterr().err)
    assert not (tmp_path / "s.h5").exists()


def test_several_lists_in_any_form_are_prepared_as_one(generated, clues, tmp_path):
    half, out = len(generated[0]) // 2, tmp_path / "s.h5"
    numbered = "".join(f"1,{line}\n" for line in lines(generated[0][:half]).split())
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(f"id,puzzle\n{numbered}".encode()))
    (tmp_path / "b.txt").write_text(re.sub("(.{9})", r"\1\n", lines(generated[0][half:])))
    names = [str(tmp_path / name) for name in ("a.csv.gz", "b.txt")]
    assert main(["sudoku", "--clues", *names, "--out", str(out), *SMALL]) == 0
    assert prepare(clues, tmp_path / "one.h5") == 0
    (ours, attributes), (theirs, _) = contents(out), contents(tmp_path / "one.h5")
    for name, array in theirs.items():
        np.testing.assert_array_equal(ours[name], array, err_msg=name)
    assert attributes["source"] == "a.csv.gz,b.txt" and len(attributes["sha256"].split(",")) == 2


def test_a_list_of_a_pipe_has_no_checksum(clues, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=(clues.read_bytes(),))
    writer.start()
    assert prepare(tmp_path / "pipe", tmp_path / "s.h5") == 0
    writer.join()
    assert contents(tmp_path / "s.h5")[1]["sha256"] == ""


# Pools.


def test_equivalent_puzzles_land_in_one_pool(generated, tmp_path):
    rng = np.random.default_rng(0)
    origin = rng.permutation(np.repeat(np.arange(60), 3))
    listed = [transform(generated[0][i], generated[1][i], rng)[0] for i in origin]
    (tmp_path / "clues.txt").write_text(lines(listed))
    assert prepare(tmp_path / "clues.txt", tmp_path / "s.h5") == 0
    datasets, attributes = contents(tmp_path / "s.h5")
    origin_of = {tuple(puzzle): i for puzzle, i in zip(listed, origin, strict=True)}
    pools = [[origin_of[tuple(p)] for p in datasets[f"{s}/pool"]] for s in SPLITS]
    # 12 and 1 triples are what fits into 37 and 4, the paper's share.
    assert [len(pool) for pool in pools] == [180 - 36 - 3, 3, 36]
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
    """Every example is its pool puzzle, its digits permuted, with further cells of the solution.

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
    permuted = np.zeros((len(puzzle), 10), int)
    np.put_along_axis(permuted, solved[source].astype(int), solution, axis=1)
    assert (np.sort(permuted[:, 1:], axis=1) == np.arange(1, 10)).all()
    np.testing.assert_array_equal(
        solution, np.take_along_axis(permuted, solved[source].astype(int), axis=1)
    )
    contained = np.take_along_axis(permuted, pool[source].astype(int), axis=1)
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
    command = ["sudoku", "--generate", "20", "--out", str(tmp_path / "a"), *SMALL]
    assert main(command) == 0
    datasets, attributes = contents(tmp_path / "a")
    assert (attributes["source"], attributes["sha256"]) == ("generated", "")
    assert [len(datasets[f"{split}/pool"]) for split in SPLITS] == [15, 1, 4]
    for split in SPLITS:
        assert_made_from_pool(datasets, split)
    assert re.search(r"train +108 +\d+-\d+ +15\n", capsys.readouterr().out)


# A list for each split.


@pytest.fixture
def three(generated, tmp_path):
    """Lists of 30, 10 and 12 puzzles: (their paths, their puzzles)."""
    puzzles = np.split(generated[0][:52], [30, 40])
    paths = [tmp_path / f"{split}.txt" for split in SPLITS]
    for path, some in zip(paths, puzzles, strict=True):
        path.write_text(lines(some))
    return paths, puzzles


def prepare_three(paths, out, *options):
    names = ",".join(map(str, paths))
    return main(["sudoku", "--puzzles", names, "--out", str(out), *map(str, options)])


def test_examples_are_the_puzzles_as_they_are(three, tmp_path):
    paths, puzzles = three
    assert prepare_three(paths, tmp_path / "s.h5") == 0
    datasets, attributes = contents(tmp_path / "s.h5")
    for split, listed in zip(SPLITS, puzzles, strict=True):
        puzzle, solution = datasets[f"{split}/puzzle"], datasets[f"{split}/solution"]
        np.testing.assert_array_equal(datasets[f"{split}/pool"], listed)
        np.testing.assert_array_equal(puzzle, listed[datasets[f"{split}/pool_puzzle"]])
        assert sorted(map(tuple, puzzle)) == sorted(map(tuple, listed))
        assert_solves(solution, puzzle)
    assert attributes["source"] == "train.txt,valid.txt,test.txt"
    assert len(attributes["sha256"].split(",")) == 3


def test_half_of_the_training_examples_are_of_another_file(three, clues, tmp_path):
    paths, puzzles = three
    # Of the clues' file, whose puzzles are these, only the training split may come in.
    assert prepare(clues, tmp_path / "other.h5", "--train_per_level", "40") == 0
    assert prepare_three(paths, tmp_path / "s.h5", "--mixed", tmp_path / "other.h5") == 0
    datasets, attributes = contents(tmp_path / "s.h5")
    other, _ = contents(tmp_path / "other.h5")
    assert "30 training examples are from other.h5" in attributes["notes"]
    mixed = datasets["train/pool_puzzle"] >= 30
    assert mixed.sum() == (~mixed).sum() == 30
    theirs = {tuple(row) for row in np.hstack([other["train/puzzle"], other["train/solution"]])}
    found = np.hstack([datasets["train/puzzle"], datasets["train/solution"]])[mixed]
    assert {tuple(row) for row in found} <= theirs
    pool = {tuple(row) for row in datasets["train/pool"][30:]}
    their_pool = {tuple(row) for row in other["train/pool"]}
    held_back = {tuple(row) for some in puzzles[1:] for row in some}
    assert held_back & their_pool and not held_back & pool and pool <= their_pool


def test_neighbours_of_the_training_puzzles_are_added(three, tmp_path):
    paths, puzzles = three
    assert prepare_three(paths, tmp_path / "s.h5", "--neighbours") == 0
    datasets, attributes = contents(tmp_path / "s.h5")
    puzzle = datasets["train/puzzle"]
    assert {tuple(row) for row in puzzles[0]} < {tuple(row) for row in puzzle}
    assert f"{len(puzzle) - 30:,} training puzzles differ from one" in attributes["notes"]
    assert_solves(datasets["train/solution"], puzzle)
    np.testing.assert_array_equal(datasets["train/pool"][datasets["train/pool_puzzle"]], puzzle)


def test_neighbours_are_all_hard_puzzles_that_differ_in_one_given(generated):
    """Against every digit in every other cell, instead of one given."""
    puzzle = generated[0][:1]
    found, solutions, kinds = neighbours(puzzle)
    tried = []
    for given in np.flatnonzero(puzzle[0]):
        without = np.where(np.arange(81) == given, 0, puzzle[0]).astype(np.uint8)
        for cell in np.flatnonzero(without == 0):
            for digit in set(range(1, 10)) - ({puzzle[0, cell]} if cell == given else set()):
                tried.append(np.where(np.arange(81) == cell, digit, without))
    tried_solutions, counts, guesses = search(tried := np.array(tried, np.uint8))
    hard = (counts == 1) & (guesses > 0)
    expected = fingerprints(tried[hard], tried_solutions[hard])
    own = {*fingerprints(puzzle, solve(puzzle)[0])}
    assert {*kinds} - own == {*expected} - own and len(kinds) == len({*kinds}) > 5
    np.testing.assert_array_equal(solve(found)[0], solutions)
    assert [len(part) for part in neighbours(boards(FULL[:80] + "0"))] == [0, 0, 0]  # an easy one


def test_a_puzzle_of_two_lists_is_named_even_permuted(three, generated, tmp_path, capsys):
    paths, _ = three
    permuted, _ = transform(generated[0][7], generated[1][7], np.random.default_rng(0))
    paths[2].write_text(lines(generated[0][40:43]) + lines([permuted]))
    assert prepare_three(paths, tmp_path / "s.h5") == 1
    said = capsys.readouterr().err
    assert f"{paths[2]}, line 4: the puzzle of {paths[0]}, line 8, the same or permuted" in said
    assert not (tmp_path / "s.h5").exists()


# Options.

LIST, THREE = "--clues clues.txt ", "--puzzles train.txt,valid.txt,test.txt "


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--clues two.txt", "2 puzzles: 1 for test and 1 for validation leave none"),
        (LIST + "--mixed other.h5", "--mixed: it goes with --puzzles"),
        (LIST + "--neighbours", "--neighbours: it goes with --puzzles"),
        ("--generate 2", "--generate 2: "),
        (THREE + "--mixed few.h5", "--mixed: expected 30 examples, got 11"),
        (THREE + "--mixed no.h5", "no.h5"),
        (THREE + "--train_per_level 5", "--train_per_level: it goes with --clues or --generate"),
        ("--puzzles a,b", "a,b: expected three files, TRAIN,VALID,TEST"),
    ],
)
@pytest.mark.usefixtures("three")
def test_options_that_do_not_fit_are_named(clues, tmp_path, monkeypatch, capsys, options, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "two.txt").write_text("".join(clues.read_text().splitlines(True)[:2]))
    for name, number in (("other", "6"), ("few", "1")):  # examples of each of 18 levels
        assert prepare(clues, tmp_path / f"{name}.h5", "--train_per_level", number) == 0
    try:
        assert main(["sudoku", *options.split(), "--out", "s.h5"]) == 1
    except SystemExit as end:  # of the parser
        assert end.code == 2
    said = capsys.readouterr().err
    assert message in said and said.count("\n") == 1


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
