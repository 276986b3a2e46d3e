"""Solving Sudoku: what is accepted, what is found."""

import gzip

import numpy as np
import pytest
import tensorflow as tf
from rrn.tasks.sudoku.puzzles import check_puzzles, read_puzzles

from configs.sudoku import get_config
from rrn.tasks.sudoku import Solutions, solve_sudoku, solving
from rrn.tasks.sudoku.solving import (
    Solver,
    is_solution,
    solutions_from,
)
from tests.compare import assert_close
from tests.tasks.sudoku.boards import GRID, puzzles, text

STEPS = 2


# What is accepted


def test_puzzles_are_strings_or_digits():
    digits = puzzles(3)
    for form in (
        digits,
        digits.astype(np.uint8),
        digits.tolist(),
        [text(p) for p in digits],
        [text(p, "0") for p in digits],
    ):
        checked = check_puzzles(form, str)
        assert checked.dtype == np.int32
        np.testing.assert_array_equal(checked, digits)


@pytest.mark.parametrize("name", ["puzzles.txt", "puzzles.txt.gz"])
def test_a_file_has_a_puzzle_in_each_line(tmp_path, name):
    digits, path = puzzles(3), tmp_path / name
    data = "\r\n".join([text(digits[0]), text(digits[1], "0"), text(digits[2])]).encode()
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    np.testing.assert_array_equal(read_puzzles(str(path)), digits)


BLANK = "." * 81
WRONG = {
    "short": (["1" + BLANK[2:]], ["puzzle 1: '1.", "has 80 characters; expected 81"]),
    "character": ([BLANK, "..x.y" + BLANK[5:]], ["puzzle 2: character 3 is 'x'", "0 or . for"]),
    "other digit": (["." * 80 + "٣"], ["puzzle 1: character 81 is '٣'"]),
    "row": (["7......7." + BLANK[9:]], ["digit 7", "a row: row 1, column 1 and row 1, column 8"]),
    "column": (
        ["." * 9 + "..3" + "." * 51 + "..3" + "." * 15],
        ["digit 3", "a column: row 2, column 3 and row 8, column 3"],
    ),
    "box": (["." * 60 + "5" + "." * 10 + "5" + "." * 9], ["a box", "row 7, column 7 and row 8"]),
    "large": (
        [[*[0] * 10, 10, *[0] * 70]],
        ["row 2, column 2 holds 10; expected 0 to 9"],
    ),
    "negative": ([[-1] + [0] * 80], ["row 1, column 1 holds -1"]),
    "shape": (np.zeros([2, 9, 9], int), ["[n, 81]", "(2, 9, 9)"]),
    "type": (np.zeros([2, 81]), ["integers", "float64"]),
    "a string": (BLANK, ["expected a list of puzzles"]),
    "none": ([], ["expected a list of puzzles", "[]"]),
    "a number": (5, ["expected a list of puzzles", "got 5"]),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_with_a_puzzle_is_said_in_one_line(case):
    wrong, parts = WRONG[case]
    with pytest.raises(ValueError) as error:
        check_puzzles(wrong, "puzzle {}".format)
    message = str(error.value)
    assert all(part in message for part in parts), message
    assert "\n" not in message


@pytest.mark.parametrize("name", ["num_steps", "tries"])
def test_numbers_below_one_are_named(name):
    with pytest.raises(ValueError, match=f"solve_sudoku: {name} must be .* at least 1, got 0"):
        solve_sudoku(BLANK, **{name: 0})


@pytest.mark.parametrize(
    ("name", "data", "parts"),
    [
        ("{p}.txt", f"{BLANK}\n{BLANK[1:]}\n".encode(), ["line 2", "80 characters"]),
        ("p.txt", f"{BLANK}\n\n{BLANK}".encode(), ["line 2: '' has 0 characters"]),
        ("p.txt", b"\xff" * 81, ["line 1", "character 1"]),
        ("p.txt", f"{BLANK}\n11{BLANK[2:]}".encode(), ["line 2", "the digit 1 is twice in a row"]),
        ("p.txt", b"", ["empty"]),
        ("p.txt.gz", gzip.compress(BLANK.encode(), mtime=0)[:-9], ["not a whole .gz file"]),
        ("p.txt.gz", BLANK.encode(), ["not a whole .gz file"]),
    ],
)
def test_a_wrong_file_is_named_with_its_line(tmp_path, name, data, parts):
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(ValueError) as error:
        read_puzzles(str(path))
    assert all(part in str(error.value) for part in [str(path), *parts]), error.value


def test_what_is_neither_a_puzzle_nor_a_file_is_an_error():
    with pytest.raises(ValueError, match=r"PUZZLE: 'none\.txt' has 8 characters.*no file"):
        read_puzzles("none.txt")


# What is found


def test_a_solution_has_every_digit_once_in_each_unit_and_keeps_the_givens():
    puzzle = puzzles(1)[0]
    swapped = GRID.copy()  # rows stay right, columns and boxes don't
    swapped[[0, 8]] = swapped[[8, 0]]
    relabelled = GRID % 9 + 1  # a valid grid, but of other digits
    blank = GRID.copy()
    blank[40] = 0
    solutions = np.array([GRID, swapped, relabelled, blank, GRID.reshape(9, 9).T.ravel()])
    assert is_solution(np.tile(puzzle, [5, 1]), solutions).tolist() == [True] + [False] * 4
    assert is_solution(np.zeros([5, 81]), solutions).tolist() == [True, False, True, False, True]


def test_the_answer_is_the_likeliest_digit_and_never_blank():
    beliefs = np.full([2, 81, 10], 0.01)
    beliefs[:, range(81), GRID] = 0.4
    beliefs[0, 0, 0] = 0.5
    beliefs[1, 5] = 0.1
    beliefs[1, 5, GRID[5] % 9 + 1] = 0.2
    found = solutions_from(puzzles(2, givens=0), beliefs)
    np.testing.assert_array_equal(found.solutions[0], GRID)
    np.testing.assert_array_equal(found.confidence[0], 0.4)
    assert found.solutions[1, 5] == GRID[5] % 9 + 1 and found.confidence[1, 5] == 0.2
    assert found.valid.tolist() == [True, False]


def test_batches_of_a_traced_function_give_what_one_batch_gives(weights, monkeypatch):
    digits = puzzles(5)
    expected = solve_sudoku(digits, weights, num_steps=STEPS)
    assert isinstance(expected, Solutions) and len(expected) == 5
    assert expected.solutions.shape == expected.confidence.shape == (5, 81)
    assert expected.solutions.min() >= 1 and expected.solutions.max() <= 9
    assert (expected.confidence > 0).all() and (expected.confidence < 1).all()
    np.testing.assert_array_equal(expected.valid, is_solution(digits, expected.solutions))
    monkeypatch.setattr(solving, "BATCH", 3)
    batches = solve_sudoku([text(p) for p in digits], weights, num_steps=STEPS)
    np.testing.assert_array_equal(batches.solutions, expected.solutions)
    assert_close(batches.confidence, expected.confidence)
    alone = solve_sudoku(text(digits[2]), weights, num_steps=STEPS)  # a string is one puzzle
    assert len(alone) == 1
    np.testing.assert_array_equal(alone.solutions[0], expected.solutions[2])


def test_a_solved_board_gives_its_place_to_the_next_one(monkeypatch):
    """With published weights and easy boards among hard ones: as each board alone, in less time."""
    random = np.random.default_rng(0)
    kept = [np.sort(random.choice(81, size, replace=False)) for size in (60, 18, 50, 65, 20, 55)]
    digits = np.zeros([6, 81], np.int32)
    for puzzle, cells in zip(digits, kept, strict=True):
        puzzle[cells] = GRID[cells]
    monkeypatch.setattr(solving, "SEGMENT_STEPS", 4)
    segments, real = [], Solver._segment
    monkeypatch.setattr(Solver, "_segment", lambda *args: segments.append(1) or real(*args))
    monkeypatch.setattr(tf, "function", lambda function: function)  # to count every segment
    solver = Solver(solving.PAPER_MODEL, solving.PRETRAINED, 16)
    alone = [solver.solve(puzzle[None]) for puzzle in digits]
    monkeypatch.setattr(solving, "BATCH", 2)
    segments.clear()
    together = solver.solve(digits)
    np.testing.assert_array_equal(together.valid, np.concatenate([s.valid for s in alone]))
    np.testing.assert_array_equal(together.solutions, np.concatenate([s.solutions for s in alone]))
    assert together.valid[[0, 2, 3, 5]].all()  # the easy ones
    assert len(segments) < 3 * 4  # three batches of all steps


def test_a_solver_traces_once(weights, monkeypatch):
    """Tracing takes seconds, which later calls need not spend."""
    monkeypatch.setattr(solving, "BATCH", 4)
    solver, digits = Solver(get_config().model, weights, STEPS), puzzles(10)
    calls, real = [], solver.task.logits
    monkeypatch.setattr(solver.task, "logits", lambda *args: calls.append(1) or real(*args))
    first, again = solver.solve(digits), solver.solve(digits[:7])
    assert len(calls) == 1
    np.testing.assert_array_equal(again.solutions, first.solutions[:7])


def test_a_puzzle_that_is_not_solved_is_tried_again_turned_and_relabelled():
    """With published weights and few steps, so that the first try solves some boards alone."""
    digits = puzzles(60, givens=36)
    solver = Solver(solving.PAPER_MODEL, solving.PRETRAINED, 8)
    once, often = solver.solve(digits), solver.solve(digits, tries=4)
    assert once.valid.sum() < often.valid.sum()
    np.testing.assert_array_equal(often.valid, is_solution(digits, often.solutions))
    assert (often.confidence[often.valid & ~once.valid].min(axis=1) > 0.1).all()
    kept = once.valid | ~often.valid  # solved at first, or never
    np.testing.assert_array_equal(often.solutions[kept], once.solutions[kept])
    np.testing.assert_array_equal(often.confidence[kept], once.confidence[kept])


def test_beliefs_are_the_tasks_probabilities_of_every_step(weights):
    solver, digits = Solver(get_config().model, weights, STEPS), puzzles(2)
    task = solver.task
    logits, _ = task.logits(task.encode({}), tf.constant(digits), STEPS)
    logits = logits.numpy().astype(np.float64)
    probabilities = np.exp(logits) / np.exp(logits).sum(axis=-1, keepdims=True)
    assert_close(solver.beliefs(digits), probabilities)


def test_weights_are_those_given_or_the_published_ones(weights, tmp_path, monkeypatch):
    monkeypatch.setattr(solving, "PRETRAINED", tmp_path / "pretrained.h5")
    with pytest.raises(ValueError, match=r"no trained weights.*pretrained\.h5.*main\.py"):
        solve_sudoku(puzzles(1))
    with pytest.raises(ValueError, match=r"none\.h5: no such file"):
        solve_sudoku(puzzles(1), "none.h5")
    (tmp_path / "pretrained.h5").write_bytes(weights.read_bytes())
    assert solve_sudoku(puzzles(1), num_steps=1).solutions.shape == (1, 81)
    assert solving.find_weights("given") == "given"
