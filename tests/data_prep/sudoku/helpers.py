"""What several of Sudoku's tests use."""

from pathlib import Path

import numpy as np

from rrn.data_prep.__main__ import main
from rrn.data_prep.sudoku.puzzles import UNITS

SMALL = ("--train_per_level", "6", "--valid_per_level", "4", "--test_per_level", "5")


def boards(*texts: str) -> np.ndarray:
    return np.array([[int(digit) for digit in text.replace(".", "0")] for text in texts])


def lines(puzzles: np.ndarray) -> str:
    return "".join("".join(map(str, puzzle)) + "\n" for puzzle in puzzles)


def transform(puzzle: np.ndarray, solution: np.ndarray, rng) -> tuple[np.ndarray, np.ndarray]:
    """Returns both after the same random symmetry of the grid and permutation of the digits."""

    def shuffled_lines():
        return np.concatenate([3 * band + rng.permutation(3) for band in rng.permutation(3)])

    cells = np.arange(81).reshape(9, 9)[shuffled_lines()][:, shuffled_lines()]
    cells = (cells.T if rng.integers(2) else cells).ravel()
    digits = np.append(0, rng.permutation(9) + 1)
    return digits[puzzle[cells]], digits[solution[cells]]


def prepare(source: Path, out: Path, *options: str) -> int:
    return main(["sudoku", "--clues", str(source), "--out", str(out), *SMALL, *options])


def assert_solves(solutions: np.ndarray, puzzles: np.ndarray):
    assert (np.sort(solutions[:, UNITS], axis=2) == np.arange(1, 10)).all()
    assert ((puzzles == 0) | (puzzles == solutions)).all()
