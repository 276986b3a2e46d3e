"""Solving Sudoku puzzles with trained weights.

The network's most likely digits are the answer, and whether they solve the puzzle is then checked.
What is not checked is whether a puzzle has a solution, and only one.
"""

import functools
import io
import os
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import tensorflow as tf
from ml_collections import ConfigDict

from data_prep.sudoku.puzzles import (
    KINDS,
    UNITS,
    PuzzleError,
    parse_puzzles,
    read_lines,
    repeats_digit,
)
from rrn.distribute import parse_devices
from rrn.reading import reading_scope
from rrn.tasks.sudoku.task import Sudoku
from rrn.weights import load_weights, model_variables

BATCH = 128  # puzzles at a time
PRETRAINED = Path(__file__).resolve().parents[3] / "pretrained" / "sudoku.h5"
PAPER_MODEL = ConfigDict(
    {"embedding_size": 16, "hidden_size": 96, "compute_dtype": "float32", "recompute": False}
)


class Solutions(NamedTuple):
    """What the network makes of n puzzles.

    solutions: digits 1 to 9 `[n, 81]`; confidence: each digit's probability `[n, 81]`; valid:
    whether they solve the puzzle `[n]`, with the givens kept and every digit once in every row,
    column and box.
    """

    solutions: np.ndarray
    confidence: np.ndarray
    valid: np.ndarray


def solve_sudoku(puzzles, weights=None, num_steps=64):
    """Solves puzzles with a trained network of the paper's size; returns `Solutions`.

    puzzles: strings of 81 characters, row by row, `.` or `0` for a blank; or digits `[n, 81]`, 0
    for a blank. weights: a run's weights.h5; `pretrained/sudoku.h5` if not given. num_steps: the
    network's steps.

    Raises:
      ValueError: a puzzle is malformed or its givens contradict each other; no weights, or not of
        this model.
    """
    digits = check_puzzles(puzzles, "puzzle {}".format)
    return Solver(PAPER_MODEL, find_weights(weights, PRETRAINED), num_steps).solve(digits)


def find_weights(weights, *defaults):
    """`weights` if given, or the first of `defaults` that is there."""
    for path in (weights,) if weights else defaults:
        if weights or os.path.exists(path):
            return path
    raise ValueError(
        f"no trained weights: there is no {' and no '.join(map(str, defaults))}; "
        "`python main.py --config configs/sudoku.py` trains some, or name a weights file"
    )


# Puzzles


def read_puzzles(puzzle):
    """Digits `[n, 81]` of 81 characters, or of a file, plain or .gz, with as many in each line.

    Raises:
      ValueError: what is wrong, and where.
    """
    if not os.path.isfile(puzzle):
        try:
            return check_puzzles([puzzle], lambda number: "--puzzle")
        except ValueError as error:
            raise ValueError(f"{error} (there is no file of that name)") from None
    return check_puzzles(read_lines(Path(puzzle)), lambda number: f"{puzzle}, line {number}")


def check_puzzles(puzzles, name):
    """Digits `[n, 81]` int32 of strings or digits; an error calls the i-th, from 1, `name(i)`."""
    if isinstance(puzzles, str) or not len(puzzles):
        raise ValueError(f"expected a list of puzzles or digits [n, 81], got {puzzles!r}")
    digits = _parse(puzzles, name) if isinstance(puzzles[0], str) else np.asarray(puzzles)
    if digits.ndim != 2 or digits.shape[1] != 81 or digits.dtype.kind not in "iu":
        raise ValueError(
            f"expected strings or integers [n, 81], got {digits.dtype} of shape {digits.shape}"
        )
    if ((digits < 0) | (digits > 9)).any():
        puzzle, cell = np.argwhere((digits < 0) | (digits > 9))[0]
        where = f"{name(puzzle + 1)}: {_place(cell)}"
        raise ValueError(f"{where} holds {digits[puzzle, cell]}; expected 0 to 9")
    _check_givens(digits, name)
    return digits.astype(np.int32)


def _parse(lines, name):
    try:
        return parse_puzzles(lines)
    except PuzzleError as error:
        what, cell = str(error), error.cell
        if cell is not None:
            character = lines[error.index][cell]
            what = f"character {cell + 1} is {character!r}; expected digits, and 0 or . for a blank"
        raise ValueError(f"{name(error.index + 1)}: {what}") from None


def _check_givens(digits, name):
    """Raises ValueError where a digit is twice in a row, column or box."""
    repeats = repeats_digit(digits)
    if repeats.any():
        puzzle, unit = np.argwhere(repeats)[0]
        held = digits[puzzle, UNITS[unit]]
        digit = min(digit for digit in held if digit and (held == digit).sum() > 1)
        first, second, *_ = UNITS[unit][held == digit]
        raise ValueError(
            f"{name(puzzle + 1)}: no solution, the digit {digit} is twice in a "
            f"{KINDS[unit // 9]}: {_place(first)} and {_place(second)}"
        )


def _place(cell):
    return f"row {cell // 9 + 1}, column {cell % 9 + 1}"


def is_solution(puzzles, solutions):
    """`[n]`: whether the solutions hold every digit once in every unit, and the puzzles' givens."""
    complete = (np.sort(solutions[:, UNITS], axis=2) == np.arange(1, 10)).all(axis=(1, 2))
    return complete & ((puzzles == 0) | (puzzles == solutions)).all(axis=1)


# Solving


class Solver:
    """A Sudoku network with weights from a file."""

    def __init__(self, config, weights, num_steps):
        """config: the experiment's `model`."""
        self.num_steps, self.task = num_steps, Sudoku(config)
        load_weights(weights, model_variables(self.task))

    def beliefs(self, puzzles):
        """The digits' probabilities at every step, `[n, 81, steps, 10]`; all puzzles at once."""
        with reading_scope():
            logits, _ = self.task.logits(self.task.encode({}), puzzles, self.num_steps)
        return tf.nn.softmax(logits)

    def solve(self, puzzles):
        """`Solutions` of puzzles, digits `[n, 81]`."""

        def last_beliefs(puzzles):
            return self.beliefs(puzzles)[:, :, -1]

        if len(puzzles) <= BATCH:  # tracing would take longer than it saves
            return solutions_from(puzzles, last_beliefs(puzzles).numpy())
        traced, parts = tf.function(last_beliefs), []
        for start in range(0, len(puzzles), BATCH):
            part = puzzles[start : start + BATCH]
            full = np.resize(part, [BATCH, 81])  # the last one, too: one trace serves all
            parts.append(traced(tf.constant(full)).numpy()[: len(part)])
        return solutions_from(puzzles, np.concatenate(parts))


def solutions_from(puzzles, beliefs):
    """`Solutions` from the digits' probabilities `[n, 81, 10]`: the likeliest but 0, the blank."""
    solutions = beliefs[..., 1:].argmax(axis=-1) + 1
    confidence = np.take_along_axis(beliefs, solutions[..., None], axis=-1)[..., 0]
    return Solutions(solutions, confidence, is_solution(puzzles, solutions))


# The command


def solve(config, puzzle, devices, workdir, weights=None):
    """Solves `puzzle`, 81 characters or a file's name, and reports it: `main.py --mode solve`.

    Of one puzzle it prints the solution and each digit's probability, and draws `solution.gif`. Of
    a file it writes `solutions.txt`, a line each: the puzzle, its solution, "valid" or "invalid",
    and the lowest probability of a digit.

    config: the experiment's; devices: the flag's value, the first one solves.

    Raises:
      ValueError: another task's config, a wrong puzzle (then nothing is written), or no weights.
    """
    if config.task != "sudoku":
        raise ValueError(f"--mode solve is Sudoku's, as of configs/sudoku.py; got {config.task}")
    puzzles = read_puzzles(puzzle)
    workdir = Path(workdir)
    weights = find_weights(weights, workdir / "weights.h5", PRETRAINED)
    with tf.device(parse_devices(devices)[0]):
        solver = Solver(config.model, weights, config.model.evaluation_steps)
        workdir.mkdir(parents=True, exist_ok=True)
        report = _report_file if os.path.isfile(puzzle) else _report_puzzle
        report(solver, puzzles, workdir)


def _report_puzzle(solver, puzzles, workdir):
    beliefs = solver.beliefs(puzzles).numpy()
    (solution,), (confidence,), (valid,) = solutions_from(puzzles, beliefs[:, :, -1])
    print(draw_board(solution, confidence))
    print(
        "valid: a full grid that keeps the givens, every digit once in each row, column and box"
        if valid
        else "invalid: a digit is twice in a row, column or box, or a given is not kept"
    )
    _write(workdir / "solution.gif", animation(puzzles[0], beliefs[0]))


def _report_file(solver, puzzles, workdir):
    started = time.monotonic()
    solutions, confidence, valid = solver.solve(puzzles)
    seconds = time.monotonic() - started
    lines = [
        f"{''.join(map(str, p)).replace('0', '.')} {''.join(map(str, s))} "
        f"{'valid' if v else 'invalid'} {c:.4f}\n"
        for p, s, v, c in zip(puzzles, solutions, valid, confidence.min(axis=1), strict=True)
    ]
    _write(workdir / "solutions.txt", "".join(lines).encode())
    print(
        f"{valid.sum():,} of {len(valid):,} valid ({100 * valid.mean():.2f} %) "
        f"in {seconds:.1f} s, {len(valid) / seconds:,.1f} boards/s"
    )


def _write(path, data):
    """Writes a file that appears whole or not at all."""
    temporary = path.with_name(f"{path.name}.tmp")
    temporary.write_bytes(data)
    os.replace(temporary, path)
    print(path)


def draw_board(solution, confidence):
    """The digits `[81]` as text, and beside them their probabilities in percent."""
    lines = []
    for row in np.arange(81).reshape(9, 9):
        digits = (" ".join(str(d) for d in three) for three in solution[row].reshape(3, 3))
        percent = ("".join(f"{100 * p:4.0f}" for p in c) for c in confidence[row].reshape(3, 3))
        lines.append(" " + " | ".join(digits) + "      " + " |".join(percent))
        if row[0] in (18, 45):
            lines.append("-------+-------+-------    " + "+".join(["-" * 13] * 3))
    return "\n".join(lines)


CELL, CAPTION = 44, 24  # pixels


def animation(puzzle, beliefs):
    """A GIF of what the network believes of one puzzle, a frame for each step: bytes.

    puzzle: `[81]`; beliefs: probabilities `[81, steps, 10]`. A digit's area is its probability, and
    it moves to the middle of its cell as that grows. Givens are black on grey. The first frame is
    the puzzle.
    """
    given = np.eye(10)[puzzle]
    num_steps = beliefs.shape[1]
    frames = [_draw_beliefs(puzzle, given, f"puzzle with {np.count_nonzero(puzzle)} givens")]
    for step in range(num_steps):
        frames.append(_draw_beliefs(puzzle, beliefs[:, step], f"step {step + 1} of {num_steps}"))
    file = io.BytesIO()
    durations = [1000] + [150] * (num_steps - 1) + [4000]  # milliseconds
    frames[0].save(file, "GIF", save_all=True, append_images=frames[1:], duration=durations, loop=0)
    return file.getvalue()


# A frame's pixels are 16 shades from ink to paper, of blanks (from 0) and of givens (from 128).
INK_AND_PAPER = ((20, 80, 200), (255, 255, 255)), ((0, 0, 0), (225, 225, 225))


def _draw_beliefs(puzzle, beliefs, caption):
    """A frame: the digits of every cell, sized by their probabilities `[81, 10]`."""
    from PIL import Image, ImageDraw  # only drawing needs it

    image = Image.new("L", (9 * CELL + 3, 9 * CELL + 3 + CAPTION), 127)
    draw = ImageDraw.Draw(image)
    for cell, digits in enumerate(beliefs):
        ink = 128 if puzzle[cell] else 0
        y, x = (1 + CELL * place for place in divmod(cell, 9))
        draw.rectangle((x, y, x + CELL, y + CELL), fill=ink + 127, outline=160)
        for digit in np.flatnonzero(digits[1:] > 0.02) + 1:
            p = digits[digit]
            down, right = ((place - 1) * (1 - p**2) * CELL / 3 for place in divmod(digit - 1, 3))
            middle = x + CELL / 2 + right, y + CELL / 2 + down
            draw.text(middle, str(digit), ink, _font(round(0.8 * CELL * p**0.5)), anchor="mm")
    for i in range(0, 10, 3):
        draw.line((1 + CELL * i, 0, 1 + CELL * i, 9 * CELL + 2), fill=128, width=3)
        draw.line((0, 1 + CELL * i, 9 * CELL + 2, 1 + CELL * i), fill=128, width=3)
    draw.text((6, 9 * CELL + 3 + CAPTION / 2), caption, 0, _font(15), anchor="lm")
    image = image.point(lambda value: value & 0b11111000)  # fewer shades, a smaller file
    image.putpalette(
        [
            round(dark + (light - dark) * (value % 128 // 8) / 15)
            for value in range(256)
            for dark, light in zip(*INK_AND_PAPER[value // 128], strict=True)
        ]
    )
    return image


@functools.cache
def _font(size):
    import matplotlib  # for its font
    from PIL import ImageFont

    path = Path(matplotlib.get_data_path(), "fonts", "ttf", "DejaVuSans.ttf")
    return ImageFont.truetype(path, size)
