"""The boards on which the network works: their puzzles, how they are changed, what was found."""

import collections
import dataclasses

import numpy as np
import tensorflow as tf

from rrn.data_prep.sudoku.puzzles import UNITS
from rrn.tasks.sudoku.task import random_relabelling, random_symmetry
from rrn.variables.random import ExampleRandom

MOST_TRIES = 1024
# Of each cell, the three of the units that it is in, [81, 3].
_UNITS_OF = np.nonzero((np.arange(81)[:, None, None] == UNITS).any(axis=2))[1].reshape(81, 3)


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

    @classmethod
    def empty(cls, count: int) -> "Solutions":
        """Makes room for some solutions.

        Args:
          count: their number.

        Returns:
          Zeros.
        """
        board = np.zeros([count, 81], np.uint8)
        numbers = np.zeros(count, np.int8)
        return cls(board, np.zeros([count, 81], np.float32), np.zeros(count, bool), numbers)

    def __len__(self) -> int:
        return len(self.solutions)


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


def likeliest(beliefs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Takes the likeliest digit of every cell, but never 0, which stands for a blank.

    Args:
      beliefs: the digits' probabilities `[n, 81, 10]`.

    Returns:
      (digits 1 to 9 `[n, 81]` uint8, their probabilities `[n, 81]`).
    """
    digits = beliefs[..., 1:].argmax(axis=-1) + 1
    confidence = np.take_along_axis(beliefs, digits[..., None], axis=-1)[..., 0]
    return digits.astype(np.uint8), confidence


class Boards:
    """The boards on which the network works, each in a place, and the puzzles that wait for one.

    Args:
      puzzles: digits `[n, 81]`, 0 for a blank.
      indices: which of them to solve.
      count: the number of places.
      tries: how often a puzzle is tried that is not solved.
      guesses: whether further tries have a guess; see `add_guesses`.

    Attributes:
      puzzles: of each place, as the network is given it, `[places, 81]` int32.
      number: of each place, which of the indices it has.
      busy: whether a place has a puzzle.
      steps: how many steps its board has made.
    """

    def __init__(
        self, puzzles: np.ndarray, indices: np.ndarray, count: int, tries: int, guesses: bool
    ):
        self._all, self._indices, self._tries, self._guesses = puzzles, indices, tries, guesses
        self._fresh, self._again, self._first = 0, collections.deque(), {}
        self.puzzles = np.zeros([count, 81], np.int32)
        self.number, self.steps, self._turn = np.zeros([3, count], int)
        self._cells, self._digits = draw_turns(self.number, self._turn)
        self.busy = np.zeros(count, bool)
        self._fill(np.arange(count))

    @property
    def few_are_left(self) -> bool:
        """Whether most places are idle, and stay so."""
        return 4 * self.busy.sum() <= len(self.busy)

    def drop_idle(self) -> np.ndarray:
        """Takes the idle places away.

        Returns:
          Which places are left, of those before.
        """
        kept = np.flatnonzero(self.busy)
        for name in ("puzzles", "number", "steps", "busy", "_turn", "_cells", "_digits"):
            setattr(self, name, getattr(self, name)[kept])
        return kept

    def take(self, beliefs: np.ndarray, num_steps: int) -> tuple[np.ndarray, np.ndarray, Solutions]:
        """Takes out the boards that are done, and puts others in their places.

        Args:
          beliefs: the digits' probabilities `[places, 81, 10]`.
          num_steps: a board that has made so many steps is done, solved or not.

        Returns:
          The places; of the puzzles that are not tried again, which of the indices they are, and
          their solutions, without `num_solutions`.
        """
        digits, confidence = self._turn_back(*likeliest(beliefs))
        valid = is_solution(self._all[self._indices[self.number]], digits)
        places = np.flatnonzero(self.busy & (valid | (self.steps >= num_steps)))
        again = ~valid & (self._turn + 1 < self._tries)
        for place in places:
            number, this = self.number[place], (digits[place].copy(), confidence[place].copy())
            first = self._first.pop(number, this)
            if again[place]:
                self._first[number] = first
                self._again.append((number, self._turn[place] + 1))
            elif not valid[place]:
                digits[place], confidence[place] = first
        over = places[~again[places]]
        found = Solutions(digits[over], confidence[over], valid[over], np.zeros(len(over), np.int8))
        numbers = self.number[over]
        self._fill(places)
        return places, numbers, found

    def _fill(self, places):
        """Puts the next puzzles into free places, first those that are tried again."""
        self.busy[places] = False
        for place in places:
            if self._again:
                self.number[place], self._turn[place] = self._again.popleft()
            elif self._fresh < len(self._indices):
                self.number[place], self._turn[place] = self._fresh, 0
                self._fresh += 1
            else:
                break
            self.busy[place] = True
        self.steps[places] = 0
        filled = places[self.busy[places]]
        indices = self._indices[self.number[filled]]
        turns = self._turn[filled]
        cells, digits = draw_turns(indices, turns)
        boards = turn_boards(self._all[indices], cells, digits)
        self.puzzles[filled] = add_guesses(boards, indices, turns) if self._guesses else boards
        self._cells[filled], self._digits[filled] = cells, digits

    def _turn_back(self, digits, confidence):
        """What was found of the boards as they were given."""
        back = np.take_along_axis(np.argsort(self._digits).astype(np.uint8), digits, 1)
        solutions, probabilities = np.empty_like(digits), np.empty_like(confidence)
        np.put_along_axis(solutions, self._cells, back, 1)
        np.put_along_axis(probabilities, self._cells, confidence, 1)
        return solutions, probabilities


def draw_turns(indices: np.ndarray, turns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Draws symmetries of the grid and relabellings of the digits.

    Args:
      indices: integers `[n]`, the numbers of puzzles.
      turns: integers `[n]`, which turn of each puzzle; 0 leaves it as it is.

    Returns:
      (the cell that comes to each place `[n, 81]`, each digit's new name `[n, 10]`).
    """
    count = len(indices)
    cells, digits = np.tile(np.arange(81), [count, 1]), np.tile(np.arange(10), [count, 1])
    turned = np.flatnonzero(turns)
    if len(turned):
        random = _random((0, 0), indices[turned], turns[turned])
        cells[turned], digits[turned] = random_symmetry(random), random_relabelling(random)
    return cells, digits


def turn_boards(puzzles: np.ndarray, cells: np.ndarray, digits: np.ndarray) -> np.ndarray:
    """Turns and relabels puzzles.

    Args:
      puzzles: digits `[n, 81]`, 0 for a blank.
      cells, digits: see `draw_turns`.

    Returns:
      Digits `[n, 81]`, int32.
    """
    return np.take_along_axis(digits, np.take_along_axis(puzzles, cells, 1), 1).astype(np.int32)


def add_guesses(puzzles: np.ndarray, indices: np.ndarray, turns: np.ndarray) -> np.ndarray:
    """Gives each turned board one digit more, at random.

    It is one that the cell's row, column and box do not have. The fewer such digits a cell has, the
    likelier it is that the cell is drawn. With a wrong guess a board has no solution.

    Args:
      puzzles: digits `[n, 81]`, 0 for a blank.
      indices, turns: see `draw_turns`.

    Returns:
      Digits `[n, 81]`.
    """
    turned = np.flatnonzero(turns)
    if not len(turned):
        return puzzles
    there = (puzzles[turned][:, UNITS, None] == np.arange(1, 10)).any(axis=2)
    possible = (puzzles[turned] == 0)[..., None] & ~there[:, _UNITS_OF].any(axis=2)
    draws = _random((0, 1), indices[turned], turns[turned]).uniform([81, 9]).numpy()
    # Drawn with the weights exp(-2 k) for the digits of a cell that may hold k of them.
    times = -np.log1p(-draws) * np.exp(2.0 * possible.sum(axis=2, keepdims=True))
    cells, digits = np.divmod(np.where(possible, times, np.inf).reshape(-1, 729).argmin(axis=1), 9)
    can_guess = possible.any(axis=(1, 2))
    guessed = puzzles.copy()
    guessed[turned[can_guess], cells[can_guess]] = 1 + digits[can_guess]
    return guessed


def _random(seed, indices, turns):
    """Keyed by puzzle and turn, so that it does not matter beside which others one is solved."""
    return ExampleRandom(seed, tf.constant(indices.astype(np.int64) * MOST_TRIES + turns))
