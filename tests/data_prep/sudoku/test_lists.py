"""Lists of puzzles: their forms, and what is said of wrong ones."""

import gzip
import os
import re
import threading

import numpy as np
import pytest

from rrn.data_prep.__main__ import main
from rrn.data_prep.sudoku import lists
from tests.data_prep.helpers import contents
from tests.data_prep.sudoku.helpers import SMALL, lines, prepare


def test_lists_may_be_compressed_have_dots_and_windows_line_ends(generated, clues, tmp_path):
    other = tmp_path / "clues.txt.gz"
    text = lines(generated[0]).replace("0", ".").replace("\n", "\r\n")
    other.write_bytes(gzip.compress(text.encode()))
    for path in (clues, other):
        puzzles, solutions, _ = lists.read([path])
        np.testing.assert_array_equal(puzzles.digits, generated[0])
        np.testing.assert_array_equal(solutions, generated[1])


GOOD = "000000010400000000020000000000050407008000300001090000300400200050100000000806000"
FULL = "693784512487512936125963874932651487568247391741398625319475268856129743274836159"


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (GOOD[:-1], f"'{GOOD[:-1]}' has 80 characters; expected 81"),
        ("7" * 500, f"'{'7' * 90}...' has 500 characters; expected 81"),
        (GOOD[:-1] + "y", f"'{GOOD[:-1]}y' has the character 'y' in place 81; expected digits"),
        (GOOD.replace("6", "0"), "' has 16 givens; expected 17 to 64"),
        (FULL[:65] + "0" * 16, "' has 65 givens; expected 17 to 64"),
        ("1" + GOOD[1:], "no solution, the digit 1 is twice in a row: row 1, column 1 and row 1"),
        (GOOD[:27] + "4" + GOOD[28:], "the digit 4 is twice in a row: row 4, column 1"),
        (GOOD[:36] + "4" + GOOD[37:], "the digit 4 is twice in a column: row 2, column 1"),
        (GOOD[:10] + "2" + GOOD[11:], "the digit 2 is twice in a column: row 2, column 2"),
        (GOOD[:2] + "4" + GOOD[3:], "the digit 4 is twice in a box: row 1, column 3"),
        ("5" + GOOD[1:], "' has no solution; expected exactly one"),
        (GOOD.replace("6", "0").replace("0", "6", 1), "' has more than one solution; expected"),
    ],
)
def test_bad_lines(tmp_path, capsys, bad, message):
    clues = tmp_path / "clues.txt"
    clues.write_text(f"{GOOD}\n{bad}\n{GOOD}\n{GOOD[:-2]}\n"[: 83 + len(bad)])
    assert prepare(clues, tmp_path / "s.h5") == 1
    error = capsys.readouterr().err
    assert error.startswith(f"error: {clues}, line 2: ") and message in error
    assert error.count("\n") == 1
    assert not (tmp_path / "s.h5").exists()


def test_several_lists_in_any_form_are_prepared_as_one(generated, clues, tmp_path):
    half, out = len(generated[0]) // 2, tmp_path / "s.h5"
    numbered = "".join(f"1,{line}\n" for line in lines(generated[0][:half]).split())
    (tmp_path / "a.csv").write_text(f"id,puzzle\n{numbered}")
    (tmp_path / "b.sdk").write_text(re.sub("(.{9})", r"\1\n", lines(generated[0][half:])))
    names = [str(tmp_path / name) for name in ("a.csv", "b.sdk")]
    assert main(["sudoku", "--clues", *names, "--out", str(out), *SMALL]) == 0
    assert prepare(clues, tmp_path / "one.h5") == 0
    (ours, attributes), (theirs, _) = contents(out), contents(tmp_path / "one.h5")
    for name, array in theirs.items():
        np.testing.assert_array_equal(ours[name], array, err_msg=name)
    assert attributes["source"] == "a.csv,b.sdk" and len(attributes["sha256"].split(",")) == 2


def test_a_list_is_read_from_a_pipe(clues, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=(clues.read_bytes(),))
    writer.start()
    assert prepare(tmp_path / "pipe", tmp_path / "s.h5") == 0
    writer.join()
    assert contents(tmp_path / "s.h5")[1]["sha256"] == ""


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
    error = f"error: {tmp_path / name}: empty; expected puzzles, each of 81 characters or "
    assert capsys.readouterr().err == f"{error}nine lines of 9\n"


def test_files_that_are_no_list(tmp_path, capsys):
    (tmp_path / "page.gz").write_bytes(b"<html>")
    assert prepare(tmp_path / "page.gz", tmp_path / "s.h5") == 1
    assert prepare(tmp_path / "nowhere.txt", tmp_path / "s.h5") == 1
    assert prepare(tmp_path, tmp_path / "s.h5") == 1
    errors = capsys.readouterr().err.splitlines()
    assert "not a whole .gz file (Not a gzipped file" in errors[0]
    assert "No such file" in errors[1] and "nowhere.txt" in errors[1]
    assert "Is a directory" in errors[2] and len(errors) == 3
