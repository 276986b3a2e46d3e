"""What more steps are worth: the share of a list's puzzles that a network has solved by each step.

    python -m benchmarks.sudoku_thinking --puzzles sudoku17.txt.gz --count 1000 --steps 1024

For each number of steps: the boards whose likeliest digits solve them then; those that were solved
then or before, as a solver has them that stops when a board is valid; and the boards of which the
network is sure, each digit having at least the probability `--confidence`, with how many of these
are wrong. With `--calibrate LIST` the confidence is the lowest at which at most one of 10,000 sure
answers to that list is wrong, after all steps.
"""

import argparse

import numpy as np
import tensorflow as tf

from benchmarks import harness
from rrn.data_prep.progress import Progress
from rrn.data_prep.sudoku.reading import read_files
from rrn.tasks.sudoku.solving import BATCH, Solver, is_solution, likeliest

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


def rows_of(solver, solved, least, confidence):
    """A row of figures for each power of two of steps, and for the last."""
    last = len(solved)
    numbers = sorted({last, *(2**i for i in range(last.bit_length()) if 2**i <= last)})
    rows = []
    for number in numbers:
        now, sure = solved[number - 1], least[number - 1] >= confidence
        rows.append(
            {
                "steps": number * solver.segment_steps,
                "solved, %": round(100 * now.mean(), 1),
                "solved by then, %": round(100 * solved[:number].any(axis=0).mean(), 1),
                "sure, %": round(100 * sure.mean(), 1),
                "sure and wrong": int((sure & ~now).sum()),
            }
        )
    return rows


def read_puzzles(path, count):
    """Some puzzles of a list, drawn; all if count is 0."""
    puzzles = read_files([path]).digits.astype(np.int32)
    return np.random.default_rng(0).permutation(puzzles)[: count or None]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--puzzles", required=True, help="a file of puzzles")
    parser.add_argument("--calibrate", help="a file of other puzzles, which choose the confidence")
    parser.add_argument("--count", type=int, default=0, help="this many of each file, drawn")
    parser.add_argument("--weights", help="pretrained/sudoku.h5 if not given")
    parser.add_argument("--steps", type=int, default=256)
    parser.add_argument("--confidence", type=float, default=0.99)
    parser.add_argument("--json", help="write the figures to this file")
    arguments = parser.parse_args()
    solver = Solver(arguments.weights, arguments.steps, compute_dtype="bfloat16")
    confidence = arguments.confidence
    if arguments.calibrate:
        others = read_puzzles(arguments.calibrate, arguments.count)
        confidence = calibrated(*(values[-1] for values in think(solver, others)))
    puzzles = read_puzzles(arguments.puzzles, arguments.count)
    rows = rows_of(solver, *think(solver, puzzles), confidence)
    print(harness.hardware())
    print(f"{len(puzzles)} puzzles of {arguments.puzzles}; sure: {confidence:.6f} or more")
    harness.print_table(list(rows[0]), [list(row.values()) for row in rows])
    figures = {"hardware": harness.hardware(), "confidence": confidence, "rows": rows}
    harness.write_json(arguments.json, figures)


if __name__ == "__main__":
    main()
