"""Lists of puzzles: their forms, and what is said of wrong ones."""

import gzip

import numpy as np
import pytest

from rrn.data_prep.sudoku import lists
from tests.data_prep.sudoku.helpers import lines, prepare


def test_lists_may_be_compressed_have_dots_and_windows_line_ends(generated, clues, tmp_path):
    other = tmp_path / "clues.txt.gz"
    text = lines(generated[0]).replace("0", ".").replace("\n", "\r\n")
    other.write_bytes(gzip.compress(text.encode()))
    for path in (clues, other):
        puzzles, solutions, _ = lists.read(path)
        np.testing.assert_array_equal(puzzles, generated[0])
        np.testing.assert_array_equal(solutions, generated[1])


GOOD = "000000010400000000020000000000050407008000300001090000300400200050100000000806000"
FULL = "693784512487512936125963874932651487568247391741398625319475268856129743274836159"


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ("", "'' has 0 characters; expected 81"),
        (GOOD[:-1], f"'{GOOD[:-1]}' has 80 characters; expected 81"),
        ("7" * 500, f"'{'7' * 90}...' has 500 characters; expected 81"),
        (GOOD[:-1] + "x", f"'{GOOD[:-1]}x' has the character 'x'; expected digits, '0' or '.'"),
        (GOOD.replace("6", "0"), "' has 16 givens; expected 17 to 64"),
        (FULL[:65] + "0" * 16, "' has 65 givens; expected 17 to 64"),
        ("1" + GOOD[1:], "' has the digit 1 2 times in row 1"),
        (GOOD[:27] + "4" + GOOD[28:], "' has the digit 4 2 times in row 4"),
        (GOOD[:36] + "4" + GOOD[37:], "' has the digit 4 2 times in column 1"),
        (GOOD[:10] + "2" + GOOD[11:], "' has the digit 2 2 times in column 2"),
        (GOOD[:2] + "4" + GOOD[3:], "' has the digit 4 2 times in box 1"),
        ("5" + GOOD[1:], "' has no solution; expected exactly one"),
        (GOOD.replace("6", "0").replace("0", "6", 1), "' has more than one solution; expected"),
    ],
)
def test_bad_lines(tmp_path, capsys, bad, message):
    clues = tmp_path / "clues.txt"
    clues.write_text(f"{GOOD}\n{bad}\n{GOOD}\n{GOOD[:-2]}\n"[: 83 + len(bad)])
    assert prepare(clues, tmp_path / "s.h5") == 1
    error = capsys.readouterr().err
    assert error.startswith(f"error: {clues}, line 2: '") and message in error
    assert error.count("\n") == 1
    assert not (tmp_path / "s.h5").exists()


@pytest.mark.parametrize("kept", [0.1, 0.5, 0.99])
def test_a_truncated_list(clues, tmp_path, capsys, kept):
    whole = gzip.compress(clues.read_bytes())
    cut = tmp_path / "cut.txt.gz"
    cut.write_bytes(whole[: int(kept * len(whole))])
    assert prepare(cut, tmp_path / "s.h5") == 1
    assert capsys.readouterr().err.startswith(f"error: {cut}: not a whole .gz file (")


@pytest.mark.parametrize("name", ["clues.txt", "clues.txt.gz"])
def test_an_empty_list(tmp_path, capsys, name):
    (tmp_path / name).write_bytes(b"")
    assert prepare(tmp_path / name, tmp_path / "s.h5") == 1
    expected = f"error: {tmp_path / name}: empty; expected one puzzle of 81 characters a line\n"
    assert capsys.readouterr().err == expected


def test_files_that_are_no_list(tmp_path, capsys):
    (tmp_path / "page.gz").write_bytes(b"<html>")
    assert prepare(tmp_path / "page.gz", tmp_path / "s.h5") == 1
    assert prepare(tmp_path / "nowhere.txt", tmp_path / "s.h5") == 1
    assert prepare(tmp_path, tmp_path / "s.h5") == 1
    errors = capsys.readouterr().err.splitlines()
    assert "not a whole .gz file (Not a gzipped file" in errors[0]
    assert "No such file" in errors[1] and "nowhere.txt" in errors[1]
    assert "Is a directory" in errors[2] and len(errors) == 3
