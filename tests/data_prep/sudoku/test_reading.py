"""The one reader: files, pipes, texts, arrays and nested lists."""

import gzip
import json
import os
import re
from pathlib import Path

import numpy as np
import pytest

from rrn.data_prep import DataError
from rrn.data_prep.sudoku import reading
from rrn.data_prep.sudoku.reading import read_files, read_puzzles, read_text

PUZZLE = "53..7....6..195....98....6.8...6...34..8.3..17...2...6.6....28....419..5....8..79"
SOLUTION = "534678912672195348198342567859761423426853791713924856961537284287419635345286179"
ROWS = [PUZZLE[i : i + 9] for i in range(0, 81, 9)]
DIGITS = np.array([int(character) for character in PUZZLE.replace(".", "0")], np.uint8)
BLANK = "." * 81


def write(path, text):
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def drawn(row, line):
    """Nine lines with spaces and `|` between the cells, and lines around the bands."""
    rows = [row.format(*cells) for cells in ROWS]
    return "\n".join([line, *rows[:3], line, *rows[3:6], line, *rows[6:], line])


FORMS = {
    **{f"blank {blank!r}": PUZZLE.replace(".", blank) for blank in reading.BLANKS},
    "spaces around": f"   {PUZZLE}  ",
    "comments and blank lines": f"# mine\n\n  \n{PUZZLE}\n\n#\n",
    "a rating": f"{PUZZLE} # 2.3 ED=7.1",
    "a solution and a rating": f"{PUZZLE},{SOLUTION},7.1",
    "nine lines": "\n".join(ROWS),
    "nine lines apart": "\n\n".join(ROWS),
    "ruled": drawn("{}{}{}|{}{}{}|{}{}{}", "---+---+---"),
    "ruled with nine dashes": drawn("{}{}{}{}{}{}{}{}{}", "-" * 9),
    "framed": drawn("| {} {} {} | {} {} {} | {} {} {} |", "+-------+-------+-------+"),
    "Kaggle": f"quizzes,solutions\n{PUZZLE.replace('.', '0')},{SOLUTION}",
    "Hugging Face": f"source,question,answer,rating\nx,{PUZZLE},{SOLUTION},0",
    "quoted, the solution first": f'"Solution","Puzzle"\n"{SOLUTION}","{PUZZLE}"\n',
    "one column": f"puzzle\n{PUZZLE}",
}


@pytest.mark.parametrize("form", FORMS)
def test_a_form_is_read(form):
    np.testing.assert_array_equal(read_text(FORMS[form], "text"), DIGITS[None])


# Files


def test_files_are_read_with_the_lines_of_their_puzzles(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "BATCH", 2)
    one = write(tmp_path / "one.txt", f"\ufeff# mine\r\n{PUZZLE} \r\n\r\n{BLANK}\r\n")
    two = write(tmp_path / "two", gzip.compress("\n".join(ROWS).encode()))  # whatever its name
    puzzles = read_files([one, two])
    np.testing.assert_array_equal(puzzles.digits, [DIGITS, 0 * DIGITS, DIGITS])
    assert puzzles.digits.dtype == np.uint8
    places = [puzzles.place(i) for i in range(3)]
    assert places == [f"{one}, line 2", f"{one}, line 4", f"{two}, line 1"]


def test_standard_input_is_read():
    end, writer = os.pipe()
    os.write(writer, f"{PUZZLE}\n".encode())
    os.close(writer)
    own = os.dup(0)
    try:
        os.dup2(end, 0)
        np.testing.assert_array_equal(read_files(["-"]).digits, DIGITS[None])
    finally:
        os.dup2(own, 0)


WRONG = {
    "short.txt": (f"{BLANK}\n{BLANK[1:]}\n", "line 2: .*80 characters; expected 81"),
    "long.txt": ("7" * 2_000_000, "line 1: '7{90}...' has 65536 characters"),
    "character.txt": (PUZZLE[1:] + "٣", "line 1: .* has the character '٣'; expected 81"),
    "joined.txt": (PUZZLE + "1", "line 1: .* has 82 characters"),
    "bytes.txt": (b"\xff" * 81, "line 1: .* the character '\N{REPLACEMENT CHARACTER}'"),
    "eight rows.txt": ("\n".join([PUZZLE, *ROWS[:8]]), "line 2: the puzzle has 8 rows; expected 9"),
    "a row and a puzzle.txt": (f"{ROWS[0]}\n{PUZZLE}", "line 1: the puzzle has 1 rows; expected 9"),
    "a row of dashes.txt": ("\n".join(["-" * 9, *ROWS[1:]]), "line 2: the puzzle has 8 rows"),
    "no column.csv": (f"sudoku,result\n{PUZZLE},{SOLUTION}", "line 1: .* with a column puzzle, q"),
    "field.csv": (f"id,puzzle\n1,{PUZZLE}\n2,{PUZZLE[1:]}", "line 3: '3.* has 80 characters"),
    "few fields.csv": ("id,puzzle\n1", "line 2: '' has 0 characters"),
    "empty.txt": ("", "no puzzle; expected 81"),
    "comments.txt.gz": (gzip.compress(b"# none\n\n"), "no puzzle; expected 81"),
    "cut.gz": (gzip.compress(PUZZLE.encode(), mtime=0)[:-9], r"not a whole \.gz file"),
    "none.gz": (PUZZLE, r"not a whole \.gz file"),
    "twice.txt": (f"{BLANK}\n11{BLANK[2:]}\n", "line 2: no solution, the digit 1 is twice in a r"),
    "strings.json": (json.dumps([PUZZLE] * 3), r"line 1: .* has the character '\['; expected 81"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_file_is_named_in_one_line(tmp_path, name):
    content, message = WRONG[name]
    path = write(tmp_path / name, content)
    with pytest.raises(DataError, match=f"^{re.escape(str(path))}[:,] {message}") as error:
        read_files([path])
    assert "\n" not in str(error.value) and len(str(error.value)) < 400


# Python


@pytest.mark.parametrize(
    "form",
    [
        PUZZLE,
        "\n".join(ROWS),
        [PUZZLE],
        ROWS,
        [ROWS],
        np.array([PUZZLE]),
        np.array([PUZZLE], object),
        DIGITS,
        DIGITS.tolist(),
        DIGITS.reshape(9, 9).astype(np.int64),
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
    for form in (both, both.reshape(2, 9, 9), [PUZZLE, BLANK], path, path.read_text()):
        np.testing.assert_array_equal(read_puzzles(form), both)


@pytest.mark.parametrize(
    ("puzzles", "message"),
    [
        ([BLANK, BLANK[1:]], "puzzles, line 2: .* has 80 characters"),
        ([[*[0] * 10, 10, *[0] * 70]], "row 2, column 2 holds 10; expected 0 to 9"),
        ([[-1] + [0] * 80], "puzzle 1: row 1, column 1 holds -1"),
        ([[0] * 81, [7, 7] + [0] * 79], "puzzle 2: no solution, the digit 7 is twice in a row"),
        (np.zeros([2, 8, 9], int), r"\[n, 9, 9\].*\(2, 8, 9\)"),
        (np.zeros([2, 81]), "integers.*float64"),
        ([[1, 2], [3]], "inhomogeneous"),
        (np.zeros([0, 81], int), "expected strings, or integers"),
        ("p.txt", "has the character 'p'"),
        ("\x1b[31m", r"'\\x1b\[31m' has the character '\\x1b'"),
    ],
)
def test_what_is_wrong_with_a_puzzle_is_said(puzzles, message):
    with pytest.raises(ValueError, match=message):
        read_puzzles(puzzles)


def test_a_path_is_a_file(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"none\.txt"):
        read_puzzles(Path(tmp_path / "none.txt"))
