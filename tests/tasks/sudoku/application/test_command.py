"""The command that solves puzzles: what it writes, and what it says where something is wrong."""

import errno
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from rrn.tasks.sudoku import solve_sudoku
from rrn.tasks.sudoku.application import solving
from rrn.tasks.sudoku.application.__main__ import solve
from rrn.tasks.sudoku.application.drawing import draw_board
from rrn.tasks.sudoku.application.solving import Solver
from rrn.tasks.sudoku.task import SEGMENT_STEPS
from tests.helpers import ROOT
from tests.program import hear_signals
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
    assert lines[11].endswith("; the puzzle has more than one solution")
    assert lines[12:] == [str(tmp_path / "out" / "solution.gif")]
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["solution.gif"]


def test_one_puzzle_makes_no_further_steps_when_it_is_solved(weights, tmp_path, monkeypatch):
    monkeypatch.setattr(solving, "is_solution", lambda puzzles, _: np.ones(len(puzzles), bool))
    solve(text(puzzles(1)[0]), "cpu", tmp_path, weights, 3 * SEGMENT_STEPS)
    with Image.open(tmp_path / "solution.gif") as image:
        assert image.n_frames == 1 + SEGMENT_STEPS  # the puzzle, and the first segment's steps


def test_a_file_of_puzzles_is_solved_into_a_file(weights, tmp_path, capsys):
    digits, path = puzzles(4, givens=60), tmp_path / "puzzles.txt"
    path.write_text("\n".join(text(p, "0") for p in digits))
    solve(str(path), "cpu", tmp_path / "out", weights, STEPS)
    expected = solve_sudoku(digits, weights, num_steps=STEPS)
    assert (expected.num_solutions == 1).all()
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


def test_files_in_any_form_are_solved_as_one_list_and_their_puzzles_judged(
    weights, tmp_path, capsys
):
    """Also those that have no solution, or more than one."""
    unsolvable = "5168497323.76.5...8.97...65135.6.9.7472591..696837..5.253186.746842.75..791.5.6.8"
    two = "53467891267219534819834256785976.42.42685.79.713924856961537284287419635345286179"
    rows = [text(puzzles(1, givens=70)[0])[i : i + 9] for i in range(0, 81, 9)]
    (tmp_path / "a.sdk").write_text("#Amine\n" + "\n".join(rows))
    (tmp_path / "b.csv").write_text(f"id,quiz\n1,{unsolvable}\n2,{two}\n")
    names = [str(tmp_path / name) for name in ("a.sdk", "b.csv")]
    solve(names, "cpu", tmp_path / "out", weights, STEPS)
    lines = (tmp_path / "out" / "solutions.txt").read_text().splitlines()
    assert [line.split()[0] for line in lines] == ["".join(rows), unsolvable, two]
    assert [line.split(maxsplit=4)[4:] for line in lines] == [
        [],
        ["no solution"],
        ["more than one solution"],
    ]
    out = capsys.readouterr().out
    assert out.endswith("; 1 with no solution; 1 with more than one solution\n")


def test_a_list_goes_on_where_it_was_stopped(weights, tmp_path, capsys, monkeypatch):
    """The same file as without the stop."""
    digits, path, real = puzzles(9), tmp_path / "puzzles.txt", Solver.stream
    path.write_text("\n".join(map(text, digits)))
    solve(str(path), "cpu", tmp_path / "whole", weights, STEPS, tries=2)
    monkeypatch.setattr(solving, "BATCH", 2)

    def stop(*args):
        for number, part in enumerate(real(*args)):
            if number == 2:
                raise KeyboardInterrupt
            yield part

    monkeypatch.setattr(Solver, "stream", stop)
    with pytest.raises(KeyboardInterrupt):
        solve(str(path), "cpu", tmp_path / "out", weights, STEPS, tries=2)
    (part,) = (tmp_path / "out").iterdir()
    assert part.name.endswith(".part")
    done = len(part.read_text().splitlines())
    assert 0 < done < 9
    asked = []
    monkeypatch.setattr(Solver, "stream", lambda *args: asked.append(args[2]) or real(*args))
    capsys.readouterr()
    solve(str(path), "cpu", tmp_path / "out", weights, STEPS, tries=2)
    assert len(asked[0]) == 9 - done
    assert f"{part}: goes on after {done} of 9 puzzles" in capsys.readouterr().out
    ours, theirs = ((tmp_path / n / "solutions.txt").read_text() for n in ("out", "whole"))
    assert [line.split()[:3] for line in ours.splitlines()] == [
        line.split()[:3] for line in theirs.splitlines()
    ]
    assert len(list((tmp_path / "out").iterdir())) == 1


def test_a_full_disk_is_named_with_its_file(weights, tmp_path, monkeypatch):
    def full(path, data):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match=r"out/solution\.gif"):
        solve(BLANK, "cpu", tmp_path / "out", weights, STEPS)


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
        preexec_fn=hear_signals,
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
        (["..1"], "has 3 characters; expected 81"),
        ([""], "PUZZLE: no puzzle; expected 81"),
        ([f"{BLANK}\n{BLANK}"], "PUZZLE: there are 2; expected one, or files"),
        (["none.txt", "setup.py"], "none.txt: no such file; expected one PUZZLE, or files"),
        (["setup.py"], "setup.py, line 1: "),
        ([BLANK, "--weights="], "--weights=: empty; give a value, or leave the flag out"),
        ([BLANK, "--out="], "--out=: empty; give a value, or leave the flag out"),
        ([BLANK, "--devices="], "--devices=: empty; give a value, or leave the flag out"),
        ([BLANK, "--steps=0"], "--steps=0"),
        ([BLANK, "--tries=2"], "--tries is for a file of puzzles"),
    ],
)
def test_what_is_wrong_is_said_in_one_line_before_tensorflow_loads(arguments, message, tmp_path):
    (tmp_path / "tensorflow.py").write_text("raise SystemExit('TensorFlow was imported')")
    done = program("-m", "rrn.tasks.sudoku", *arguments, PYTHONPATH=str(tmp_path))
    wrong_flag = message.startswith(("--", "expected"))
    assert done.returncode == (2 if wrong_flag else 1)
    assert "Traceback" not in done.stderr
    (error,) = (line for line in done.stderr.splitlines() if line.startswith("error: "))
    assert message in error


def test_a_port_that_is_taken_is_named_before_tensorflow_loads(tmp_path):
    (tmp_path / "tensorflow.py").write_text("raise SystemExit('TensorFlow was imported')")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        flags = ["--serve", f"--port={port}"]
        done = program("-m", "rrn.tasks.sudoku", *flags, PYTHONPATH=str(tmp_path))
    expected = f"error: --port={port}: Address already in use; give another one, or 0 for any that"
    assert done.returncode == 1 and done.stderr.startswith(expected)
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("blank", "-_x")
def test_a_puzzle_may_look_like_a_flag(blank, tmp_path):
    """Also one that begins with a dash; here a digit is twice, which is known at once."""
    puzzle = f"{blank}11{BLANK[3:]}".replace(".", blank)
    done = program("-m", "rrn.tasks.sudoku", puzzle, "--out", tmp_path)
    assert done.stderr.startswith(
        "error: PUZZLE, line 1: no solution, the digit 1 is twice in a row"
    )


def test_output_that_cannot_show_a_character_does_not_end_the_program(weights, tmp_path):
    flags = ["--weights", weights, "--out", tmp_path / "gelöst", "--devices=cpu", "--steps=1"]
    ascii_only = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    ascii_only["PYTHONIOENCODING"] = "ascii:strict"
    done = program("-m", "rrn.tasks.sudoku", BLANK, *flags, **ascii_only)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "gelöst" / "solution.gif").exists() and "gel\\" in done.stdout


def lines_of(err):
    """What a program has said, without TensorFlow's greetings."""
    return [line for line in err.splitlines() if not line.startswith(("WARNING", "I0000"))]


@pytest.mark.slow
@pytest.mark.parametrize("phase", ["solving", "serving"])
def test_ctrl_c_ends_the_program_with_a_line(weights, tmp_path, phase):
    words = ["--serve", "--port=0"]
    if phase == "solving":
        (tmp_path / "puzzles.txt").write_text(f"{BLANK}\n" * 20_000)
        words = [tmp_path / "puzzles.txt", "--out", tmp_path, "--steps=1"]
    process = subprocess.Popen(
        [*(sys.executable, "-m", "rrn.tasks.sudoku", "--devices=cpu"), *map(str, words)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=hear_signals,
    )
    try:
        if phase == "serving":
            assert process.stdout.readline().startswith("http://127.0.0.1:")
        else:
            until = time.monotonic() + 200
            while not any(path.stat().st_size for path in tmp_path.glob("*.part")):
                assert time.monotonic() < until
                time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=100)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 130
    (line,) = lines_of(err)
    assert line.startswith("error: interrupted")
    if phase == "solving":
        (part,) = tmp_path.glob("solutions.txt.*.part")
        assert f" of 20,000 puzzles are done, in {part}: the same command goes on" in line
