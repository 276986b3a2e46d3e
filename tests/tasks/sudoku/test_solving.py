"""Solving Sudoku: what is accepted, what is found, what is written."""

import gzip
import importlib.util
import io
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf
from PIL import Image

import rrn
from configs.sudoku import get_config
from rrn.tasks.sudoku import Sudoku, solving
from rrn.tasks.sudoku.solving import (
    CELL,
    Solver,
    animation,
    check_puzzles,
    draw_board,
    is_solution,
    read_puzzles,
    solutions_from,
    solve,
)
from rrn.weights import model_variables, save_weights
from tests.compare import assert_close
from tests.helpers import ROOT

GRID = np.array([(3 * (r % 3) + r // 3 + c) % 9 + 1 for r in range(9) for c in range(9)])
STEPS = 2


def puzzles(count, givens=30):
    """Digits `[count, 81]`: some cells of `GRID`."""
    random = np.random.default_rng(0)
    shown = random.random([count, 81]).argsort(axis=1) < givens
    return np.where(shown, GRID, 0).astype(np.int32)


def text(digits, blank="."):
    return "".join(map(str, digits)).replace("0", blank)


@pytest.fixture(scope="module")
def weights(tmp_path_factory):
    """Untrained weights of the paper's size."""
    tf.random.set_seed(0)
    path = tmp_path_factory.mktemp("weights") / "weights.h5"
    save_weights(path, model_variables(Sudoku(get_config().model)), {})
    return path


# What is accepted


def test_puzzles_are_strings_or_digits():
    digits = puzzles(3)
    for form in (
        digits,
        digits.astype(np.uint8),
        digits.tolist(),
        [text(p) for p in digits],
        [text(p, "0") for p in digits],
    ):
        checked = check_puzzles(form, str)
        assert checked.dtype == np.int32
        np.testing.assert_array_equal(checked, digits)


@pytest.mark.parametrize("name", ["puzzles.txt", "puzzles.txt.gz"])
def test_a_file_has_a_puzzle_in_each_line(tmp_path, name):
    digits, path = puzzles(3), tmp_path / name
    data = "\r\n".join([text(digits[0]), text(digits[1], "0"), text(digits[2])]).encode()
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    np.testing.assert_array_equal(read_puzzles(str(path)), digits)


BLANK = "." * 81
WRONG = {
    "short": (["1" + BLANK[2:]], ["puzzle 1: '1.", "has 80 characters; expected 81"]),
    "character": ([BLANK, "..x.y" + BLANK[5:]], ["puzzle 2: character 3 is 'x'", "0 or . for"]),
    "other digit": (["." * 80 + "٣"], ["puzzle 1: character 81 is '٣'"]),
    "row": (["7......7." + BLANK[9:]], ["digit 7", "a row: row 1, column 1 and row 1, column 8"]),
    "column": (
        ["." * 9 + "..3" + "." * 51 + "..3" + "." * 15],
        ["digit 3", "a column: row 2, column 3 and row 8, column 3"],
    ),
    "box": (["." * 60 + "5" + "." * 10 + "5" + "." * 9], ["a box", "row 7, column 7 and row 8"]),
    "large": (
        [[*[0] * 10, 10, *[0] * 70]],
        ["row 2, column 2 holds 10; expected 0 to 9"],
    ),
    "negative": ([[-1] + [0] * 80], ["row 1, column 1 holds -1"]),
    "shape": (np.zeros([2, 9, 9], int), ["[n, 81]", "(2, 9, 9)"]),
    "type": (np.zeros([2, 81]), ["integers", "float64"]),
    "a string": (BLANK, ["expected a list of puzzles"]),
    "none": ([], ["expected a list of puzzles", "[]"]),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_with_a_puzzle_is_said_in_one_line(case):
    wrong, parts = WRONG[case]
    with pytest.raises(ValueError) as error:
        check_puzzles(wrong, "puzzle {}".format)
    message = str(error.value)
    assert all(part in message for part in parts), message
    assert "\n" not in message


@pytest.mark.parametrize(
    ("name", "data", "parts"),
    [
        ("{p}.txt", f"{BLANK}\n{BLANK[1:]}\n".encode(), ["line 2", "80 characters"]),
        ("p.txt", f"{BLANK}\n\n{BLANK}".encode(), ["line 2: '' has 0 characters"]),
        ("p.txt", b"\xff" * 81, ["line 1", "character 1"]),
        ("p.txt", f"{BLANK}\n11{BLANK[2:]}".encode(), ["line 2", "the digit 1 is twice in a row"]),
        ("p.txt", b"", ["empty"]),
        ("p.txt.gz", gzip.compress(BLANK.encode(), mtime=0)[:-9], ["not a whole .gz file"]),
        ("p.txt.gz", BLANK.encode(), ["not a whole .gz file"]),
    ],
)
def test_a_wrong_file_is_named_with_its_line(tmp_path, name, data, parts):
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(ValueError) as error:
        read_puzzles(str(path))
    assert all(part in str(error.value) for part in [str(path), *parts]), error.value


def test_what_is_neither_a_puzzle_nor_a_file_is_an_error():
    with pytest.raises(ValueError, match=r"--puzzle: 'none\.txt' has 8 characters.*no file"):
        read_puzzles("none.txt")


# What is found


def test_a_solution_has_every_digit_once_in_each_unit_and_keeps_the_givens():
    puzzle = puzzles(1)[0]
    swapped = GRID.copy()  # rows stay right, columns and boxes don't
    swapped[[0, 8]] = swapped[[8, 0]]
    relabelled = GRID % 9 + 1  # a valid grid, but of other digits
    blank = GRID.copy()
    blank[40] = 0
    solutions = np.array([GRID, swapped, relabelled, blank, GRID.reshape(9, 9).T.ravel()])
    assert is_solution(np.tile(puzzle, [5, 1]), solutions).tolist() == [True] + [False] * 4
    assert is_solution(np.zeros([5, 81]), solutions).tolist() == [True, False, True, False, True]


def test_the_answer_is_the_likeliest_digit_and_never_blank():
    beliefs = np.full([2, 81, 10], 0.01)
    beliefs[:, range(81), GRID] = 0.4
    beliefs[0, 0, 0] = 0.5
    beliefs[1, 5] = 0.1
    beliefs[1, 5, GRID[5] % 9 + 1] = 0.2
    solutions, confidence, valid = solutions_from(puzzles(2, givens=0), beliefs)
    np.testing.assert_array_equal(solutions[0], GRID)
    np.testing.assert_array_equal(confidence[0], 0.4)
    assert solutions[1, 5] == GRID[5] % 9 + 1 and confidence[1, 5] == 0.2
    assert valid.tolist() == [True, False]


def test_batches_of_a_traced_function_give_what_one_batch_gives(weights, monkeypatch):
    digits = puzzles(5)
    expected = rrn.solve_sudoku(digits, weights, num_steps=STEPS)
    assert isinstance(expected, solving.Solutions)
    assert expected.solutions.shape == expected.confidence.shape == (5, 81)
    assert expected.solutions.min() >= 1 and expected.solutions.max() <= 9
    assert (expected.confidence > 0).all() and (expected.confidence < 1).all()
    np.testing.assert_array_equal(expected.valid, is_solution(digits, expected.solutions))
    monkeypatch.setattr(solving, "BATCH", 3)
    batches = rrn.solve_sudoku([text(p) for p in digits], weights, num_steps=STEPS)
    np.testing.assert_array_equal(batches.solutions, expected.solutions)
    assert_close(batches.confidence, expected.confidence)


def test_beliefs_are_the_tasks_probabilities_of_every_step(weights):
    solver, digits = Solver(get_config().model, weights, STEPS), puzzles(2)
    task = solver.task
    logits, _ = task.logits(task.encode({}), tf.constant(digits), STEPS)
    logits = logits.numpy().astype(np.float64)
    probabilities = np.exp(logits) / np.exp(logits).sum(axis=-1, keepdims=True)
    assert_close(solver.beliefs(digits), probabilities)


def test_weights_come_from_the_flag_the_run_or_the_package(weights, tmp_path, monkeypatch):
    monkeypatch.setattr(solving, "PRETRAINED", tmp_path / "pretrained.h5")
    with pytest.raises(ValueError, match=r"no trained weights.*pretrained\.h5.*main\.py"):
        rrn.solve_sudoku(puzzles(1))
    with pytest.raises(ValueError, match=r"none\.h5: no such file"):
        rrn.solve_sudoku(puzzles(1), "none.h5")
    (tmp_path / "pretrained.h5").write_bytes(weights.read_bytes())
    assert rrn.solve_sudoku(puzzles(1), num_steps=1).solutions.shape == (1, 81)
    defaults = tmp_path / "none.h5", tmp_path / "pretrained.h5"
    assert solving.find_weights(None, *defaults) == defaults[1]
    assert solving.find_weights(None, *defaults, weights) == defaults[1]
    assert solving.find_weights("given", *defaults) == "given"


# What is written


def small_config():
    config = get_config()
    config.model.evaluation_steps = STEPS
    return config


def test_one_puzzle_is_drawn(weights, tmp_path, capsys):
    puzzle = puzzles(1)[0]
    solve(small_config(), text(puzzle), "cpu", tmp_path / "run", weights)
    lines = capsys.readouterr().out.splitlines()
    solution, confidence, valid = (
        part[0] for part in rrn.solve_sudoku(puzzle[None], weights, num_steps=STEPS)
    )
    assert "\n".join(lines[:11]) == draw_board(solution, confidence)
    assert not valid and lines[11].startswith("invalid: ")
    assert lines[12:] == [str(tmp_path / "run" / "solution.gif")]
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["solution.gif"]


def test_a_board_in_text():
    lines = draw_board(GRID, np.linspace(0, 1, 81)).splitlines()
    assert len(lines) == 11 and lines[3] == lines[7] and set(lines[3]) <= set("-+ ")
    rows = [line for line in lines if "-" not in line]
    digits, percent = zip(*(row.replace("|", " ").split("      ", 1) for row in rows), strict=True)
    np.testing.assert_array_equal(np.array(" ".join(digits).split(), int), GRID)
    expected = np.linspace(0, 100, 81)
    np.testing.assert_allclose(np.array(" ".join(percent).split(), int), expected, atol=1)


def test_the_animation_has_a_frame_for_every_step():
    puzzle = puzzles(1)[0]
    noise = np.random.default_rng(0).normal(size=[81, 1, 10])
    noise[..., 0] = -3  # the blank
    surer = np.exp(noise * np.arange(64)[:, None] / 8)
    beliefs = surer / surer.sum(axis=-1, keepdims=True)
    data = animation(puzzle, beliefs)
    assert len(data) < 1_000_000
    image = Image.open(io.BytesIO(data))
    assert image.format == "GIF" and image.n_frames == 65
    frames = []
    for frame in (0, 1, 64):
        image.seek(frame)
        frames.append(np.array(image.convert("RGB")))
    inked = [cells_with_ink(frame) for frame in frames]
    np.testing.assert_array_equal(inked[0], puzzle.reshape(9, 9) > 0)  # the puzzle alone
    assert inked[1].all() and inked[2].all()
    assert (frames[1] != frames[2]).any()


def cells_with_ink(frame):
    """`[9, 9]`: where a cell's inside is not of one colour."""
    cells = frame[1 : 1 + 9 * CELL, 1 : 1 + 9 * CELL].reshape(9, CELL, 9, CELL, 3)
    cells = cells[:, 4:-4, :, 4:-4]
    return (cells != cells[:, :1, :, :1]).any(axis=(1, 3, 4))


def test_a_file_of_puzzles_is_solved_into_a_file(weights, tmp_path, capsys):
    digits, path = puzzles(4), tmp_path / "puzzles.txt"
    path.write_text("\n".join(text(p, "0") for p in digits))
    solve(small_config(), str(path), "cpu", tmp_path / "run", weights)
    expected = rrn.solve_sudoku(digits, weights, num_steps=STEPS)
    lines = (tmp_path / "run" / "solutions.txt").read_text().splitlines()
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
    path, config = tmp_path / "puzzles.txt", small_config()
    path.write_text(f"{BLANK}\n{BLANK}1\n")
    with pytest.raises(ValueError, match="line 2"):
        solve(config, str(path), "cpu", tmp_path / "run", weights)
    with pytest.raises(ValueError, match=r"none\.h5: no such file"):
        solve(config, BLANK, "cpu", tmp_path / "run", "none.h5")
    config.task = "babi"
    with pytest.raises(ValueError, match=r"--mode solve is Sudoku's.*got babi"):
        solve(config, BLANK, "cpu", tmp_path / "run", weights)
    assert not (tmp_path / "run").exists()


# The program


def program(*arguments):
    command = [
        sys.executable,
        "main.py",
        "--config",
        "configs/sudoku.py:test",
        *map(str, arguments),
    ]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=100)


def test_the_program_solves(weights, tmp_path):
    flags = ["--mode=solve", "--weights", weights, "--workdir", tmp_path, "--devices=cpu"]
    done = program(*flags, "--puzzle", text(puzzles(1)[0]))
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "solution.gif").exists() and str(tmp_path / "solution.gif") in done.stdout


@pytest.mark.parametrize("flags", [["--mode=solve"], [f"--puzzle={BLANK}"]])
def test_mode_solve_and_a_puzzle_need_each_other(flags):
    done = program(*flags)
    assert done.returncode == 1
    assert done.stderr.startswith("error: --mode solve and --puzzle need each other; got")


def test_rrn_imports_solving_only_if_asked():
    spec = importlib.util.find_spec("rrn")
    fresh = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(fresh)
    assert "solve_sudoku" not in vars(fresh)
    assert fresh.solve_sudoku is solving.solve_sudoku
    with pytest.raises(AttributeError, match="'rrn' has no attribute 'nonsense'"):
        _ = fresh.nonsense
