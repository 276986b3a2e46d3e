"""Solves Sudoku puzzles with a trained network: `python -m rrn.tasks.sudoku PUZZLE`.

PUZZLE is 81 characters, row by row, . or 0 for a blank; or a file with one puzzle on each line,
plain or .gz. Of one puzzle the command prints the solution with each digit's probability, and draws
`solution.gif`. Of a file it writes `solutions.txt`, a line each: the puzzle, its solution, "valid"
or "invalid", and the lowest probability of a digit.
"""

import os
import sys
import time
from pathlib import Path

import tensorflow as tf
from absl import app, flags

from rrn.distribute.devices import keep_freed_memory, parse_devices
from rrn.tasks.sudoku.drawing import animation, draw_board
from rrn.tasks.sudoku.solving import (
    NUM_STEPS,
    PAPER_MODEL,
    Solver,
    find_weights,
    read_puzzles,
    solutions_from,
)

WEIGHTS = flags.DEFINE_string(
    "weights", None, "A weights file of the paper's model size; pretrained/sudoku.h5 if not given."
)
STEPS = flags.DEFINE_integer("steps", NUM_STEPS, "How many steps the network makes.", 1)
OUT = flags.DEFINE_string("out", "runs/solved", "The folder for solution.gif or solutions.txt.")
DEVICES = flags.DEFINE_string("devices", "auto", "As of main.py; the first one solves.")


def parse_flags(argv):
    try:
        arguments = flags.FLAGS(argv)
    except flags.Error as error:
        sys.exit(f"error: {error}")
    if len(arguments) != 2:
        sys.exit(f"error: expected one PUZZLE, 81 characters or a file; got {len(arguments) - 1}")
    return arguments


def main(arguments):
    keep_freed_memory()
    try:
        solve(arguments[1], DEVICES.value, OUT.value, WEIGHTS.value, STEPS.value)
    except (ValueError, OSError) as error:
        sys.exit(f"error: {error}")


def solve(
    puzzle: str,
    devices: str,
    folder: str | Path,
    weights: str | Path | None = None,
    num_steps: int = NUM_STEPS,
) -> None:
    """Solves `puzzle`, 81 characters or a file's name, and writes the result into `folder`.

    Args:
      puzzle: 81 characters or a file's name.
      devices: the flag's value; the first device solves.
      folder: where `solution.gif` or `solutions.txt` goes; made if it is not there.
      weights: a weights file; `pretrained/sudoku.h5` if not given.
      num_steps: the network's steps.

    Raises:
      ValueError: a wrong puzzle, wrong devices, or no weights; then nothing is written.
    """
    puzzles, folder = read_puzzles(puzzle), Path(folder)
    with tf.device(parse_devices(devices)[0]):
        solver = Solver(PAPER_MODEL, find_weights(weights), num_steps)
        folder.mkdir(parents=True, exist_ok=True)
        report = _report_file if os.path.isfile(puzzle) else _report_puzzle
        report(solver, puzzles, folder)


def _report_puzzle(solver, puzzles, folder):
    beliefs = solver.beliefs(puzzles).numpy()
    (solution,), (confidence,), (valid,) = solutions_from(puzzles, beliefs[:, :, -1])
    print(draw_board(solution, confidence))
    print(
        "valid: a full grid that keeps the givens, every digit once in each row, column and box"
        if valid
        else "invalid: a digit is twice in a row, column or box, or a given is not kept"
    )
    _write(folder / "solution.gif", animation(puzzles[0], beliefs[0]))


def _report_file(solver, puzzles, folder):
    started = time.monotonic()
    solutions, confidence, valid = solver.solve(puzzles)
    seconds = time.monotonic() - started
    lines = [
        f"{''.join(map(str, p)).replace('0', '.')} {''.join(map(str, s))} "
        f"{'valid' if v else 'invalid'} {c:.4f}\n"
        for p, s, v, c in zip(puzzles, solutions, valid, confidence.min(axis=1), strict=True)
    ]
    _write(folder / "solutions.txt", "".join(lines).encode())
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


if __name__ == "__main__":
    app.run(main, flags_parser=parse_flags)
