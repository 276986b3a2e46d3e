"""What weights that were trained on 9 x 9 boards do on boards of other sizes.

    python -m benchmarks.sudoku_sizes --weights pretrained/sudoku_candidates.h5 --sizes 4 6 9 16

It takes the network over candidates, which knows no digit, row or column by name. The puzzles are
made here: a grid is turned and relabelled at random, and givens are taken away one after the other,
as long as naked and hidden singles alone still solve the puzzle. So each has one solution.
"""

import argparse

import numpy as np
import tensorflow as tf

from benchmarks import machine, timing
from rrn.data_prep.progress import Progress
from rrn.tasks.sudoku.application.solving import Solver
from rrn.tasks.sudoku.candidates import BOXES
from rrn.tasks.sudoku.unit_sums import BOX, CELL, COLUMN, ROW

UNITS = ROW, COLUMN, BOX, CELL


def shuffled_lines(rng, boxes, lines):
    """The lines of a grid in another order: boxes exchange places, and the lines within a box."""
    return np.concatenate([lines * box + rng.permutation(lines) for box in rng.permutation(boxes)])


def full_grid(rng, size):
    """A solved board `[size, size]`, digits from 0."""
    height, width = BOXES[size]
    row, column = np.indices([size, size])
    grid = (width * (row % height) + row // height + column) % size
    rows = shuffled_lines(rng, size // height, height)
    columns = shuffled_lines(rng, size // width, width)
    return rng.permutation(size)[grid[rows][:, columns]]


def by_candidate(puzzles, size):
    """Which candidates are given, of puzzles `[n, cells]`; the axes are those of `unit_sums`."""
    height, width = BOXES[size]
    given = puzzles[:, None] == np.arange(1, size + 1)[:, None]
    return given.reshape(-1, size, size // height, height, size // width, width)


def solved_by_singles(puzzles, size):
    """Which puzzles `[n, cells]` naked and hidden singles solve."""
    true, before = by_candidate(puzzles, size), None
    while before is None or (true != before).any():
        possible, before = np.ones_like(true), true
        for unit in UNITS:
            possible &= true | ~true.any(axis=unit, keepdims=True)
        for unit in UNITS:
            true = true | possible & (possible.sum(axis=unit, keepdims=True) == 1)
    return true.sum(axis=(1, 2, 3, 4, 5)) == size * size


def make_puzzles(rng, size, count):
    """Puzzles `[count, cells]` from which no given more can be taken, and their solutions."""
    solutions = np.stack([1 + full_grid(rng, size).ravel() for _ in range(count)])
    puzzles, progress = solutions.copy(), Progress(f"{size} x {size}: making", size * size)
    order = np.argsort(rng.random(puzzles.shape), axis=1)
    for i, cells in enumerate(order.T):
        fewer = puzzles.copy()
        fewer[np.arange(count), cells] = 0
        puzzles = np.where(solved_by_singles(fewer, size)[:, None], fewer, puzzles)
        progress.show(i + 1)
    return puzzles.astype(np.int32), solutions


def shares_solved(solver, puzzles, solutions):
    """The share of boards that are solved after each of the solver's segments, all together."""
    boards, cells = puzzles.shape
    segment = tf.function(solver.segment, autograph=False)
    state, shares = solver.task.initial_state(boards, cells), []
    for _ in range(solver.num_steps // solver.segment_steps):
        beliefs, state = segment(tf.constant(puzzles), state)
        shares.append(float((tf.argmax(beliefs, -1).numpy() == solutions).all(axis=1).mean()))
    return shares


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--weights", required=True, help="of a network over candidates")
    parser.add_argument("--sizes", type=int, nargs="+", default=[4, 6, 9, 16], choices=BOXES)
    parser.add_argument("--count", type=int, default=64, help="puzzles of each size")
    parser.add_argument("--steps", type=int, default=128)
    parser.add_argument("--json", help="write the figures to this file")
    arguments = parser.parse_args()
    solver, rows = Solver(arguments.weights, arguments.steps), []
    for size in arguments.sizes:
        puzzles, solutions = make_puzzles(np.random.default_rng(0), size, arguments.count)
        shares = shares_solved(solver, puzzles, solutions)
        givens = float((puzzles > 0).sum(axis=1).mean())
        rows.append({"size": size, "givens": givens, "solved": shares})
    print(machine.hardware())
    print(f"{arguments.count} puzzles of each size, solved in percent")
    number = len(rows[0]["solved"])
    shown = sorted({number, *(2**i for i in range(number.bit_length()) if 2**i <= number)})
    headings = ["size", "givens, mean", *(f"{i * solver.segment_steps} steps" for i in shown)]
    cells = [
        [f"{row['size']} x {row['size']}", f"{row['givens']:.1f}"]
        + [f"{100 * row['solved'][i - 1]:.1f}" for i in shown]
        for row in rows
    ]
    timing.print_table(headings, cells)
    timing.write_json(arguments.json, {"hardware": machine.hardware(), "rows": rows})


if __name__ == "__main__":
    main()
