"""Solves Sudoku puzzles with a trained network: `python -m rrn.tasks.sudoku PUZZLE`.

PUZZLE is 81 characters, row by row, . or 0 for a blank; or files of puzzles in a form of
`data_prep.sudoku.reading`, - for standard input. Of one puzzle the command prints the solution
with each digit's probability, and draws `solution.gif`. Of files it writes `solutions.txt`, a line
each: the puzzle, its solution, "valid" or "invalid", the lowest probability of a digit, and
"no solution" or "more than one solution" where the puzzle has not exactly one. With --tries a
puzzle of a file that is not solved is tried again, turned and relabelled. Ctrl-C leaves what is
done, and the same command goes on from there.

With --serve there is no PUZZLE: a page on 127.0.0.1 takes puzzles and shows how they are solved.
"""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # errors come as exceptions

import functools
import hashlib
import importlib
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from absl import app, flags

from rrn.data_prep.failures import error_line, escape_output
from rrn.data_prep.progress import Progress
from rrn.data_prep.sudoku.reading import BLANKS, is_file, read_files, read_text
from rrn.data_prep.sudoku.solver import IN_WORDS, count_solutions
from rrn.data_prep.writing import whole
from rrn.tasks.sudoku.application import NUM_STEPS

WEIGHTS = flags.DEFINE_string(
    "weights", None, "A weights file of either network; pretrained/sudoku.h5 if not given."
)
STEPS = flags.DEFINE_integer(
    "steps", NUM_STEPS, "How many steps the network makes at most.", 1, 4096
)
TRIES = flags.DEFINE_integer(
    "tries", 1, "How often a file's puzzle is tried that is not solved.", 1, 1024
)
OUT = flags.DEFINE_string("out", "runs/solved", "The folder for solution.gif or solutions.txt.")
SERVE = flags.DEFINE_bool("serve", False, "Serve a page that takes puzzles, on 127.0.0.1 alone.")
PORT = flags.DEFINE_integer("port", 8000, "Where --serve listens; 0 for any free port.", 0, 65535)
DEVICES = flags.DEFINE_string("devices", "auto", "As of main.py; the first one solves.")
USAGE = 2  # the exit status for wrong flags


def parse_flags(argv: Sequence[str]) -> list[str]:
    """Reads the command line. What is wrong with it ends the process with status 2.

    Args:
      argv: the command line, with the program's name.

    Returns:
      The program's name, and the puzzle or the files if there are some.
    """
    # A puzzle may begin with a dash, as flags do.
    is_flag = [not (len(word) == 81 and set(word) <= {*"123456789", *BLANKS}) for word in argv]
    puzzles = [word for word, flag in zip(argv, is_flag, strict=True) if not flag]
    try:
        arguments = flags.FLAGS([word for word, flag in zip(argv, is_flag, strict=True) if flag])
    except flags.Error as error:
        _end(str(error))
    arguments += puzzles
    for flag in (WEIGHTS, OUT, DEVICES):
        if flag.value == "":  # a variable of the shell that is not set
            _end(f"--{flag.name}=: empty; give a value, or leave the flag out")
    words = arguments[1:]
    if SERVE.value and words:
        _end(f"expected no PUZZLE with --serve, whose page takes puzzles; got {len(words)}")
    if TRIES.value > 1 and not any(map(is_file, words)):
        _end("--tries is for a file of puzzles")
    if not (SERVE.value or words):
        _end("expected one PUZZLE, 81 characters or a file; got 0")
    return arguments


def _end(what) -> NoReturn:
    print(f"error: {what}", file=sys.stderr)
    sys.exit(USAGE)


def main(arguments: Sequence[str]) -> None:
    """Solves or serves, as the flags say. An error is printed as one line and ends the process.

    Args:
      arguments: what `parse_flags` returned.
    """
    try:
        if SERVE.value:
            serve(PORT.value, DEVICES.value, WEIGHTS.value, STEPS.value)
        else:
            solve(arguments[1:], DEVICES.value, OUT.value, WEIGHTS.value, STEPS.value, TRIES.value)
    except Exception as error:
        if flags.FLAGS.verbosity > 0 or (line := error_line(error)) is None:
            raise
        sys.exit(line)


def solve(
    words: str | Sequence[str],
    devices: str,
    folder: str | Path,
    weights: str | Path | None = None,
    num_steps: int = NUM_STEPS,
    tries: int = 1,
) -> None:
    """Solves a puzzle or files of puzzles, and writes the result into `folder`.

    Args:
      words: one puzzle's 81 characters or nine lines; or the name of a file, or several.
      devices: the flag's value; the first device solves.
      folder: where `solution.gif` or `solutions.txt` goes; made if it is not there.
      weights: a weights file; `pretrained/sudoku.h5` if not given.
      num_steps: the network's steps.
      tries: how often a file's puzzle is tried that is not solved; see `Solver.solve`.

    Raises:
      ValueError: a wrong puzzle, wrong devices, or no weights; then nothing is written.
    """
    words, folder = [words] if isinstance(words, str) else words, Path(folder)
    are_files = len(words) > 1 or is_file(words[0])
    if are_files and (others := [word for word in words if not is_file(word)]):
        raise ValueError(f"{others[0]}: no such file; expected one PUZZLE, or files of puzzles")
    puzzles = read_files(words).digits if are_files else _read_puzzle(words[0])
    solver, device, weights = _make_solver(devices, weights, num_steps)
    with device():
        folder.mkdir(parents=True, exist_ok=True)
        if are_files:
            settings = hashlib.sha256(Path(weights).read_bytes()).hexdigest(), num_steps, tries
            _solve_list(solver, puzzles, folder, tries, repr(settings).encode())
        else:
            _solve_puzzle(solver, puzzles, folder)


def _read_puzzle(word):
    try:
        puzzles = read_text(word, "PUZZLE")
    except ValueError as error:
        raise ValueError(f"{error} (there is no file of that name)") from None
    if len(puzzles) > 1:
        raise ValueError(f"PUZZLE: there are {len(puzzles)}; expected one, or files")
    return puzzles


def serve(
    port: int, devices: str, weights: str | Path | None = None, num_steps: int = NUM_STEPS
) -> None:
    """Serves a page that takes puzzles and shows how they are solved, until Ctrl-C.

    Args:
      port: where to listen on 127.0.0.1; 0 for any free port.
      devices, weights, num_steps: see `solve`.

    Raises:
      ValueError: the port is taken, wrong devices, or no weights.
    """
    from rrn.tasks.sudoku.application.serving import ADDRESS, Server

    try:
        server = Server(port)
    except OSError as error:
        what = f"{error.strerror}; give another one, or 0 for any that is free"
        raise ValueError(f"--port={port}: {what}") from None
    with server:
        solver, device, _ = _make_solver(devices, weights, num_steps)

        def show(puzzle, turn, wanted):
            with device():  # of this thread
                return solver.show(puzzle, turn, wanted)

        server.solve = show
        print(f"http://{ADDRESS}:{server.server_port}, until Ctrl-C", flush=True)
        server.serve_forever()


def _make_solver(devices, weights, num_steps):
    """A `Solver`, a function that makes the scope of its device, and its weights file."""
    if weights and not os.path.isfile(weights):
        raise ValueError(f"{weights}: no such file; a run writes one after its validation")
    # These import TensorFlow.
    importlib.import_module("tensorflow")
    import tensorflow as tf

    from rrn.distribute import parse_devices, tune_cpu
    from rrn.tasks.sudoku.application.solving import Solver, find_weights

    tune_cpu()
    device = functools.partial(tf.device, parse_devices(devices)[0])
    weights = find_weights(weights)
    with device():
        return Solver(weights, num_steps), device, weights


def _solve_puzzle(solver, puzzles, folder):
    from rrn.tasks.sudoku.application.boards import is_solution, likeliest
    from rrn.tasks.sudoku.application.drawing import animation, draw_board

    beliefs = solver.watch(puzzles[0].astype("int32"))
    solutions, confidence = likeliest(beliefs[None, :, -1])
    print(draw_board(solutions[0], confidence[0]))
    print(
        "valid: a full grid that keeps the givens, every digit once in each row, column and box"
        if is_solution(puzzles, solutions)[0]
        else "invalid: a digit is twice in a row, column or box, or a given is not kept",
        f"the puzzle has {IN_WORDS[count_solutions(puzzles)[0]]}",
        sep="; ",
    )
    path = folder / "solution.gif"
    with whole(path) as temporary:
        temporary.write_bytes(animation(puzzles[0], beliefs))
    print(path)


def _solve_list(solver, puzzles, folder, tries, settings):
    from rrn.tasks.sudoku.application.listing import Listing

    with Listing(folder, puzzles, settings) as listing:
        left, count = listing.left, len(puzzles)
        if len(left) < count:
            print(f"{listing.path}: goes on after {count - len(left):,} of {count:,} puzzles")
        started, progress, done = time.monotonic(), Progress("solving", len(left)), 0
        for indices, found in solver.stream(puzzles, left, tries):
            listing.add(indices, found)
            done += len(indices)
            progress.show(done)
        seconds = time.monotonic() - started
        print(listing.finish())
    remarks = {words: n for words, n in listing.remarks.items() if n and words != IN_WORDS[1]}
    print(
        f"{listing.num_valid:,} of {count:,} valid ({100 * listing.num_valid / count:.2f} %) "
        f"in {seconds:.1f} s, {done / seconds:,.1f} boards/s"
        + "".join(f"; {n:,} with {words}" for words, n in remarks.items())
    )


if __name__ == "__main__":
    escape_output()
    app.run(main, flags_parser=parse_flags)
