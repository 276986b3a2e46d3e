"""Solving Sudoku puzzles with trained weights.

The network's most likely digits are the answer, and whether they solve the puzzle is then checked.
What is not checked is whether a puzzle has a solution, and only one.
"""

import functools
import math
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import tensorflow as tf
from ml_collections import ConfigDict

from data_prep.sudoku.puzzles import (
    KINDS,
    UNITS,
    PuzzleError,
    parse_puzzles,
    read_lines,
    repeats_digit,
)
from rrn.reading import reading_scope
from rrn.tasks.sudoku.task import Sudoku
from rrn.weights import load_weights, model_variables

BATCH = 128  # puzzles at a time
SEGMENT_STEPS = 8  # at most; after so many it is looked which boards are solved
NUM_STEPS = 64  # of the network
PRETRAINED = Path(__file__).resolve().parents[3] / "pretrained" / "sudoku.h5"
PAPER_MODEL = ConfigDict(
    {"embedding_size": 16, "hidden_size": 96, "compute_dtype": "float32", "recompute": False}
)


class Solutions(NamedTuple):
    """What the network makes of n puzzles.

    Attributes:
      solutions: digits 1 to 9, `[n, 81]`.
      confidence: each digit's probability, `[n, 81]`.
      valid: whether a solution solves its puzzle, `[n]`: the givens are kept, and every digit is
        once in every row, column and box.
    """

    solutions: np.ndarray
    confidence: np.ndarray
    valid: np.ndarray


def solve_sudoku(
    puzzles: Sequence[str] | np.ndarray,
    weights: str | Path | None = None,
    num_steps: int = NUM_STEPS,
) -> Solutions:
    """Solves puzzles with a trained network of the paper's size.

    Args:
      puzzles: strings of 81 characters, row by row, `.` or `0` for a blank; or digits `[n, 81]`, 0
        for a blank.
      weights: a run's weights.h5; `pretrained/sudoku.h5` if not given.
      num_steps: the network's steps.

    Returns:
      The solutions, which may be invalid.

    Raises:
      ValueError: a puzzle is malformed or its givens contradict each other; no weights, or not of
        this model.
    """
    digits = check_puzzles(puzzles, "puzzle {}".format)
    return Solver(PAPER_MODEL, find_weights(weights), num_steps).solve(digits)


def find_weights(weights: str | Path | None = None) -> str | Path:
    """Returns `weights` if given, else `pretrained/sudoku.h5`, which only a checkout has.

    Raises:
      ValueError: none are given, and it is not there.
    """
    if not weights and not PRETRAINED.exists():
        raise ValueError(
            f"no trained weights: there is no {PRETRAINED}; "
            "`python main.py --config configs/sudoku.py` trains some, or name a weights file"
        )
    return weights or PRETRAINED


# Puzzles


def read_puzzles(puzzle: str) -> np.ndarray:
    """Reads one puzzle, or a file of puzzles.

    Args:
      puzzle: 81 characters; or the name of a file, plain or .gz, with as many on each line.

    Returns:
      Digits `[n, 81]`, int32.

    Raises:
      ValueError: what is wrong, and where.
    """
    if not os.path.isfile(puzzle):
        try:
            return check_puzzles([puzzle], lambda number: "PUZZLE")
        except ValueError as error:
            raise ValueError(f"{error} (there is no file of that name)") from None
    return check_puzzles(read_lines(Path(puzzle)), lambda number: f"{puzzle}, line {number}")


def check_puzzles(puzzles: Sequence[str] | np.ndarray, name: Callable[[int], str]) -> np.ndarray:
    """Reads puzzles from strings or digits, and checks them.

    Args:
      puzzles: as of `solve_sudoku`.
      name: what an error calls the i-th puzzle, from 1.

    Returns:
      Digits `[n, 81]`, int32.

    Raises:
      ValueError: a puzzle is malformed, or a given is twice in a row, column or box.
    """
    if isinstance(puzzles, str) or not len(puzzles):
        raise ValueError(f"expected a list of puzzles or digits [n, 81], got {puzzles!r}")
    digits = _parse(puzzles, name) if isinstance(puzzles[0], str) else np.asarray(puzzles)
    if digits.ndim != 2 or digits.shape[1] != 81 or digits.dtype.kind not in "iu":
        raise ValueError(
            f"expected strings or integers [n, 81], got {digits.dtype} of shape {digits.shape}"
        )
    if ((digits < 0) | (digits > 9)).any():
        puzzle, cell = np.argwhere((digits < 0) | (digits > 9))[0]
        where = f"{name(puzzle + 1)}: {_place(cell)}"
        raise ValueError(f"{where} holds {digits[puzzle, cell]}; expected 0 to 9")
    _check_givens(digits, name)
    return digits.astype(np.int32)


def _parse(lines, name):
    try:
        return parse_puzzles(lines)
    except PuzzleError as error:
        what, cell = str(error), error.cell
        if cell is not None:
            character = lines[error.index][cell]
            what = f"character {cell + 1} is {character!r}; expected digits, and 0 or . for a blank"
        raise ValueError(f"{name(error.index + 1)}: {what}") from None


def _check_givens(digits, name):
    """Raises ValueError where a digit is twice in a row, column or box."""
    repeats = repeats_digit(digits)
    if repeats.any():
        puzzle, unit = np.argwhere(repeats)[0]
        held = digits[puzzle, UNITS[unit]]
        digit = min(digit for digit in held if digit and (held == digit).sum() > 1)
        first, second, *_ = UNITS[unit][held == digit]
        raise ValueError(
            f"{name(puzzle + 1)}: no solution, the digit {digit} is twice in a "
            f"{KINDS[unit // 9]}: {_place(first)} and {_place(second)}"
        )


def _place(cell):
    return f"row {cell // 9 + 1}, column {cell % 9 + 1}"


def is_solution(puzzles: np.ndarray, solutions: np.ndarray) -> np.ndarray:
    """Returns whether solutions hold every digit once in every unit, and their puzzles' givens.

    Args:
      puzzles: digits `[n, 81]`, 0 for a blank.
      solutions: digits `[n, 81]`.

    Returns:
      Booleans `[n]`.
    """
    complete = (np.sort(solutions[:, UNITS], axis=2) == np.arange(1, 10)).all(axis=(1, 2))
    return complete & ((puzzles == 0) | (puzzles == solutions)).all(axis=1)


# Solving


class Solver:
    """A Sudoku network with weights from a file."""

    def __init__(self, config: ConfigDict, weights: str | Path, num_steps: int):
        """Makes the network and loads its weights.

        Args:
          config: an experiment's `model`.
          weights: a weights file.
          num_steps: the network's steps.

        Raises:
          ValueError: no such file, or not of this model.
        """
        self.num_steps, self.task = num_steps, Sudoku(config)
        load_weights(weights, model_variables(self.task))

    def beliefs(self, puzzles: np.ndarray) -> tf.Tensor:
        """Returns the digits' probabilities `[n, 81, steps, 10]` for puzzles `[n, 81]`."""
        with reading_scope():
            logits, _ = self.task.logits(self.task.encode({}), puzzles, self.num_steps)
        return tf.nn.softmax(logits)

    def solve(self, puzzles: np.ndarray) -> Solutions:
        """Solves puzzles, digits `[n, 81]`, so many at a time that they fit into memory.

        A board is done when its digits solve it, or after all steps; then the next one takes its
        place. So most of the steps go to the boards that need them.
        """
        count = min(len(puzzles), BATCH)
        num_steps = math.gcd(self.num_steps, SEGMENT_STEPS)
        advance = functools.partial(self._segment, num_steps=num_steps)
        if len(puzzles) > BATCH:  # else tracing would take longer than it saves
            advance = tf.function(advance)
        beliefs = np.zeros([len(puzzles), 81, 10], np.float32)
        puzzle, steps = np.arange(count), np.zeros(count, int)  # of each place
        waiting, state = count, self.task.initial_state(count)
        while (puzzle < len(puzzles)).any():
            busy = np.flatnonzero(puzzle < len(puzzles))
            boards = puzzles[np.minimum(puzzle, len(puzzles) - 1)]
            last, state = advance(tf.constant(boards), state)
            last, steps = last.numpy(), steps + num_steps
            solved = solutions_from(boards, last).valid
            done = busy[(solved | (steps >= self.num_steps))[busy]]
            beliefs[puzzle[done]] = last[done]
            puzzle[done] = waiting + np.arange(len(done))  # beyond the last one: an idle place
            waiting, steps[done] = waiting + len(done), 0
            state = self._begin_anew(state, done)
        return solutions_from(puzzles, beliefs)

    def _segment(self, puzzles, state, num_steps):
        """The digits' probabilities after the last of some steps, and the state then."""
        with reading_scope():
            logits, state = self.task.logits(self.task.encode({}), puzzles, num_steps, state)
        return tf.nn.softmax(logits[:, :, -1]), state

    def _begin_anew(self, state, places):
        """The state, where the boards of some places have made no step."""
        initial = self.task.initial_state(len(places))
        return tf.nest.map_structure(
            lambda x, zeros: tf.tensor_scatter_nd_update(x, places[:, None], zeros), state, initial
        )


def solutions_from(puzzles: np.ndarray, beliefs: np.ndarray) -> Solutions:
    """Takes the likeliest digit of every cell, but never 0, which stands for a blank.

    Args:
      puzzles: digits `[n, 81]`.
      beliefs: the digits' probabilities `[n, 81, 10]`.
    """
    solutions = beliefs[..., 1:].argmax(axis=-1) + 1
    confidence = np.take_along_axis(beliefs, solutions[..., None], axis=-1)[..., 0]
    return Solutions(solutions, confidence, is_solution(puzzles, solutions))
