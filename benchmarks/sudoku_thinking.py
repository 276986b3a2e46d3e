"""What more steps are worth: the share of a list's puzzles that a network has solved by each step.

    python -m benchmarks.sudoku_thinking --puzzles magictour_top1465.txt.gz --steps 256

For each number of steps: the multiply-adds of a board's matrix products; the boards whose likeliest
digits solve them then; those that were solved then or before, as a solver has them that stops when
a board is valid; and the boards of which the network is sure, each digit having at least the
probability `--confidence`, with how many of these are wrong. With `--calibrate LIST` the confidence
is the lowest at which at most one of 10,000 sure answers to that list is wrong, after all steps.
`--by COLUMN,...` adds a table of what is solved by then, for each value of a column of a CSV list,
or for each fifth of the puzzles where these are numbers.
"""

import argparse
import csv
import gzip
import math

import numpy as np
import tensorflow as tf

from benchmarks import harness
from rrn.data_prep.progress import Progress
from rrn.data_prep.sudoku.reading import read_files
from rrn.tasks.sudoku.solving import BATCH, SEGMENT_STEPS, Solver, is_solution, likeliest

WRONG_OF_SURE = 1e-4


def think(solver, puzzles):
    """Runs all steps of all boards.

    Returns:
      After each of the solver's segments, whether each board is solved, and the least probability
      of its digits, both `[segments, n]`.
    """
    segment = tf.function(solver.segment, autograph=False)
    progress, batches = Progress("thinking", len(puzzles)), []
    for start in range(0, len(puzzles), BATCH):
        part = puzzles[start : start + BATCH]
        boards, state = tf.constant(np.resize(part, [BATCH, 81])), solver.task.initial_state(BATCH)
        segments = []
        for _ in range(solver.num_steps // solver.segment_steps):
            beliefs, state = segment(boards, state)
            digits, confidence = likeliest(beliefs[: len(part), :, -1].numpy())
            segments.append((is_solution(part, digits), confidence.min(axis=1)))
        batches.append([np.stack(values) for values in zip(*segments, strict=True)])
        progress.show(min(start + BATCH, len(puzzles)))
    solved, least = (np.concatenate(values, axis=1) for values in zip(*batches, strict=True))
    return solved, least


def calibrated(solved, least):
    """The lowest confidence at which few enough sure answers are wrong, of boards `[n]` each."""
    order = np.argsort(-least)
    wrong = np.cumsum(~solved[order])
    few = np.flatnonzero(wrong <= WRONG_OF_SURE * np.arange(1, len(order) + 1))
    return float(least[order[few[-1]]]) if len(few) else 1.0


def multiply_adds(weights):
    """Counts the multiply-adds of the matrix products of a step, for a board."""
    solver = Solver(weights, SEGMENT_STEPS)  # in float32, where they are all MatMul operations
    segment, board = tf.function(solver.segment, autograph=False), tf.zeros([1, 81], tf.int32)
    graph = segment.get_concrete_function(board, solver.task.initial_state(1)).graph
    products = [op for op in graph.get_operations() if op.type == "MatMul"]
    counts = (math.prod(op.inputs[0].shape) * op.outputs[0].shape[1] for op in products)
    return sum(counts) / solver.segment_steps


def powers_of_two(last):
    """Lists 1, 2, 4 and so on up to `last`, and `last`."""
    return sorted({last, *(2**i for i in range(last.bit_length()) if 2**i <= last)})


def rows_of(solver, of_step, solved, least, confidence):
    """A row of figures for each power of two of steps, and for the last."""
    rows = []
    for number in powers_of_two(len(solved)):
        now, sure = solved[number - 1], least[number - 1] >= confidence
        steps = number * solver.segment_steps
        rows.append(
            {
                "steps": steps,
                "multiply-adds, G": round(steps * of_step / 1e9, 2),
                "solved, %": round(100 * now.mean(), 1),
                "solved by then, %": round(100 * solved[:number].any(axis=0).mean(), 1),
                "sure, %": round(100 * sure.mean(), 1),
                "sure and wrong": int((sure & ~now).sum()),
            }
        )
    return rows


def rows_by(solver, solved, values):
    """A row for each of the values, or for each fifth of the puzzles if these are numbers."""
    if numbers := all(value.isdecimal() for value in values):
        values = values.astype(int)
        edges = np.unique(np.quantile(values, [0, 0.2, 0.4, 0.6, 0.8]).astype(int))
        values = edges[np.searchsorted(edges, values, side="right") - 1]
    rows = []
    for value in np.unique(values):
        chosen = values == value
        row = {"": f"from {value}" if numbers else str(value), "puzzles": int(chosen.sum())}
        for number in powers_of_two(len(solved)):
            by_then = solved[:number, chosen].any(axis=0).mean()
            row[f"{number * solver.segment_steps}"] = round(100 * by_then, 1)
        rows.append(row)
    return rows


def draw(path, count, columns=()):
    """Some puzzles of a list, and their values in some columns; all if count is 0."""
    puzzles = read_files([path]).digits.astype(np.int32)
    chosen = np.random.default_rng(0).permutation(len(puzzles))[: count or None]
    if not columns:
        return puzzles[chosen], {}
    with (gzip.open if path.endswith(".gz") else open)(path, "rt") as file:
        rows = csv.DictReader(file)
        if lacking := set(columns) - set(rows.fieldnames or []):
            has = ", ".join(rows.fieldnames or [])
            raise SystemExit(f"error: --by {', '.join(lacking)}: {path} has {has}")
        rows = list(rows)
    values = {column: np.array([row[column] for row in rows])[chosen] for column in columns}
    return puzzles[chosen], values


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--puzzles", required=True, help="a file of puzzles")
    parser.add_argument("--calibrate", help="a file of other puzzles, which choose the confidence")
    parser.add_argument("--by", metavar="COLUMN,...", help="columns of a list that is a CSV file")
    parser.add_argument("--count", type=int, default=0, help="this many of each file, drawn")
    parser.add_argument("--weights", help="pretrained/sudoku.h5 if not given")
    parser.add_argument("--steps", type=int, default=256)
    parser.add_argument("--confidence", type=float, default=0.99)
    parser.add_argument("--json", help="write the figures to this file")
    arguments = parser.parse_args()
    solver = Solver(arguments.weights, arguments.steps, compute_dtype="bfloat16")
    confidence = arguments.confidence
    if arguments.calibrate:
        others, _ = draw(arguments.calibrate, arguments.count)
        confidence = calibrated(*(values[-1] for values in think(solver, others)))
    columns = arguments.by.split(",") if arguments.by else ()
    puzzles, values = draw(arguments.puzzles, arguments.count, columns)
    solved, least = think(solver, puzzles)
    rows = rows_of(solver, multiply_adds(arguments.weights), solved, least, confidence)
    print(harness.hardware())
    print(f"{len(puzzles)} puzzles of {arguments.puzzles}; sure: {confidence:.6f} or more")
    harness.print_table(list(rows[0]), [list(row.values()) for row in rows])
    figures = {"hardware": harness.hardware(), "confidence": confidence, "rows": rows}
    for column in columns:
        rows = figures[column] = rows_by(solver, solved, values[column])
        harness.print_table(list(rows[0]), [list(row.values()) for row in rows])
    harness.write_json(arguments.json, figures)


if __name__ == "__main__":
    harness.start(main)
