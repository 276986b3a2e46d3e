"""Solving Sudoku: what is accepted, what is found."""

import numpy as np
import pytest
import tensorflow as tf

from rrn.data_prep.sudoku.puzzles import repeats_digit
from rrn.tasks.sudoku import Solutions, solve_sudoku
from rrn.tasks.sudoku.application import solving
from rrn.tasks.sudoku.application.boards import (
    add_guesses,
    draw_turns,
    is_solution,
    likeliest,
    turn_boards,
)
from rrn.tasks.sudoku.application.solving import Solver
from tests.compare import assert_close
from tests.tasks.sudoku.boards import GRID, puzzles, text

STEPS = 2


# What is accepted


def test_puzzles_are_all_that_the_reader_takes(weights, tmp_path):
    digits, path = puzzles(2), tmp_path / "puzzles.txt"
    path.write_text("\n".join(map(text, digits)))
    expected = solve_sudoku(digits, weights, num_steps=1)
    for form in (digits.reshape(2, 9, 9).tolist(), [text(p, "0") for p in digits], path):
        found = solve_sudoku(form, weights, num_steps=1)
        np.testing.assert_array_equal(found.solutions, expected.solutions)
    with pytest.raises(ValueError, match="line 2: '1' has 1 characters;"):
        solve_sudoku([text(digits[0]), "1"], weights)


@pytest.mark.parametrize("name", ["num_steps", "tries"])
def test_numbers_below_one_are_named(name):
    with pytest.raises(ValueError, match=f"solve_sudoku: {name} must be .* at least 1, got 0"):
        solve_sudoku("." * 81, **{name: 0})


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
    solutions, confidence = likeliest(beliefs)
    np.testing.assert_array_equal(solutions[0], GRID)
    np.testing.assert_array_equal(confidence[0], 0.4)
    assert solutions[1, 5] == GRID[5] % 9 + 1 and confidence[1, 5] == 0.2
    assert is_solution(puzzles(2, givens=0), solutions).tolist() == [True, False]


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
    segments, real = [], Solver.segment
    monkeypatch.setattr(Solver, "segment", lambda *args: segments.append(1) or real(*args))
    monkeypatch.setattr(tf, "function", lambda function, **_: function)  # to count every segment
    solver = Solver(solving.PRETRAINED, 16)
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
    solver, digits = Solver(weights, STEPS), puzzles(10)
    traced, real = [], solver.task.logits
    monkeypatch.setattr(
        solver.task, "logits", lambda *args: traced.append(tf.inside_function()) or real(*args)
    )
    first, again = solver.solve(digits), solver.solve(digits[:7])
    assert sum(traced) == 1 and not traced[0]  # the first results are there before it
    np.testing.assert_array_equal(again.solutions, first.solutions[:7])


@pytest.mark.parametrize("name", ["sudoku.h5", "sudoku_candidates.h5"])
def test_a_puzzle_that_is_not_solved_is_tried_again_turned_or_with_a_guess(name):
    """With published weights and few steps, so that the first try solves some boards alone."""
    digits = puzzles(60, givens=36)
    solver = Solver(solving.PRETRAINED.with_name(name), 8)
    once, often = solver.solve(digits), solver.solve(digits, tries=4)
    assert once.valid.sum() < often.valid.sum()
    np.testing.assert_array_equal(often.valid, is_solution(digits, often.solutions))
    assert (often.confidence[often.valid & ~once.valid].min(axis=1) > 0.1).all()
    kept = once.valid | ~often.valid  # solved at first, or never
    np.testing.assert_array_equal(often.solutions[kept], once.solutions[kept])
    np.testing.assert_array_equal(often.confidence[kept], once.confidence[kept])


def test_a_guess_is_one_digit_that_its_units_do_not_have():
    boards, numbers = puzzles(8), np.arange(8)
    assert add_guesses(boards, numbers, np.zeros(8, int)) is boards
    guessed = [add_guesses(boards, numbers, np.full(8, turn)) for turn in (1, 2, 3)]
    for again in guessed:
        changed = boards != again
        np.testing.assert_array_equal(changed.sum(axis=1), 1)
        assert not boards[changed].any() and not repeats_digit(again).any()
    assert len({again.tobytes() for again in guessed}) == 3
    some = np.array([5, 2])
    alone = add_guesses(boards[some], numbers[some], np.full(2, 1))
    np.testing.assert_array_equal(alone, guessed[0][some])


def test_a_board_without_a_digit_that_fits_gets_no_guess():
    stuck = GRID.astype(np.int32)
    stuck[:2] = 0, GRID[0]  # the row has it, and the column the digit that was there
    boards = np.stack([GRID.astype(np.int32), stuck])
    guessed = add_guesses(boards, np.arange(2), np.ones(2, int))
    np.testing.assert_array_equal(guessed, boards)


def test_how_many_solutions_a_puzzle_has_is_told(weights, monkeypatch):
    """Two rows of a band that are exchanged in two cells of the same two boxes: two solutions."""
    monkeypatch.setattr(solving, "COUNTED", 2)
    one, two, none = GRID.copy(), puzzles(1, givens=0)[0], puzzles(1, givens=0)[0]
    one[:3] = 0
    none[[0, 10, 20]], none[27:81:9] = (1, 2, 3), (4, 5, 6, 7, 8, 9)  # no digit fits column 1
    found = solve_sudoku([one, two, none, one, two], weights, num_steps=1)
    assert found.num_solutions.tolist() == [1, 2, 0, 1, 2]


def test_puzzles_are_found_in_any_order_with_their_indices(weights):
    solver, digits = Solver(weights, STEPS), puzzles(6)
    expected = solver.solve(digits)
    indices = np.array([1, 2, 5])
    ((done, found),) = solver.stream(digits, indices)
    np.testing.assert_array_equal(done, indices)
    np.testing.assert_array_equal(found.solutions, expected.solutions[indices])


def test_a_turn_depends_on_the_puzzle_and_the_try_alone():
    digits = puzzles(3)
    numbers, tries = np.array([0, 1, 2]), np.array([0, 1, 2])
    cells, names = draw_turns(numbers, tries)
    turned = turn_boards(digits, cells, names)
    np.testing.assert_array_equal(turned[0], digits[0])
    assert (turned[1:] != digits[1:]).any(axis=1).all()
    alone = [a[0] for a in draw_turns(numbers[2:], tries[2:])]
    np.testing.assert_array_equal(alone[0], cells[2])
    np.testing.assert_array_equal(alone[1], names[2])
    # What is turned is the same puzzle: the solution turns with it.
    assert is_solution(turned, turn_boards(np.tile(GRID, [3, 1]), cells, names)).all()


def test_a_puzzle_is_watched_until_it_is_solved():
    """With published weights: the same steps as all at once, and those of the turned puzzle."""
    solver = Solver(solving.PRETRAINED, 32)
    (puzzle,) = puzzles(1, givens=45)
    beliefs = solver.watch(puzzle)
    steps = beliefs.shape[1]
    assert steps in (8, 16, 24)
    assert is_solution(puzzle[None], likeliest(beliefs[None, :, -1])[0])
    assert_close(beliefs, solver.beliefs(puzzle[None])[0, :, :steps].numpy())
    turned = solver.watch(puzzle, turn=3)
    assert turned.shape[1] < 32 and np.abs(turned[:, 0] - beliefs[:, 0]).max() > 1e-3
    np.testing.assert_array_equal(likeliest(turned[None, :, -1])[0][0], GRID)
    (blank,) = puzzles(1, givens=0)  # it takes more steps
    assert solver.watch(blank, wanted=iter([True, False]).__next__) is None


def test_beliefs_are_the_tasks_probabilities_of_every_step(weights):
    solver, digits = Solver(weights, STEPS), puzzles(2)
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
