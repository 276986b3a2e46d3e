"""Solving Sudoku: what is accepted, what is found."""

import numpy as np
import pytest
import tensorflow as tf

import rrn
from rrn.tasks.sudoku import solving
from rrn.tasks.sudoku.solving import Solver, is_solution, likeliest
from tests.compare import assert_close
from tests.tasks.sudoku.boards import GRID, puzzles, text

STEPS = 2


@pytest.fixture(scope="module")
def published():
    """The published weights; solvers of it make few steps."""
    return Solver(num_steps=16)


def test_puzzles_are_all_that_the_reader_takes(weights, tmp_path):
    digits, path = puzzles(2), tmp_path / "puzzles.txt"
    path.write_text("\n".join(map(text, digits)))
    expected = rrn.solve_sudoku(digits, weights, num_steps=1)
    for form in (digits.reshape(2, 9, 9).tolist(), [text(p, "0") for p in digits], path):
        found = rrn.solve_sudoku(form, weights, num_steps=1)
        np.testing.assert_array_equal(found.solutions, expected.solutions)


@pytest.mark.parametrize(
    ("puzzle", "fields", "message"),
    [
        ("." * 81, {"num_steps": 0}, "solve_sudoku: num_steps must be .* at least 1, got 0"),
        ("1", {}, "has 1 character"),
        ("." * 81, {"weights": "none.h5"}, r"none\.h5: no such file"),
    ],
)
def test_what_is_wrong_is_named(puzzle, fields, message):
    with pytest.raises(ValueError, match=message):
        rrn.solve_sudoku(puzzle, **fields)


def test_a_solution_has_every_digit_once_in_each_unit_and_keeps_the_givens():
    puzzle = puzzles(1)[0]
    swapped = GRID.copy()  # rows stay right, columns and boxes don't
    swapped[[0, 8]] = swapped[[8, 0]]
    permuted = GRID % 9 + 1  # a valid grid, but of other digits
    blank = GRID.copy()
    blank[40] = 0
    solutions = np.array([GRID, swapped, permuted, blank, GRID.reshape(9, 9).T.ravel()])
    assert is_solution(np.tile(puzzle, [5, 1]), solutions).tolist() == [True] + [False] * 4
    assert is_solution(np.zeros([5, 81]), solutions).tolist() == [True, False, True, False, True]


def test_the_answer_is_the_likeliest_digit_and_never_blank():
    beliefs = np.full([2, 81, 10], 0.01)
    beliefs[:, range(81), GRID] = 0.4
    beliefs[0, 0, 0] = 0.5
    beliefs[1, 5] = 0.1
    beliefs[1, 5, GRID[5] % 9 + 1] = 0.2
    solutions, confidence = likeliest(beliefs)
    np.testing.assert_array_equal(solutions[0], GRID)
    np.testing.assert_array_equal(confidence[0], 0.4)
    assert solutions[1, 5] == GRID[5] % 9 + 1 and confidence[1, 5] == 0.2


def test_batches_of_a_traced_function_give_what_one_batch_gives(weights, monkeypatch):
    """It is traced once, and of each puzzle its number of solutions is told."""
    two, none = puzzles(2, givens=0)
    none[[0, 10, 20]], none[27:81:9] = (1, 2, 3), (4, 5, 6, 7, 8, 9)  # no digit fits column 1
    digits = np.stack([*puzzles(3, givens=60), two, none])
    solver = Solver(weights, STEPS)
    expected = solver.solve(digits)
    assert expected.num_solutions.tolist() == [1, 1, 1, 2, 0]
    assert expected.solutions.shape == expected.confidence.shape == (5, 81)
    assert (expected.confidence > 0).all() and (expected.confidence < 1).all()
    np.testing.assert_array_equal(expected.valid, is_solution(digits, expected.solutions))
    monkeypatch.setattr(solving, "BATCH", 3)
    traced, real = [], solver.task.logits
    monkeypatch.setattr(
        solver.task, "logits", lambda *args: traced.append(tf.inside_function()) or real(*args)
    )
    for number in (5, 4):
        batches = solver.solve(digits[:number])
        assert len(batches) == number
        np.testing.assert_array_equal(batches.solutions, expected.solutions[:number])
        assert_close(batches.confidence, expected.confidence[:number])
    assert sum(traced) == 1


def test_a_solved_board_gives_its_slot_to_the_next_one(published, monkeypatch):
    """Easy boards among hard ones: as each board alone, in order, in less time."""
    random = np.random.default_rng(0)
    digits = np.zeros([6, 81], np.int32)
    for puzzle, size in zip(digits, (60, 18, 50, 65, 20, 55), strict=True):
        cells = random.choice(81, size, replace=False)
        puzzle[cells] = GRID[cells]
    alone = [published.solve(puzzle[None]) for puzzle in digits]
    monkeypatch.setattr(solving, "BATCH", 2)
    segments, real = [], published.segment
    monkeypatch.setattr(
        published, "_traced_segment", lambda *args: segments.append(1) or real(*args)
    )
    together = published.solve(digits)
    np.testing.assert_array_equal(together.valid, np.concatenate([s.valid for s in alone]))
    np.testing.assert_array_equal(together.solutions, np.concatenate([s.solutions for s in alone]))
    assert together.valid[[0, 2, 3, 5]].all()  # the easy ones
    assert len(segments) < 3 * 2  # three batches of all steps


def test_beliefs_are_the_tasks_probabilities_until_the_puzzle_is_solved(published):
    (puzzle,) = puzzles(1, givens=55)
    beliefs = published.beliefs(puzzle)
    assert beliefs.shape == (81, 8, 10)
    assert is_solution(puzzle[None], likeliest(beliefs[None, :, -1])[0])
    task = published.task
    logits = task.logits(task.encode({}), puzzle[None], 8)[0].numpy().astype(np.float64)
    assert_close(beliefs, (np.exp(logits) / np.exp(logits).sum(axis=-1, keepdims=True))[0])
    (blank,) = puzzles(1, givens=0)
    assert published.beliefs(blank).shape == (81, 16, 10)
