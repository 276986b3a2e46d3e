"""The command that solves puzzles: what it writes, and what it says where something is wrong."""

import os
import subprocess
import sys

import pytest

from rrn.tasks.sudoku import solve_sudoku
from rrn.tasks.sudoku.application.__main__ import solve
from rrn.tasks.sudoku.application.drawing import draw_board
from tests.helpers import ROOT
from tests.tasks.sudoku.boards import puzzles, text

BLANK = "." * 81
STEPS = 2


def test_one_puzzle_is_drawn(weights, tmp_path, capsys):
    puzzle = puzzles(1)[0]
    solve(text(puzzle), "cpu", tmp_path / "out", weights, STEPS)
    lines = capsys.readouterr().out.splitlines()
    found = solve_sudoku(puzzle[None], weights, num_steps=STEPS)
    assert "\n".join(lines[:11]) == draw_board(found.solutions[0], found.confidence[0])
    assert not found.valid[0] and lines[11].startswith("invalid: ")
    assert lines[12:] == [str(tmp_path / "out" / "solution.gif")]
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["solution.gif"]


def test_a_file_of_puzzles_is_solved_into_a_file(weights, tmp_path, capsys):
    digits, path = puzzles(4), tmp_path / "puzzles.txt"
    path.write_text("\n".join(text(p, "0") for p in digits))
    solve(str(path), "cpu", tmp_path / "out", weights, STEPS)
    expected = solve_sudoku(digits, weights, num_steps=STEPS)
    lines = (tmp_path / "out" / "solutions.txt").read_text().splitlines()
    assert len(lines) == 4
    for i, line in enumerate(lines):
        puzzle, solution, valid, confidence = line.split()
        assert (puzzle, solution, valid) == (
            text(digits[i]),
            text(expected.solutions[i]),
            "invalid",
        )
        assert float(confidence) == pytest.approx(expected.confidence[i].min(), abs=1e-4)
    out = capsys.readouterr().out
    assert "solutions.txt" in out and "0 of 4 valid (0.00 %)" in out and "boards/s" in out


def test_nothing_is_written_where_the_input_is_wrong(weights, tmp_path):
    path = tmp_path / "puzzles.txt"
    path.write_text(f"{BLANK}\n{BLANK}1\n")
    with pytest.raises(ValueError, match="line 2"):
        solve(str(path), "cpu", tmp_path / "out", weights)
    with pytest.raises(ValueError, match=r"none\.h5: no such file"):
        solve(BLANK, "cpu", tmp_path / "out", "none.h5")
    assert not (tmp_path / "out").exists()


# The programs


def program(*arguments, **environment):
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=240,
    )


def test_the_program_solves(weights, tmp_path):
    flags = ["--weights", weights, "--out", tmp_path, "--devices=cpu", "--steps=3"]
    done = program("-m", "rrn.tasks.sudoku", text(puzzles(1)[0]), *flags)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "solution.gif").exists() and str(tmp_path / "solution.gif") in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "expected one PUZZLE, 81 characters or a file; got 0"),
        (["--serve", BLANK], "expected no PUZZLE with --serve, whose page takes puzzles; got 1"),
        ([BLANK, "--port=65536"], "--port=65536"),
        ([BLANK, "--steps=100000"], "--steps=100000"),
        ([BLANK, "--weights=none.h5"], "none.h5: no such file"),
        (["..1"], "PUZZLE: '..1' has 3 characters; expected 81 (there is no file of that name)"),
        ([BLANK, "--steps=0"], "--steps=0"),
        ([BLANK, "--tries=2"], "--tries is for a file of puzzles"),
    ],
)
def test_what_is_wrong_is_said_in_one_line_before_tensorflow_loads(arguments, message, tmp_path):
    (tmp_path / "tensorflow.py").write_text("raise SystemExit('TensorFlow was imported')")
    done = program("-m", "rrn.tasks.sudoku", *arguments, PYTHONPATH=str(tmp_path))
    assert done.returncode == (1 if ": " in message else 2)
    assert "Traceback" not in done.stderr
    (error,) = (line for line in done.stderr.splitlines() if line.startswith("error: "))
    assert message in error


@pytest.mark.parametrize("flags", [["--mode=solve"], ["--mode", "solve"], [f"--puzzle={BLANK}"]])
def test_main_names_the_command(flags):
    done = program("main.py", *flags)
    assert done.returncode == 2
    assert done.stderr == (
        "error: `python -m rrn.tasks.sudoku PUZZLE` solves Sudoku puzzles, not main.py\n"
    )
