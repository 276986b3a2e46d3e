"""The command that solves puzzles: what it writes, and what it says where something is wrong."""

import socket

import pytest
from PIL import Image

import rrn
from rrn.tasks.sudoku import __main__ as command
from rrn.tasks.sudoku.drawing import draw_board
from rrn.tasks.sudoku.solving import Solver
from tests.tasks.sudoku.boards import puzzles, text

BLANK = "." * 81
STEPS = 2


@pytest.fixture
def run(weights):
    """The exit status of the command with some words."""
    flags = [f"--weights={weights}", "--devices=cpu", f"--steps={STEPS}"]
    return lambda *words: command.main([*map(str, words), *flags])


def test_a_puzzle_is_printed_and_drawn(run, weights, tmp_path, capsys):
    puzzle = puzzles(1)[0]
    assert run(text(puzzle), "--out", tmp_path / "x.gif") == 0
    lines = capsys.readouterr().out.splitlines()
    found = rrn.solve_sudoku(puzzle[None], weights, num_steps=STEPS)
    assert "\n".join(lines[:11]) == draw_board(found.solutions[0], found.confidence[0])
    assert not found.valid[0] and lines[11].startswith("invalid: ")
    assert lines[11].endswith("; the puzzle has more than one solution")
    assert lines[12:] == [str(tmp_path / "x.gif")]
    with Image.open(tmp_path / "x.gif") as image:
        assert image.n_frames == 1 + STEPS


def test_the_lines_of_a_list_go_to_the_output_or_into_a_file(
    run, weights, tmp_path, capsys, monkeypatch
):
    unsolvable = "5168497323.76.5...8.97...65135.6.9.7472591..696837..5.253186.746842.75..791.5.6.8"
    listed = [*map(text, puzzles(2, givens=60)), unsolvable, BLANK]
    path = tmp_path / "puzzles.txt"
    path.write_text("\n".join(listed))
    assert run(path) == 0
    out, err = capsys.readouterr()
    found = rrn.solve_sudoku(listed, weights, num_steps=STEPS)
    for i, line in enumerate(out.splitlines()):
        puzzle, solution, valid, confidence, *remark = line.split(maxsplit=4)
        assert (puzzle, solution, valid) == (listed[i], text(found.solutions[i]), "invalid")
        assert float(confidence) == pytest.approx(found.confidence[i].min(), abs=1e-4)
        assert remark == [[], [], ["no solution"], ["more than one solution"]][i]
    assert i == 3 and err.endswith("0 of 4 valid (0.00 %)\n")

    assert run(path, "--out", tmp_path / "solved.txt") == 0
    assert (tmp_path / "solved.txt").read_text() == out
    assert capsys.readouterr().out == ""

    whole = Solver.stream

    def killed(*args):
        yield next(whole(*args))
        raise KeyboardInterrupt

    monkeypatch.setattr(Solver, "stream", killed)
    assert run(path, "--out", tmp_path / "part.txt") == 130
    assert (tmp_path / "part.txt").read_text() == out[: len((tmp_path / "part.txt").read_text())]
    assert capsys.readouterr().err.endswith("error: interrupted\n")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "expected a PUZZLE of 81 characters, a FILE, or --serve"),
        ([BLANK, "--serve"], "expected a PUZZLE of 81 characters, a FILE, or --serve"),
        ([BLANK, "--steps=0"], "--steps 0: expected"),
        ([BLANK, "--weights=none.h5"], "none.h5: no such file"),
        ([BLANK, "--devices=gpu:99"], "gpu:99"),
        ([BLANK, "--out=solved.txt"], "--out=solved.txt: expected a .gif, for a PUZZLE"),
        ([BLANK, "--steps=1", "--out=none/x.gif"], "none/x.gif"),
        (["setup.cfg", "--out=x.gif"], "PUZZLE (no such file)"),
        (["pyproject.toml"], "pyproject.toml, line 1: "),
        (["..1"], "PUZZLE (no such file), line 1: '..1' has 3 characters"),
        ([f"{BLANK}\n{BLANK}"], "PUZZLE: there are 2; expected one, or a FILE"),
        ([f"11{BLANK[2:]}"], "the digit 1 is twice in a row"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(words, message, capsys):
    try:
        status = command.main(words)
    except SystemExit as error:
        status = error.code
    assert status == (2 if message.startswith(("expected", "--steps")) else 1)
    err = capsys.readouterr().err
    assert err.startswith("error: ") and message in err and err.count("\n") == 1


def test_a_port_that_is_taken_is_named(capsys):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert command.main([f"--serve={port}"]) == 1
    assert f"error: --serve={port}: Address already in use" in capsys.readouterr().err
