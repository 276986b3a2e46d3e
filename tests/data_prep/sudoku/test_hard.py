"""Hard puzzles are found by local search: with one solution, hard in any turn, the same by seed."""

import numpy as np
import pytest

from rrn.data_prep.__main__ import main
from rrn.data_prep.sudoku import hard
from rrn.data_prep.sudoku.generator import blank_cells
from rrn.data_prep.sudoku.solver import search, solve
from rrn.data_prep.sudoku.symmetry import fingerprints, grid_fingerprints, turned
from tests.data_prep.helpers import contents
from tests.data_prep.sudoku.helpers import assert_solves, transform

LEVEL = 2  # guesses; some 50 generations


@pytest.fixture(scope="module")
def families():
    return list(hard.hard_families([20, 15], seed=1, level=LEVEL))


def test_families(families):
    assert [len(puzzles) for puzzles, _ in families] == [20, 15]
    rng = np.random.default_rng(0)
    for puzzles, solutions in families:
        found, counts = solve(puzzles)
        assert (counts == 1).all() and puzzles.dtype == np.uint8
        np.testing.assert_array_equal(found, solutions)
        assert_solves(solutions, puzzles)
        assert len(np.unique(fingerprints(puzzles, solutions))) == len(puzzles)
        # Turned anew, as they were never measured.
        turns = [np.log1p(search(turned(puzzles, rng))[2]) for _ in range(8)]
        assert np.median(np.mean(turns, 0)) > np.log1p(0.8 * LEVEL)


def test_random_puzzles_are_easier():
    rng = np.random.default_rng(0)
    solutions, _ = solve(np.zeros((40, 81), np.uint8), max_solutions=1, rng=rng)
    puzzles = blank_cells(solutions, 17, rng)
    turns = [np.log1p(search(turned(puzzles, rng))[2]) for _ in range(8)]
    assert np.median(np.mean(turns, 0)) < np.log1p(0.6 * LEVEL)


@pytest.mark.parametrize("cores", [1, 2])
def test_the_number_of_processes_changes_nothing(families, monkeypatch, cores):
    monkeypatch.setattr(hard, "_cores", lambda: cores)
    again = list(hard.hard_families([20, 15], seed=1, level=LEVEL))
    for one, other in zip(families, again, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_family_that_does_not_get_there_begins_anew(monkeypatch):
    monkeypatch.setattr(hard, "PATIENCE", 2)
    assert hard._evolve(5, np.log1p(1000), np.random.default_rng(0)) is None


def test_splits_are_apart(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(hard, "LEVEL", LEVEL)
    options = ["--generate", "60", "--hard", "--valid_pool", "10", "--test_pool", "20"]
    assert main(["sudoku", *options, "--out", str(tmp_path / "s.h5")]) == 0
    said = capsys.readouterr().out
    assert all(f"{n} puzzles, takes " in said for n in ("train, 30", "valid, 10", "test, 20"))
    datasets, attributes = contents(tmp_path / "s.h5")
    assert attributes["source"] == "generated" and "local search" in attributes["notes"]
    kinds, grids = [], []
    for split, number in (("train", 30), ("valid", 10), ("test", 20)):
        puzzles, solutions = datasets[f"{split}/puzzle"], datasets[f"{split}/solution"]
        assert len(puzzles) == len(datasets[f"{split}/pool"]) == number
        kinds.append(set(fingerprints(puzzles, solutions)))
        grids.append(set(grid_fingerprints(solutions)))
    for own in kinds, grids:
        assert len(set.union(*own)) == sum(map(len, own))
    assert main(["check", str(tmp_path / "s.h5")]) == 0


def test_a_grid_in_two_splits_is_an_error(monkeypatch, tmp_path, capsys):
    one = next(hard.hard_families([20], seed=0, level=1))
    monkeypatch.setattr(hard, "hard_families", lambda sizes, *_: [one for _ in sizes])
    assert main(["sudoku", "--generate", "60", "--hard", "--out", str(tmp_path / "s.h5")]) == 1
    assert "solution grids are in two splits; take another --seed" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--clues", "x.txt"], "--hard: it goes with --generate"),
        (["--generate", "10", "--test_per_level", "3"], "--test_per_level 3: it goes with"),
        (["--generate", "10", "--mixed", "x.h5"], "--mixed x.h5: it goes with --puzzles"),
    ],
)
def test_options_that_do_not_fit_are_named(options, message, tmp_path, capsys):
    assert main(["sudoku", "--hard", *options, "--out", str(tmp_path / "s.h5")]) == 1
    assert message in capsys.readouterr().err


def test_turned_puzzles_and_grids_are_equivalent(generated):
    puzzles, solutions = generated
    rng = np.random.default_rng(0)
    others = turned(puzzles, rng)
    assert (others != puzzles).any(axis=1).all()
    found, counts = solve(others)
    assert (counts == 1).all()
    np.testing.assert_array_equal(fingerprints(others, found), fingerprints(puzzles, solutions))
    grids = grid_fingerprints(solutions)
    assert len(np.unique(grids)) == len(grids)
    np.testing.assert_array_equal(grid_fingerprints(found), grids)
    _, also = transform(puzzles[3], solutions[3], rng)
    assert grid_fingerprints(also[None])[0] == grids[3]
