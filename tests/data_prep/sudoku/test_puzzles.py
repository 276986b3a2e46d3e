"""Puzzles as text and as digits."""

import gzip

import numpy as np
import pytest

from rrn.data_prep import DataError
from rrn.data_prep.sudoku.puzzles import (
    KINDS,
    UNITS,
    PuzzleError,
    parse_puzzles,
    read_lines,
    repeats_digit,
)

BLANK = "." * 81


def test_units_by_hand():
    assert [KINDS[unit // 9] for unit in (8, 9, 18)] == ["row", "column", "box"]
    assert UNITS[1].tolist() == [9, 10, 11, 12, 13, 14, 15, 16, 17]
    assert UNITS[10].tolist() == [1, 10, 19, 28, 37, 46, 55, 64, 73]
    assert UNITS[22].tolist() == [30, 31, 32, 39, 40, 41, 48, 49, 50]


def test_parse_puzzles():
    puzzles = parse_puzzles(["1" + BLANK[2:] + "9", "0" * 40 + "5" + "." * 40])
    assert puzzles.dtype == np.uint8 and puzzles.shape == (2, 81)
    assert np.argwhere(puzzles).tolist() == [[0, 0], [0, 80], [1, 40]]
    assert puzzles[puzzles > 0].tolist() == [1, 9, 5]


@pytest.mark.parametrize(
    ("line", "cell", "what"),
    [
        (BLANK[1:], None, "has 80 characters; expected 81"),
        ("..x.y" + BLANK[5:], 2, "has the character 'x'; expected digits, '0' or '.' for blanks"),
        (BLANK[1:] + "٣", 80, "has the character '٣'; expected digits"),
    ],
)
def test_a_wrong_line_is_quoted_and_its_place_told(line, cell, what):
    with pytest.raises(PuzzleError) as error:
        parse_puzzles([BLANK, line, ""])
    assert str(error.value).startswith(f"{line!r} {what}")
    assert (error.value.index, error.value.cell) == (1, cell)


def test_which_units_repeat_a_digit():
    puzzles = np.zeros((3, 81), np.uint8)
    puzzles[1, [0, 10]] = 7  # in box 1
    puzzles[2, [0, 1, 72]] = 7  # in row 1, column 1 and box 1
    assert np.argwhere(repeats_digit(puzzles)).tolist() == [[1, 18], [2, 0], [2, 9], [2, 18]]


def test_read_lines(tmp_path):
    path = tmp_path / "puzzles.txt.gz"
    path.write_bytes(gzip.compress(f"{BLANK}\r\n\n\xff".encode("latin-1")))
    assert read_lines(path) == [BLANK, "", "\N{REPLACEMENT CHARACTER}"]
    path.write_bytes(gzip.compress(b""))
    with pytest.raises(DataError, match=r"puzzles\.txt\.gz: empty; expected one puzzle of 81"):
        read_lines(path)
