"""The grid: its units, and boards that contradict its rules."""

import numpy as np

from rrn.data_prep.sudoku.puzzles import KINDS, UNITS, contradiction, repeats_digit


def test_units_by_hand():
    assert [KINDS[unit // 9] for unit in (8, 9, 18)] == ["row", "column", "box"]
    assert UNITS[1].tolist() == [9, 10, 11, 12, 13, 14, 15, 16, 17]
    assert UNITS[10].tolist() == [1, 10, 19, 28, 37, 46, 55, 64, 73]
    assert UNITS[22].tolist() == [30, 31, 32, 39, 40, 41, 48, 49, 50]


def test_which_units_repeat_a_digit():
    puzzles = np.zeros((3, 81), np.uint8)
    puzzles[1, [0, 10]] = 7  # in box 1
    puzzles[2, [0, 1, 72]] = 7  # in row 1, column 1 and box 1
    assert np.argwhere(repeats_digit(puzzles)).tolist() == [[1, 18], [2, 0], [2, 9], [2, 18]]
    assert contradiction(puzzles[0]) is None
    in_box = "the digit 7 is twice in a box: row 1, column 1 and row 2, column 2"
    assert contradiction(puzzles[1]) == in_box
    in_row = "the digit 7 is twice in a row: row 1, column 1 and row 1, column 2"
    assert contradiction(puzzles[2]) == in_row
