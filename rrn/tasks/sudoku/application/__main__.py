"""Solves Sudoku puzzles with a trained network: `python -m rrn.tasks.sudoku PUZZLE`.

PUZZLE is 81 characters, row by row, . or 0 for a blank; or a file with one puzzle on each line,
plain or .gz. Of one puzzle the command prints the solution with each digit's probability, and draws
`solution.gif`. Of a file it writes `solutions.txt`, a line each: the puzzle, its solution, "valid"
or "invalid", and the lowest probability of a digit. With --tries a puzzle of a file that is not
solved is tried again, turned and relabelled.

With --serve there is no PUZZLE: a page on 127.0.0.1 takes puzzles and shows how they are solved.
"""

import contextlib
import functools
import importlib
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # errors come as exceptions

from absl import app, flags

from rrn.data_prep.failures import error_line
from rrn.tasks.sudoku.application import NUM_STEPS
from rrn.tasks.sudoku.application.puzzles import read_puzzles

WEIGHTS = flags.DEFINE_string(
    "weights", None, "A weights file of the paper's model size; pretrained/sudoku.h5 if not given."
)
STEPS = flags.DEFINE_integer("steps", NUM_STEPS, "How many steps the network makes.", 1, 4096)
TRIES = flags.DEFINE_integer(
    "tries", 1, "How often a file's puzzle is tried that is not solved.", 1, 1024
)
OUT = flags.DEFINE_string("out", "runs/solved", "The folder for solution.gif or solutions.txt.")
SERVE = flags.DEFINE_bool("serve", False, "Serve a page that takes puzzles, on 127.0.0.1 alone.")
PORT = flags.DEFINE_integer("port", 8000, "Where --serve listens; 0 for any free port.", 0, 65535)
DEVICES = flags.DEFINE_string("devices", "auto", "As of main.py; the first one solves.")


def parse_flags(argv: Sequence[str]) -> list[str]:
    """Reads the command line. What is wrong with it ends the process with status 2.

    Args:
      argv: the command line, with the program's name.

    Returns:
      The program's name, and PUZZLE if there is one.
    """
    try:
        arguments = flags.FLAGS(argv)
    except flags.Error as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
    count, expected = len(arguments) - 1, "one PUZZLE, 81 characters or a file"
    if SERVE.value:
        expected = "no PUZZLE with --serve, whose page takes puzzles"
    if TRIES.value > 1 and not os.path.isfile(arguments[-1]):
        print("error: --tries is for a file of puzzles", file=sys.stderr)
        sys.exit(2)
    if count != (0 if SERVE.value else 1):
        print(f"error: expected {expected}; got {count}", file=sys.stderr)
        sys.exit(2)
    return arguments


def main(arguments: Sequence[str]) -> None:
    """Solves or serves, as the flags say. An error is printed as one line and ends the process.

    Args:
      arguments: what `parse_flags` returned.
    """
    try:
        if SERVE.value:
            serve(PORT.value, DEVICES.value, WEIGHTS.value, STEPS.value)
        else:
            solve(arguments[1], DEVICES.value, OUT.value, WEIGHTS.value, STEPS.value, TRIES.value)
    except Exception as error:
        if flags.FLAGS.verbosity > 0 or (line := error_line(error)) is None:
            raise
        sys.exit(line)


def solve(
    puzzle: str,
    devices: str,
    folder: str | Path,
    weights: str | Path | None = None,
    num_steps: int = NUM_STEPS,
    tries: int = 1,
) -> None:
    """Solves `puzzle`, 81 characters or a file's name, and writes the result into `folder`.

    Args:
      puzzle: 81 characters or a file's name.
      devices: the flag's value; the first device solves.
      folder: where `solution.gif` or `solutions.txt` goes; made if it is not there.
      weights: a weights file; `pretrained/sudoku.h5` if not given.
      num_steps: the network's steps.
      tries: how often a file's puzzle is tried that is not solved; see `Solver.solve`.

    Raises:
      ValueError: a wrong puzzle, wrong devices, or no weights; then nothing is written.
    """
    puzzles, folder = read_puzzles(puzzle), Path(folder)
    solver, device = _make_solver(devices, weights, num_steps)
    with device():
        folder.mkdir(parents=True, exist_ok=True)
        if os.path.isfile(puzzle):
            _report_file(solver, puzzles, folder, tries)
        else:
            _report_puzzle(solver, puzzles, folder)


def serve(
    port: int, devices: str, weights: str | Path | None = None, num_steps: int = NUM_STEPS
) -> None:
    """Serves a page that takes puzzles and shows how they are solved, until Ctrl-C.

    Args:
      port: where to listen on 127.0.0.1; 0 for any free port.
      devices, weights, num_steps: as of `solve`.

    Raises:
      ValueError: wrong devices, or no weights.
      OSError: the port is taken.
    """
    from rrn.tasks.sudoku.application.serving import ADDRESS, make_server

    solver, device = _make_solver(devices, weights, num_steps)

    def example(puzzle):
        with device():  # of this thread
            return solver.example(puzzle)

    with make_server(example, port) as server, contextlib.suppress(KeyboardInterrupt):
        print(f"http://{ADDRESS}:{server.server_port}, until Ctrl-C", flush=True)
        server.serve_forever()


def _make_solver(devices, weights, num_steps):
    """A `Solver`, and a function that makes the scope of its device."""
    if weights and not os.path.isfile(weights):
        raise ValueError(f"{weights}: no such file; a run writes one after its validation")
    # These import TensorFlow.
    importlib.import_module("rrn.fast_start")
    import tensorflow as tf

    from rrn.distribute import keep_freed_memory, parse_devices
    from rrn.tasks.sudoku.application.solving import PAPER_MODEL, Solver, find_weights

    keep_freed_memory()
    device = functools.partial(tf.device, parse_devices(devices)[0])
    with device():
        return Solver(PAPER_MODEL, find_weights(weights), num_steps), device


def _report_puzzle(solver, puzzles, folder):
    from rrn.tasks.sudoku.application.drawing import animation, draw_board
    from rrn.tasks.sudoku.application.solving import solutions_from

    beliefs = solver.beliefs(puzzles).numpy()
    found = solutions_from(puzzles, beliefs[:, :, -1])
    print(draw_board(found.solutions[0], found.confidence[0]))
    print(
        "valid: a full grid that keeps the givens, every digit once in each row, column and box"
        if found.valid[0]
        else "invalid: a digit is twice in a row, column or box, or a given is not kept"
    )
    _write(folder / "solution.gif", animation(puzzles[0], beliefs[0]))


def _report_file(solver, puzzles, folder, tries):
    started = time.monotonic()
    found = solver.solve(puzzles, tries)
    seconds = time.monotonic() - started
    lines = [
        f"{''.join(map(str, p)).replace('0', '.')} {''.join(map(str, s))} "
        f"{'valid' if v else 'invalid'} {c:.4f}\n"
        for p, s, v, c in zip(
            puzzles, found.solutions, found.valid, found.confidence.min(axis=1), strict=True
        )
    ]
    _write(folder / "solutions.txt", "".join(lines).encode())
    print(
        f"{found.valid.sum():,} of {len(found):,} valid ({100 * found.valid.mean():.2f} %) "
        f"in {seconds:.1f} s, {len(found) / seconds:,.1f} boards/s"
    )


def _write(path, data):
    """Writes a file that appears whole or not at all."""
    temporary = path.with_name(f"{path.name}.tmp")
    try:
        temporary.write_bytes(data)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
    print(path)


if __name__ == "__main__":
    app.run(main, flags_parser=parse_flags)
