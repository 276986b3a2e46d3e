"""Solves Sudokus with a trained network.

    python -m rrn.tasks.sudoku PUZZLE --out solution.gif
    python -m rrn.tasks.sudoku FILE --out solutions.txt
    python -m rrn.tasks.sudoku --serve

PUZZLE is 81 characters, row by row, . or 0 for a blank; the solution is printed with each digit's
probability, and drawn if --out is given. FILE has a puzzle a line, - is standard input; a line is
written for each: the puzzle, its solution, "valid" or "invalid", the lowest probability of a digit,
and how many solutions the puzzle has where it is not one.
"""

import argparse
import contextlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import tensorflow as tf

from rrn.data_prep.failures import Parser, escape_output, exit_status, number
from rrn.data_prep.progress import Progress
from rrn.data_prep.sudoku.reading import is_file, read_files, read_text
from rrn.data_prep.sudoku.solver import IN_WORDS, count_solutions
from rrn.distribute import parse_devices, tune_cpu
from rrn.tasks.sudoku.drawing import animation, draw_board
from rrn.tasks.sudoku.serving import ADDRESS, Server
from rrn.tasks.sudoku.solving import NUM_STEPS, Solver, is_solution, likeliest, verdict


def main(words: Sequence[str] | None = None) -> int:
    """Runs the command; an error is printed as one line. Returns the exit status."""
    lines = argparse.RawDescriptionHelpFormatter
    parser = Parser("python -m rrn.tasks.sudoku", description=__doc__, formatter_class=lines)
    parser.add_argument("puzzle", nargs="?", metavar="PUZZLE|FILE|-")
    parser.add_argument("--weights", help="a weights file; pretrained/sudoku.h5 if not given")
    parser.add_argument(
        "--steps",
        type=number(),
        metavar="N",
        default=NUM_STEPS,
        help="at most N steps (%(default)s)",
    )
    parser.add_argument("--out", help="of a PUZZLE a .gif, of a FILE the file of its solutions")
    parser.add_argument("--devices", default="auto", help="as of main.py; the first one solves")
    page = f"serve a page on {ADDRESS} that takes puzzles; port %(const)s if not given"
    port = number(0, 65535)
    parser.add_argument("--serve", type=port, nargs="?", const=8000, metavar="PORT", help=page)
    arguments = parser.parse_args(words)
    if (arguments.puzzle is None) == (arguments.serve is None):
        parser.error("expected a PUZZLE of 81 characters, a FILE, or --serve")
    return exit_status(lambda: run(arguments))


def run(arguments: argparse.Namespace) -> None:
    """Solves or serves."""
    word, out, many = arguments.puzzle, arguments.out, False
    if word is not None:
        many = is_file(word)
        puzzles = read_files([word]).digits if many else read_text(word, "PUZZLE (no such file)")
        if not many and len(puzzles) > 1:
            raise ValueError(f"PUZZLE: there are {len(puzzles)}; expected one, or a FILE")
        if out and (Path(out).suffix == ".gif") == many:
            expected = "a text file, for a FILE" if many else "a .gif, for a PUZZLE"
            raise ValueError(f"--out={out}: expected {expected}")
    tune_cpu()
    device = parse_devices(arguments.devices)[0]
    with tf.device(device):
        solver = Solver(arguments.weights, arguments.steps)
        if word is None:
            serve(solver, arguments.serve, device)
        elif many:
            solve_list(solver, puzzles, out)
        else:
            solve_puzzle(solver, puzzles[0], out)


def solve_puzzle(solver: Solver, puzzle, out: str | None) -> None:
    """Prints the solution of a puzzle `[81]`, and draws the steps to it into a file."""
    beliefs = solver.beliefs(puzzle)
    solutions, confidence = likeliest(beliefs[None, :, -1])
    valid = is_solution(puzzle[None], solutions)[0]
    print(draw_board(solutions[0], confidence[0]))
    print(verdict(valid, *count_solutions(puzzle[None])))
    if out:
        Path(out).write_bytes(animation(puzzle, beliefs))
        print(out)


def solve_list(solver: Solver, puzzles, out: str | None) -> None:
    """Writes a line for each of the puzzles `[n, 81]`, in order, as they are solved."""
    progress, done, num_valid = Progress("solving", len(puzzles)), 0, 0
    with open(out, "w") if out else contextlib.nullcontext(sys.stdout) as file:
        for found in solver.stream(puzzles):
            for i in range(len(found)):
                puzzle = "".join(map(str, puzzles[done + i])).replace("0", ".")
                valid = "valid" if found.valid[i] else "invalid"
                words = [puzzle, "".join(map(str, found.solutions[i])), valid]
                words.append(f"{found.confidence[i].min():.4f}")
                if found.num_solutions[i] != 1:
                    words.append(IN_WORDS[found.num_solutions[i]])
                print(*words, file=file)
            file.flush()
            done, num_valid = done + len(found), num_valid + found.valid.sum()
            progress.show(done)
    share = f"{100 * num_valid / done:.2f} %"
    print(f"{num_valid:,} of {done:,} valid ({share})", file=sys.stderr)


def serve(solver: Solver, port: int, device: str) -> None:
    """Serves the page until Ctrl-C."""

    def beliefs(puzzle):
        with tf.device(device):  # of this thread
            return solver.beliefs(puzzle)

    try:
        server = Server(port, beliefs)
    except OSError as error:
        raise ValueError(f"--serve={port}: {error.strerror}; give another port") from None
    with server:
        print(f"http://{ADDRESS}:{server.server_port}, until Ctrl-C", flush=True)
        server.serve_forever()


if __name__ == "__main__":
    escape_output()
    try:
        status = main()
        sys.stdout.flush()
    except BrokenPipeError:  # whoever read the output has gone, as `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = 1
    sys.exit(status)
