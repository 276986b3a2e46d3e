"""Solving Sudoku puzzles with trained weights.

The network's most likely digits are the answer, and whether they solve the puzzle is then checked.
What is not checked is whether a puzzle has a solution, and only one.
"""

import dataclasses
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import tensorflow as tf

from rrn.compiling import xla
from rrn.data_prep.sudoku.puzzles import UNITS
from rrn.files.weights import load_weights, model_variables
from rrn.nn.checks import check_sizes
from rrn.pages import Example
from rrn.tasks.sudoku.application import NUM_STEPS
from rrn.tasks.sudoku.application.puzzles import check_puzzles
from rrn.tasks.sudoku.report import SOLVED, example_of
from rrn.tasks.sudoku.settings import Model
from rrn.tasks.sudoku.task import Sudoku, random_relabelling, random_symmetry
from rrn.variables.random import ExampleRandom
from rrn.variables.reading import reading_scope

BATCH = 128  # puzzles at a time
SEGMENT_STEPS = 8  # at most; after so many it is looked which boards are solved
# In an installed package, rrn/pretrained; in a checkout, pretrained beside rrn.
_FOLDERS = [folder / "pretrained" for folder in Path(__file__).resolve().parents[3:5]]
PRETRAINED = next(filter(Path.exists, _FOLDERS), _FOLDERS[-1]) / "sudoku.h5"
PAPER_MODEL = Model()


@dataclasses.dataclass(frozen=True)
class Solutions:
    """What the network makes of n puzzles; its length is n.

    Attributes:
      solutions: digits 1 to 9, `[n, 81]`.
      confidence: each digit's probability, `[n, 81]`.
      valid: whether a solution solves its puzzle, `[n]`: the givens are kept, and every digit is
        once in every row, column and box.
    """

    solutions: np.ndarray
    confidence: np.ndarray
    valid: np.ndarray

    def __len__(self) -> int:
        return len(self.solutions)


def solve_sudoku(
    puzzles: str | Sequence[str] | np.ndarray,
    weights: str | Path | None = None,
    num_steps: int = NUM_STEPS,
    tries: int = 1,
) -> Solutions:
    """Solves puzzles with a trained network of the paper's size.

    Args:
      puzzles: strings of 81 characters, row by row, `.` or `0` for a blank, of which one alone is
        one puzzle; or digits `[n, 81]`, 0 for a blank.
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
    puzzles = [puzzles] if isinstance(puzzles, str) else puzzles
    digits = check_puzzles(puzzles, "puzzle {}".format)
    return Solver(PAPER_MODEL, find_weights(weights), num_steps).solve(digits, tries)


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


def is_solution(puzzles: np.ndarray, solutions: np.ndarray) -> np.ndarray:
    """Checks that solutions hold every digit once in every unit, and their puzzles' givens.

    Args:
      puzzles: digits `[n, 81]`, 0 for a blank.
      solutions: digits `[n, 81]`.

    Returns:
      Booleans `[n]`.
    """
    complete = (np.sort(solutions[:, UNITS], axis=2) == np.arange(1, 10)).all(axis=(1, 2))
    return complete & ((puzzles == 0) | (puzzles == solutions)).all(axis=1)


class Solver:
    """A Sudoku network with weights from a file.

    Args:
      config: an experiment's `model`.
      weights: a weights file.
      num_steps: the network's steps.

    Raises:
      ValueError: no such file, or not of this model.
    """

    def __init__(self, config: Model, weights: str | Path, num_steps: int):
        self.num_steps, self.task = num_steps, Sudoku(config)
        self._segment_steps = math.gcd(num_steps, SEGMENT_STEPS)
        on_gpu = bool(tf.config.list_logical_devices("GPU"))
        self._traced_segment = xla(self._segment) if on_gpu else tf.function(self._segment)
        load_weights(weights, model_variables(self.task))

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

    def example(self, puzzle: str) -> Example:
        """Shows step by step what the network makes of a puzzle.

        Args:
          puzzle: 81 characters, row by row, `.` or `0` for a blank.

        Returns:
          The example, for a page.

        Raises:
          ValueError: it is no puzzle.
        """
        puzzles = check_puzzles([puzzle], lambda number: "the puzzle")
        beliefs = self.beliefs(puzzles).numpy()[0]
        solutions = solutions_from(np.repeat(puzzles, beliefs.shape[1], 0), beliefs.swapaxes(0, 1))
        notes = [
            SOLVED if valid else f"Not solved: the least certain digit has {100 * p.min():.1f} %."
            for p, valid in zip(solutions.confidence, solutions.valid, strict=True)
        ]
        return example_of(puzzles[0], beliefs, notes)

    def solve(self, puzzles: np.ndarray, tries: int = 1) -> Solutions:
        """Solves puzzles.

        From the second try on a puzzle is turned and relabelled at random, and its solution turned
        back. That is the same puzzle, but not to the network, which knows digits, rows and columns
        by their embeddings. A solution can be checked, so a valid one is kept.

        Args:
          puzzles: digits `[n, 81]`, 0 for a blank.
          tries: how often a puzzle is tried that is not solved.

        Returns:
          The solutions; where none is valid, that of the first try.
        """
        found = self._solve_once(puzzles)
        for seed in range(1, tries):
            left = np.flatnonzero(~found.valid)
            if len(left) == 0:
                break
            again = self._solve_turned(puzzles[left], seed)
            for before, after in zip(vars(found).values(), vars(again).values(), strict=True):
                before[left[again.valid]] = after[again.valid]
        return found

    def _solve_turned(self, puzzles, seed):
        """What the network makes of the puzzles when they are turned and relabelled."""
        random = ExampleRandom((0, seed), tf.range(len(puzzles)), len(puzzles))
        cells, digits = random_symmetry(random).numpy(), random_relabelling(random).numpy()
        turned = np.take_along_axis(digits, np.take_along_axis(puzzles, cells, 1), 1)
        found = self._solve_once(turned.astype(puzzles.dtype))
        solutions, confidence = np.empty_like(found.solutions), np.empty_like(found.confidence)
        back = np.take_along_axis(np.argsort(digits), found.solutions, 1)
        np.put_along_axis(solutions, cells, back, 1)
        np.put_along_axis(confidence, cells, found.confidence, 1)
        return Solutions(solutions, confidence, found.valid)

    def _solve_once(self, puzzles):
        """Solves puzzles, digits `[n, 81]`, so many at a time that they fit into memory.

        A board is done when its digits solve it, or after all steps; then the next one takes its
        place. So most of the steps go to the boards that need them.
        """
        count = min(len(puzzles), BATCH)
        # Of few puzzles, tracing would take longer than it saves.
        advance = self._traced_segment if len(puzzles) > BATCH else self._segment
        beliefs = np.zeros([len(puzzles), 81, 10], np.float32)
        puzzle, steps = np.arange(count), np.zeros(count, int)  # of each place
        waiting, state = count, self.task.initial_state(count)
        while (puzzle < len(puzzles)).any():
            busy = np.flatnonzero(puzzle < len(puzzles))
            boards = puzzles[np.minimum(puzzle, len(puzzles) - 1)]
            last, state = advance(tf.constant(boards), state)
            last, steps = last.numpy(), steps + self._segment_steps
            solved = solutions_from(boards, last).valid
            done = busy[(solved | (steps >= self.num_steps))[busy]]
            beliefs[puzzle[done]] = last[done]
            puzzle[done] = waiting + np.arange(len(done))  # beyond the last one: an idle place
            waiting, steps[done] = waiting + len(done), 0
            state = self._begin_anew(state, done)
        return solutions_from(puzzles, beliefs)

    def _segment(self, puzzles, state):
        """The digits' probabilities after the last step of a segment, and the state then."""
        with reading_scope():
            encoded, steps = self.task.encode({}), self._segment_steps
            logits, state = self.task.logits(encoded, puzzles, steps, state)
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
      puzzles: digits `[n, 81]`, 0 for a blank.
      beliefs: the digits' probabilities `[n, 81, 10]`.

    Returns:
      The solutions.
    """
    solutions = beliefs[..., 1:].argmax(axis=-1) + 1
    confidence = np.take_along_axis(beliefs, solutions[..., None], axis=-1)[..., 0]
    return Solutions(solutions, confidence, is_solution(puzzles, solutions))
