"""The one reader: files, pipes, texts, arrays and nested lists."""

import bz2
import gzip
import lzma
import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from rrn.data_prep import DataError
from rrn.data_prep.sudoku import reading
from rrn.data_prep.sudoku.reading import read_files, read_puzzles, read_text
from tests.data_prep.sudoku.test_formats import PUZZLE, ROWS, SOLUTION
from tests.helpers import ROOT

DIGITS = np.array([int(character) for character in PUZZLE.replace(".", "0")], np.uint8)
BLANK = "." * 81


def write(path, text):
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


# Files


def test_files_are_read_with_the_places_of_their_puzzles(tmp_path):
    one = write(tmp_path / "one.txt", f"\ufeff# mine\r\n{PUZZLE} \r\n\r\n{BLANK}\r\n")
    two = write(tmp_path / "two.sdk.gz", gzip.compress("\n".join(ROWS).encode()))
    puzzles = read_files([one, two])
    np.testing.assert_array_equal(puzzles.digits, [DIGITS, 0 * DIGITS, DIGITS])
    assert puzzles.digits.dtype == np.uint8 and len(puzzles) == 3
    places = [puzzles.place(i) for i in range(3)]
    assert places == [f"{one}, line 2", f"{one}, line 4", f"{two}, line 1"]
    assert puzzles.cut == [str(two)]  # its last line has no end


def test_what_is_compressed_needs_no_name_of_such_a_file(tmp_path):
    path = write(tmp_path / "puzzles", gzip.compress(f"{PUZZLE}\n".encode()))
    np.testing.assert_array_equal(read_files([path]).digits, DIGITS[None])


def test_old_line_ends_are_understood(tmp_path):
    assert len(read_files([write(tmp_path / "p.txt", f"{PUZZLE}\r{PUZZLE}\r")])) == 2


def test_many_puzzles_are_read_in_batches(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "BATCH", 3)
    path = write(tmp_path / "p.txt", f"{PUZZLE} {SOLUTION}\n{BLANK}\n" * 5)
    puzzles = read_files([path])
    np.testing.assert_array_equal(puzzles.digits, np.tile([DIGITS, 0 * DIGITS], [5, 1]))
    np.testing.assert_array_equal(puzzles.lines, range(1, 11))


def test_a_pipe_is_read(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=write, args=(tmp_path / "pipe", PUZZLE))
    writer.start()
    assert reading.is_file(str(tmp_path / "pipe"))
    np.testing.assert_array_equal(read_files([tmp_path / "pipe"]).digits, DIGITS[None])
    writer.join()


@pytest.mark.parametrize("name", ["-", "/dev/stdin"])
def test_standard_input_is_read(name):
    script = "import sys; from data_prep.sudoku.reading import read_files; "
    script += "print(read_files(sys.argv[1:]).digits.tolist())"
    done = subprocess.run(
        [sys.executable, "-c", script, name],
        cwd=ROOT,
        input=f"{PUZZLE}\n",
        text=True,
        capture_output=True,
        timeout=60,
    )
    assert done.stdout == f"{[DIGITS.tolist()]}\n", done.stderr


OTHER = SOLUTION[:-1] + "8"
SWAPPED = SOLUTION[:2] + SOLUTION[3] + SOLUTION[2] + SOLUTION[4:]
WRONG = {
    "{p}.txt": (f"{BLANK}\n{BLANK[1:]}\n", ["line 2", "80 characters"]),
    "utf8.txt": (b"\xff" * 81, ["line 1: ", "has the character '\N{REPLACEMENT CHARACTER}'"]),
    "utf16.txt": (f"\ufeff{PUZZLE}\n".encode("utf-16-le"), ["UTF-16 text; expected UTF-8"]),
    "list.zip": (b"PK\x03\x04" + b"0" * 81, ["a zip archive or a spreadsheet; expected"]),
    "list.bz2": (bz2.compress(b"0" * 81), ["compressed by bzip2; expected text, plain or in"]),
    "list.xz": (
        lzma.compress(PUZZLE.encode()),
        ["compressed by xz; expected text, plain or in .gz"],
    ),
    "list.zst": (b"\x28\xb5\x2f\xfd" + b"0" * 81, ["compressed by zstd; expected text"]),
    "empty.txt": ("", ["empty; expected puzzles"]),
    "empty.txt.gz": (gzip.compress(b""), ["empty; expected puzzles"]),
    "comments.txt": ("# none\n\n", ["no puzzle; expected puzzles"]),
    "cut.gz": (gzip.compress(PUZZLE.encode(), mtime=0)[:-9], ["not a whole .gz file"]),
    "none.gz": (PUZZLE, ["not a whole .gz file"]),
    "long.txt": ("7" * 2_000_000, ["line 1: ", "has 1,048,576 characters or more; expected 81"]),
    "twice.txt": (
        f"{BLANK}\n11{BLANK[2:]}\n",
        ["line 2: no solution, the digit 1 is twice in a row: row 1, column 1 and row 1, column 2"],
    ),
    "given.txt": (
        f"{PUZZLE},{OTHER}\n",
        ["line 1: the solution beside the puzzle has 8 in row 9, column 9", "puzzle has 9"],
    ),
    "swapped.csv": (
        f"puzzle,solution\n{BLANK},{SOLUTION}\n{BLANK},{SWAPPED}\n",
        ["line 3: the solution beside the puzzle is none: the digit 6 is twice in a column"],
    ),
    "blank.csv": (
        f"puzzle,solution\n{BLANK},{SOLUTION}\n{BLANK},{PUZZLE}\n",
        ["line 3: the solution beside the puzzle is '53..7", "expected 81 digits from 1 to 9"],
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_file_is_named_with_its_line(tmp_path, name):
    data, parts = WRONG[name]
    path = write(tmp_path / name, data)
    with pytest.raises(DataError) as error:
        read_files([path])
    assert str(error.value).startswith(str(path)) and "\n" not in str(error.value)
    assert all(part in str(error.value) for part in parts), error.value


def test_the_first_wrong_line_is_named(tmp_path):
    """A digit twice comes before the line that is not understood."""
    path = write(tmp_path / "p.txt", f"{BLANK}\n11{BLANK[2:]}\n{BLANK}1\n")
    with pytest.raises(DataError, match="line 2: no solution"):
        read_files([path])


# Python


@pytest.mark.parametrize(
    "form",
    [
        PUZZLE,
        "\n".join(ROWS),
        [PUZZLE],
        ROWS,
        [ROWS],
        [list(row) for row in ROWS],
        [[list(row) for row in ROWS]],
        [[character.replace(".", "") for character in row] for row in ROWS],
        np.array([PUZZLE]),
        np.array([PUZZLE], object),
        DIGITS,
        DIGITS.tolist(),
        DIGITS.reshape(9, 9).astype(np.int64),
        DIGITS.reshape(9, 9).tolist(),
        DIGITS.reshape(1, 81),
        DIGITS.reshape(1, 9, 9).tolist(),
    ],
    ids=str,
)
def test_forms_that_python_has(form):
    digits = read_puzzles(form)
    assert digits.dtype == np.uint8
    np.testing.assert_array_equal(digits, DIGITS[None])


def test_several_puzzles(tmp_path):
    both = np.stack([DIGITS, 0 * DIGITS])
    path = write(tmp_path / "p.txt", f"{PUZZLE}\n{BLANK}\n")
    nested = [ROWS, ["." * 9] * 9]
    for form in (both, both.reshape(2, 9, 9), [PUZZLE, BLANK], nested, path, path.read_text()):
        np.testing.assert_array_equal(read_puzzles(form), both)


WRONG_FORMS = {
    "short": ([BLANK, BLANK[1:]], ["puzzle 2: '....", "has 80 characters; expected 81"]),
    "nothing": ([BLANK, ""], ["puzzle 2: '' has no puzzle"]),
    "two in a string": ([BLANK, f"{BLANK}\n{BLANK}"], ["puzzle 2: has 2 puzzles; expected one"]),
    "a line of several": ("\n".join([*ROWS[:8], "?"]), ["puzzle 1, line 9: '?' has the character"]),
    "large": ([[*[0] * 10, 10, *[0] * 70]], ["row 2, column 2 holds 10; expected 0 to 9"]),
    "negative": ([[-1] + [0] * 80], ["puzzle 1: row 1, column 1 holds -1"]),
    "twice": ([[0] * 81, [7, 7] + [0] * 79], ["puzzle 2: no solution, the digit 7 is twice in a"]),
    "shape": (np.zeros([2, 8, 9], int), ["[n, 9, 9]", "(2, 8, 9)"]),
    "type": (np.zeros([2, 81]), ["integers", "float64"]),
    "ragged": ([[1, 2], [3]], ["of one shape"]),
    "characters": (np.full([2, 80], "1"), ["strings of shape (2, 80)"]),
    "none": ([], ["expected a list of puzzles", "[]"]),
    "a number": (5, ["expected a list of puzzles", "got 5"]),
}


@pytest.mark.parametrize("case", WRONG_FORMS)
def test_what_is_wrong_with_a_puzzle_is_said_in_one_line(case):
    wrong, parts = WRONG_FORMS[case]
    with pytest.raises(DataError) as error:
        read_puzzles(wrong)
    message = str(error.value)
    assert all(part in message for part in parts), message
    assert "\n" not in message


def test_no_text_is_too_odd_to_be_quoted():
    with pytest.raises(DataError, match=r"^the puzzle: '\\x1b\[31m' has the character '\\x1b'"):
        read_text("\x1b[31m", "the puzzle")


def test_a_path_is_a_file_and_a_string_is_not(tmp_path):
    with pytest.raises(DataError, match=r"puzzle 1: 'p\.txt' has the character"):
        read_puzzles("p.txt")
    with pytest.raises(FileNotFoundError, match=r"none\.txt"):
        read_puzzles(Path(tmp_path / "none.txt"))
