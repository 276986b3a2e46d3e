"""Solving Sudokus with trained weights.

The network's likeliest digits are the answer, and whether they solve the puzzle is then checked.
Whether a puzzle has a solution, and only one, is found by the exact solver of `rrn.data_prep`.
"""

import dataclasses
import functools
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from rrn.compiling import xla
from rrn.data_prep.sudoku.puzzles import UNITS
from rrn.data_prep.sudoku.reading import read_puzzles
from rrn.data_prep.sudoku.solver import IN_WORDS, count_solutions
from rrn.files.weights import assign_weights, model_variables, read_weights
from rrn.nn.checks import check_sizes
from rrn.nn.network import RecurrentState
from rrn.settings import create
from rrn.tasks.sudoku.network import Model
from rrn.tasks.sudoku.task import Sudoku
from rrn.variables.reading import reading_scope

NUM_STEPS = 64
SEGMENT_STEPS = 8  # at most, between checks of the digits
BATCH = 128  # boards at a time
# In an installed package, rrn/pretrained; in a checkout, pretrained beside rrn.
_FOLDERS = [folder / "pretrained" for folder in Path(__file__).resolve().parents[2:4]]
PRETRAINED = next(filter(Path.exists, _FOLDERS), _FOLDERS[-1]) / "sudoku.h5"


@dataclasses.dataclass(frozen=True)
class Solutions:
    """What the network makes of n puzzles; its length is n.

    Attributes:
      solutions: digits 1 to 9, `[n, 81]`.
      confidence: each digit's probability, `[n, 81]`.
      valid: whether a solution solves its puzzle, `[n]`: the givens are kept, and every digit is
        once in every row, column and box.
      num_solutions: how many solutions the puzzle has, `[n]`: 0, 1, or 2 for any number above 1; -1
        where the search was given up.
    """

    solutions: np.ndarray
    confidence: np.ndarray
    valid: np.ndarray
    num_solutions: np.ndarray

    def __len__(self) -> int:
        return len(self.solutions)


def solve_sudoku(
    puzzles: Any, weights: str | Path | None = None, num_steps: int = NUM_STEPS
) -> Solutions:
    """Solves puzzles with a trained network.

    Args:
      puzzles: digits, 0 for a blank, as an array or nested lists `[81]`, `[9, 9]`, `[n, 81]` or
        `[n, 9, 9]`; strings of 81 characters, with `.` or 0 for a blank; or the `Path` of a file of
        puzzles.
      weights: a run's weights.h5; the published ones if not given.
      num_steps: the most steps of the network; a board that is solved makes no more.

    Returns:
      The solutions, which may be invalid.

    Raises:
      ValueError: a puzzle is malformed or its givens contradict each other; num_steps is below 1;
        the weights are no Sudoku network's.
    """
    return Solver(weights, num_steps).solve(read_puzzles(puzzles))


def is_solution(puzzles: np.ndarray, solutions: np.ndarray) -> np.ndarray:
    """Checks that solutions `[n, 81]` hold every digit once in every unit, and the givens."""
    complete = (np.sort(solutions[:, UNITS], axis=2) == np.arange(1, 10)).all(axis=(1, 2))
    return complete & ((puzzles == 0) | (puzzles == solutions)).all(axis=1)


def likeliest(beliefs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Takes the likeliest digit 1 to 9 of every cell, by probabilities `[n, 81, 10]`.

    Returns:
      (digits, their probabilities), `[n, 81]` each.
    """
    digits = beliefs[..., 1:].argmax(axis=-1) + 1
    confidence = np.take_along_axis(beliefs, digits[..., None], axis=-1)[..., 0]
    return digits.astype(np.uint8), confidence


def verdict(valid: bool, num_solutions: int) -> str:
    """Says in words whether a solution is valid, and how many solutions its puzzle has."""
    wrong = "invalid: a digit is twice in a row, column or box, or a given is not kept"
    return f"{'valid' if valid else wrong}; the puzzle has {IN_WORDS[num_solutions]}"


class Solver:
    """The Sudoku network of a weights file, in float32.

    Args:
      weights: a weights file; None for the published `sudoku.h5`. The paper's model is created
        where the file does not say of which model it is.
      num_steps: the most steps of the network.
      fields: fields of the model that override the file's, such as `compute_dtype="bfloat16"`.

    Attributes:
      segment_steps: the number of steps between checks of the digits.

    Raises:
      ValueError: num_steps is below 1; no such file, or not of a Sudoku network.
    """

    def __init__(
        self, weights: str | Path | None = None, num_steps: int = NUM_STEPS, **fields: Any
    ):
        check_sizes("solve_sudoku", num_steps=num_steps)
        weights = weights or PRETRAINED
        file = read_weights(weights)
        if (name := file.attributes.get("task", "sudoku")) != "sudoku":
            raise ValueError(f"{weights}: expected weights of the task sudoku, got {name}")
        saved = {**file.attributes.get("model", {}), "compute_dtype": "float32", **fields}
        self.task = Sudoku(create(Model, saved, f"{weights}: model"))
        assign_weights(file, model_variables(self.task))
        self.num_steps, self.segment_steps = num_steps, math.gcd(num_steps, SEGMENT_STEPS)
        self._on_gpu = bool(tf.config.list_logical_devices("GPU"))
        traced = xla if self._on_gpu else functools.partial(tf.function, autograph=False)
        self._traced_segment = traced(self.segment)

    def segment(
        self, puzzles: np.ndarray | tf.Tensor, state: RecurrentState
    ) -> tuple[tf.Tensor, RecurrentState]:
        """Makes the next `segment_steps` steps on boards, int32 `[n, 81]`.

        Args:
          state: what the segment before returned; the task's `initial_state` for the first one.

        Returns:
          The digits' probabilities `[n, 81, segment_steps, 10]`, and the state after these steps.
        """
        with reading_scope():
            encoded = self.task.encode({})
            logits, after = self.task.logits(encoded, puzzles, self.segment_steps, state)
        assert after is not None
        return tf.nn.softmax(logits), after

    def beliefs(self, puzzle: np.ndarray) -> np.ndarray:
        """Computes the digits' probabilities `[81, steps, 10]` until a puzzle `[81]` is solved."""
        puzzles, state, parts = puzzle[None].astype(np.int32), self.task.initial_state(1), []
        for _ in range(self.num_steps // self.segment_steps):
            beliefs, state = self.segment(puzzles, state)
            parts.append(beliefs[0].numpy())
            if is_solution(puzzles, likeliest(parts[-1][None, :, -1])[0])[0]:
                break
        return np.concatenate(parts, axis=1)

    def solve(self, puzzles: np.ndarray) -> Solutions:
        """Solves puzzles `[n, 81]`."""
        parts = [vars(found).values() for found in self.stream(puzzles)]
        return Solutions(*(np.concatenate(values) for values in zip(*parts, strict=True)))

    def stream(self, puzzles: np.ndarray) -> Iterator[Solutions]:
        """Solves puzzles `[n, 81]`, and yields their solutions in order, some at a time.

        A board leaves the batch when its digits solve it, or after all steps; then the next puzzle
        takes its slot. So most of the steps go to the boards that need them.
        """
        following = min(len(puzzles), BATCH)  # the next puzzle
        numbers = np.arange(following)  # of each slot, which puzzle is there; -1 for none
        steps = np.zeros(following, int)
        state, left, yielded = self.task.initial_state(following), {}, 0
        # Of few puzzles, tracing takes longer than it saves.
        advance = self._traced_segment if len(puzzles) > BATCH else self.segment
        while yielded < len(puzzles):
            boards = puzzles[numbers]
            beliefs, state = advance(tf.constant(boards, tf.int32), state)
            digits, confidence = likeliest(beliefs[:, :, -1].numpy())
            valid = is_solution(boards, digits)
            steps += self.segment_steps
            leaving = np.flatnonzero((numbers >= 0) & (valid | (steps >= self.num_steps)))
            for slot in leaving:
                left[numbers[slot]] = digits[slot], confidence[slot], valid[slot]
            fresh = np.arange(following, min(following + len(leaving), len(puzzles)))
            following += len(fresh)
            numbers[leaving], steps[leaving] = -1, 0
            numbers[leaving[: len(fresh)]] = fresh
            hidden, cell, started = state
            state = RecurrentState(hidden, cell, started & (steps > 0)[:, None])
            busy = np.flatnonzero(numbers >= 0)
            if 4 * len(busy) <= len(numbers) and not self._on_gpu:  # XLA's shapes stay
                numbers, steps, advance = numbers[busy], steps[busy], self.segment
                state = tf.nest.map_structure(lambda x, busy=busy: tf.gather(x, busy), state)
            ready = []
            while yielded in left:
                ready.append(left.pop(yielded))
                yielded += 1
            if ready:
                counts = count_solutions(puzzles[yielded - len(ready) : yielded])
                digits, confidence, valid = map(np.stack, zip(*ready, strict=True))
                yield Solutions(digits, confidence, valid, counts)
