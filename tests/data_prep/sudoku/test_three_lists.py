"""A list for each split, taken as it is, with examples of another file mixed in."""

import numpy as np
import pytest

from rrn.data_prep.__main__ import main
from rrn.data_prep.sudoku import lists
from rrn.data_prep.sudoku.solver import search, solve
from tests.data_prep.helpers import contents
from tests.data_prep.sudoku.helpers import assert_solves, lines, prepare, transform

SPLITS = "train", "valid", "test"


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


def test_examples_are_the_puzzles_as_they_are(three, tmp_path, capsys):
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
    assert main(["check", str(tmp_path / "s.h5")]) == 0
    said = capsys.readouterr().out
    assert all(f"{split}.txt takes " in said for split in SPLITS)


def test_a_last_line_without_an_end_is_noted(three, tmp_path):
    paths, _ = three
    paths[1].write_text(paths[1].read_text().rstrip("\n"))
    assert prepare_three(paths, tmp_path / "s.h5") == 0
    _, attributes = contents(tmp_path / "s.h5")
    assert "The last line of valid.txt has no end: is a part lost?" in attributes["notes"]


def test_a_share_without_a_file_to_mix_in_is_refused(three, tmp_path, capsys):
    assert prepare_three(three[0], tmp_path / "s.h5", "--mixed_share", 0.3) == 1
    assert "--mixed_share 0.3: it goes with --mixed" in capsys.readouterr().err


@pytest.mark.parametrize("share", [None, 0.25, 0.5, 0.9])
def test_a_share_of_the_training_examples_is_of_another_file(three, clues, tmp_path, share):
    paths, puzzles = three
    # Of the clues' file, whose puzzles are these, only the training split may come in.
    assert prepare(clues, tmp_path / "other.h5", "--train_per_level", "40") == 0
    options = [] if share is None else ["--mixed_share", share]
    out = tmp_path / "s.h5"
    assert prepare_three(paths, out, "--mixed", tmp_path / "other.h5", *options) == 0
    datasets, attributes = contents(out)
    other, _ = contents(tmp_path / "other.h5")
    number = round(30 * (share or 0.5) / (1 - (share or 0.5)))
    assert len(datasets["train/puzzle"]) == 30 + number
    assert f"{number} training examples are from other.h5" in attributes["notes"]
    assert (np.diff(datasets["train/givens"].astype(int)) >= 0).all()
    mixed = datasets["train/pool_puzzle"] >= 30
    assert mixed.sum() == number
    theirs = {tuple(row) for row in np.hstack([other["train/puzzle"], other["train/solution"]])}
    found = np.hstack([datasets["train/puzzle"], datasets["train/solution"]])[mixed]
    assert len({tuple(row) for row in found} - theirs) == 0
    pool = {tuple(row) for row in datasets["train/pool"][30:]}
    held_back = {tuple(row) for some in puzzles[1:] for row in some}
    assert held_back & {tuple(row) for row in other["train/pool"]}
    assert not held_back & pool
    assert pool <= {tuple(row) for row in other["train/pool"]}
    for split, listed in zip(SPLITS[1:], puzzles[1:], strict=True):
        assert len(datasets[f"{split}/puzzle"]) == len(listed)
    assert main(["check", str(out)]) == 0


def test_a_puzzle_of_two_lists_is_named_even_turned(three, generated, tmp_path, capsys):
    paths, _ = three
    turned, _ = transform(generated[0][7], generated[1][7], np.random.default_rng(0))
    paths[2].write_text(lines(generated[0][40:43]) + lines([turned]))
    assert prepare_three(paths, tmp_path / "s.h5") == 1
    said = capsys.readouterr().err
    assert f"{paths[2]}, line 4: the puzzle of {paths[0]}, line 8, the same or turned" in said
    assert not (tmp_path / "s.h5").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--mixed_share", "1.0"], "--mixed_share 1.0: expected above 0 and below 1"),
        (["--train_per_level", "5"], "--train_per_level 5: it goes with --clues or --generate"),
        (["--mixed", "no.h5"], "no.h5"),
    ],
)
def test_options_that_do_not_fit_are_named(three, tmp_path, options, message, capsys):
    assert prepare_three(three[0], tmp_path / "s.h5", *options) == 1
    assert message in capsys.readouterr().err


def test_three_files_are_needed(three, tmp_path, capsys):
    assert prepare_three(three[0][:2], tmp_path / "s.h5") == 1
    assert "expected three files, TRAIN,VALID,TEST" in capsys.readouterr().err


def test_too_large_a_share_is_named(three, clues, tmp_path, capsys):
    assert prepare(clues, tmp_path / "other.h5") == 0  # 6 examples of each of 18 levels
    options = "--mixed", tmp_path / "other.h5", "--mixed_share", 0.9
    assert prepare_three(three[0], tmp_path / "s.h5", *options) == 1
    assert "--mixed_share 0.9: 270 of " in capsys.readouterr().err


def test_mixed_goes_with_puzzles(clues, tmp_path, capsys):
    assert prepare(clues, tmp_path / "s.h5", "--mixed", "other.h5") == 1
    assert "--mixed other.h5: it goes with --puzzles" in capsys.readouterr().err


def test_guesses_measure_the_search():
    solved, _ = solve(np.zeros([1, 81], np.uint8), max_solutions=1)
    one_blank = solved.copy()
    one_blank[0, 0] = 0
    # The hardest of a well-known list, and one that singles solve.
    hard = "8..........36......7..9.2...5...7.......457.....1...3...1....68..85...1..9....4.."
    easy = "53..7....6..195....98....6.8...6...34..8.3..17...2...6.6....28....419..5....8..79"
    boards = [[int(c) for c in text.replace(".", "0")] for text in (hard, easy)]
    _, counts, guesses = search(np.concatenate([one_blank, boards]))
    assert counts.tolist() == [1, 1, 1]
    assert guesses[0] == guesses[2] == 0 and guesses[1] > 10


def test_a_list_is_read_with_its_guesses(clues):
    puzzles, solutions, guesses = lists.read([clues])
    np.testing.assert_array_equal(guesses, search(puzzles.digits)[2])
    np.testing.assert_array_equal(solutions, solve(puzzles.digits)[0])
