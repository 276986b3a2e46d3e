"""Solving Sudoku puzzles with trained weights.

The network's most likely digits are the answer, and whether they solve the puzzle is then checked.
Whether a puzzle has a solution, and only one, is found by the exact solver of `data_prep`, in a
thread beside the network.
"""

import contextlib
import functools
import math
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from rrn.compiling import xla
from rrn.data_prep.sudoku.reading import read_puzzles
from rrn.data_prep.sudoku.solver import IN_WORDS, count_solutions
from rrn.files.weights import assign_weights, model_variables
from rrn.files.weights_file import read_weights
from rrn.nn.checks import check_sizes
from rrn.nn.network import RecurrentState
from rrn.settings import create
from rrn.tasks.sudoku.application import NUM_STEPS
from rrn.tasks.sudoku.application.boards import (
    Boards,
    Solutions,
    add_guesses,
    draw_turns,
    is_solution,
    likeliest,
    turn_boards,
)
from rrn.tasks.sudoku.application.drawing import levels
from rrn.tasks.sudoku.marks import board_marks
from rrn.tasks.sudoku.report import SOLVED
from rrn.tasks.sudoku.settings import Model
from rrn.tasks.sudoku.task import SEGMENT_STEPS, Sudoku
from rrn.variables.reading import reading_scope

BATCH = 128  # boards at a time
MOST_SHOWN = 100  # steps on a page, which is below 100 KB then
COUNTED = 512  # puzzles whose solutions are counted at a time
# In an installed package, rrn/pretrained; in a checkout, pretrained beside rrn.
_FOLDERS = [folder / "pretrained" for folder in Path(__file__).resolve().parents[3:5]]
PRETRAINED = next(filter(Path.exists, _FOLDERS), _FOLDERS[-1]) / "sudoku.h5"


def solve_sudoku(
    puzzles: Any,
    weights: str | Path | None = None,
    num_steps: int = NUM_STEPS,
    tries: int = 1,
) -> Solutions:
    """Solves puzzles with a trained network.

    Args:
      puzzles: digits, 0 for a blank, as an array or nested lists `[81]`, `[9, 9]`, `[n, 81]` or
        `[n, 9, 9]`; strings in any form of `data_prep.sudoku.reading`, such as 81 characters with
        `.` for a blank; or the `Path` of a file of puzzles.
      weights: a run's weights.h5; the published ones if not given.
      num_steps: the network's steps.
      tries: how often a puzzle is tried that is not solved; see `Solver.solve`.

    Returns:
      The solutions, which may be invalid.

    Raises:
      ValueError: a puzzle is malformed or its givens contradict each other; num_steps or tries is
        below 1; no weights, or not of this model.
    """
    check_sizes("solve_sudoku", num_steps=num_steps, tries=tries)
    digits = read_puzzles(puzzles)
    return Solver(find_weights(weights), num_steps).solve(digits, tries)


def find_weights(weights: str | Path | None = None) -> str | Path:
    """Finds the weights to solve with.

    Args:
      weights: a weights file; None for the published `sudoku.h5`, which checkouts and wheels have.

    Returns:
      The file.

    Raises:
      ValueError: none is given, and the published file is not there.
    """
    if not weights and not PRETRAINED.exists():
        raise ValueError(
            f"no trained weights: there is no {PRETRAINED}; "
            "`python main.py --config configs/sudoku.py` trains some, or name a weights file"
        )
    return weights or PRETRAINED


# Solving


class Solver:
    """The Sudoku network of a weights file, in float32.

    Args:
      weights: a weights file; the paper's model is made where it does not say of which it is.
      num_steps: the network's steps.
      fields: fields of the model that are not to be the file's, such as `compute_dtype="bfloat16"`.

    Attributes:
      segment_steps: how many steps are made between looks at the digits.

    Raises:
      ValueError: no such file, or not of a Sudoku network.
    """

    def __init__(self, weights: str | Path, num_steps: int, **fields: Any):
        file = read_weights(weights)
        saved = {**file.attributes.get("model", {}), "compute_dtype": "float32", **fields}
        self.num_steps, self.task = num_steps, Sudoku(create(Model, saved, f"{weights}: model"))
        self.segment_steps = math.gcd(num_steps, SEGMENT_STEPS)
        self._guesses = self.task.config.nodes == "candidates"
        self._on_gpu = bool(tf.config.list_logical_devices("GPU"))
        traced = xla if self._on_gpu else functools.partial(tf.function, autograph=False)
        self._traced_segment = traced(self.segment)
        assign_weights(file, model_variables(self.task))

    def beliefs(self, puzzles: np.ndarray) -> tf.Tensor:
        """Computes the digits' probabilities at every step.

        Args:
          puzzles: digits `[n, 81]`, 0 for a blank.

        Returns:
          `[n, 81, steps, 10]`.
        """
        with reading_scope():
            logits, _ = self.task.logits(self.task.encode({}), puzzles, self.num_steps)
        return tf.nn.softmax(logits)

    def watch(
        self, puzzle: np.ndarray, turn: int = 0, wanted: Callable[[], bool] = lambda: True
    ) -> np.ndarray | None:
        """Computes the digits' probabilities at every step until the puzzle is solved.

        Args:
          puzzle: digits `[81]`, 0 for a blank.
          turn: 0, or which of its changed forms the network is given; see `solve`.
          wanted: asked before every few steps whether anybody waits.

        Returns:
          `[81, steps, 10]`, of the puzzle as it was given; None if nobody waited any longer.
        """
        cells, digits = draw_turns(np.array([0]), np.array([turn]))
        boards = turn_boards(puzzle[None], cells, digits)
        if self._guesses:
            boards = add_guesses(boards, np.array([0]), np.array([turn]))
        state, beliefs = self.task.initial_state(1), np.zeros([81, 0, 10], np.float32)
        while beliefs.shape[1] < self.num_steps:
            if not wanted():
                return None
            with reading_scope():
                encoded, steps = self.task.encode({}), self.segment_steps
                logits, state = self.task.logits(encoded, tf.constant(boards), steps, state)
            back = np.empty([81, steps, 10], np.float32)
            back[cells[0]] = tf.nn.softmax(logits).numpy()[0][:, :, digits[0]]
            beliefs = np.concatenate([beliefs, back], axis=1)
            if is_solution(puzzle[None], likeliest(beliefs[None, :, -1])[0])[0]:
                break
        return beliefs

    def show(
        self, puzzle: np.ndarray, turn: int = 0, wanted: Callable[[], bool] = lambda: True
    ) -> dict[str, Any] | None:
        """Shows on a page what the network makes of a puzzle.

        Args:
          puzzle, turn, wanted: see `watch`.

        Returns:
          What `page.html` reads: "title", "puzzle" (81 characters), "drawing" (`board_marks`), of
          every step "steps" (`levels`) and "notes" (of many steps, some evenly spaced), the last
          step's "solution" (81 digits), whether it is "solved" and "solvable", and what the exact
          solver "says".
          None; see `watch`.
        """
        beliefs = self.watch(puzzle, turn, wanted)
        if beliefs is None or not wanted():
            return None
        count = beliefs.shape[1]
        shown = np.linspace(0, count - 1, min(count, MOST_SHOWN)).round().astype(int)
        by_step = beliefs.swapaxes(0, 1)[shown]
        solutions, confidence = likeliest(by_step)
        solved = is_solution(puzzle[None], solutions)
        num_solutions = count_solutions(puzzle[None])[0]
        notes = [
            SOLVED if valid else f"Not solved: the least certain digit has {100 * p.min():.1f} %."
            for p, valid in zip(confidence, solved, strict=True)
        ]
        return {
            "title": f"{np.count_nonzero(puzzle)} givens",
            "puzzle": "".join(map(str, puzzle)).replace("0", "."),
            "drawing": board_marks(puzzle),
            "steps": [levels(puzzle, step) for step in by_step],
            "notes": notes,
            "solution": "".join(map(str, solutions[-1])),
            "solved": bool(solved[-1]),
            "solvable": bool(num_solutions),
            "says": f"The puzzle has {IN_WORDS[num_solutions]}.",
        }

    def solve(self, puzzles: np.ndarray, tries: int = 1) -> Solutions:
        """Solves puzzles.

        From the second try on a puzzle is turned and relabelled at random, and its solution turned
        back. That is the same puzzle, but not to the network over cells, which knows digits, rows
        and columns by their embeddings. It is the same to the network over candidates, so that one
        is also given a guess; see `add_guesses`. A solution can be checked, so a valid one is kept.

        Args:
          puzzles: digits `[n, 81]`, 0 for a blank.
          tries: how often a puzzle is tried that is not solved.

        Returns:
          The solutions; where none is valid, that of the first try.
        """
        found = Solutions.empty(len(puzzles))
        for indices, some in self.stream(puzzles, np.arange(len(puzzles)), tries):
            for name, values in vars(some).items():
                getattr(found, name)[indices] = values
        return found

    def stream(
        self, puzzles: np.ndarray, indices: np.ndarray, tries: int = 1
    ) -> Iterator[tuple[np.ndarray, Solutions]]:
        """Solves some of the puzzles, and yields them as they are done.

        A board is done when its digits solve it, or after all steps; then the next one takes its
        place. So most of the steps go to the boards that need them.

        Args:
          puzzles, tries: see `solve`.
          indices: which of the puzzles to solve.

        Yields:
          The indices of those that are done, and their solutions.
        """
        with _counting(puzzles, indices) as number_of:
            count = min(len(indices), BATCH)
            boards = Boards(puzzles, indices, count, tries, self._guesses)
            state = self.task.initial_state(len(boards.puzzles))
            # Of few puzzles, tracing would take longer than it saves. Of many, the first are found
            # before it.
            advance = self.segment
            later = self._traced_segment if len(indices) > BATCH else self.segment
            while boards.busy.any():
                if boards.few_are_left and not self._on_gpu:  # there shapes cannot change
                    kept = boards.drop_idle()
                    state = tf.nest.map_structure(lambda x, kept=kept: tf.gather(x, kept), state)
                    advance = later = self.segment
                beliefs, state = advance(tf.constant(boards.puzzles), state)
                advance = later
                boards.steps += self.segment_steps
                places, numbers, found = boards.take(beliefs.numpy(), self.num_steps)
                state = self._begin_anew(state, places)
                if len(numbers):
                    found.num_solutions[:] = [number_of(number) for number in numbers]
                    yield indices[numbers], found

    def segment(
        self, puzzles: tf.Tensor, state: RecurrentState
    ) -> tuple[tf.Tensor, RecurrentState | None]:
        """Makes the steps of a segment.

        Args:
          puzzles: digits `[n, 81]`, 0 for a blank.
          state: what the segment before returned; the task's `initial_state` for the first one.

        Returns:
          The digits' probabilities after the last step `[n, 81, 10]`, and the state then.
        """
        with reading_scope():
            encoded, steps = self.task.encode({}), self.segment_steps
            logits, after = self.task.logits(encoded, puzzles, steps, state)
        return tf.nn.softmax(logits[:, :, -1]), after

    def _begin_anew(self, state, places):
        """The state, where the boards of some places have made no step."""
        initial = self.task.initial_state(len(places))
        return tf.nest.map_structure(
            lambda x, zeros: tf.tensor_scatter_nd_update(x, places[:, None], zeros), state, initial
        )


@contextlib.contextmanager
def _counting(puzzles, indices):
    """A function from i to the number of solutions of puzzle indices[i], found in a thread."""
    pool = ThreadPoolExecutor(1)
    starts = range(0, len(indices), COUNTED)
    counts = [
        pool.submit(lambda part: count_solutions(puzzles[part]), indices[start : start + COUNTED])
        for start in starts
    ]
    try:
        yield lambda i: counts[i // COUNTED].result()[i % COUNTED]
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
