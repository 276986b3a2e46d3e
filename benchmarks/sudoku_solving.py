"""How many puzzles a second a trained network solves.

    python -m benchmarks.sudoku_solving --puzzles sudoku17.txt.gz --count 1024

"all steps" runs every board through all steps, as DGL's example does. "until valid" looks at the
digits after every eight steps, and gives a solved board's place to the next one: `solve_sudoku`.
"""

import argparse
import statistics
import time

import numpy as np
import tensorflow as tf

from benchmarks import machine, timing
from rrn.data_prep.sudoku.reading import read_files
from rrn.tasks.sudoku.application.boards import is_solution, likeliest
from rrn.tasks.sudoku.application.solving import BATCH, Solver, find_weights


def all_steps(solver):
    """A function of puzzles: which are solved after all steps of every board, in batches."""
    last = tf.function(lambda boards: solver.beliefs(boards)[:, :, -1])

    def solve(puzzles):
        beliefs = []
        for start in range(0, len(puzzles), BATCH):
            part = puzzles[start : start + BATCH]
            beliefs.append(last(tf.constant(np.resize(part, [BATCH, 81]))).numpy()[: len(part)])
        return is_solution(puzzles, likeliest(np.concatenate(beliefs))[0])

    return solve


def until_valid(solver):
    """The same as `rrn.solve_sudoku` solves them."""
    return lambda puzzles: solver.solve(puzzles).valid


WAYS = {"all steps": all_steps, "until valid": until_valid}


def measure(ways, puzzles, repeats):
    """A row for each way: median seconds, all ways in turn, and the share of puzzles it solves.

    ways: (steps, dtype, way) -> function of puzzles, which says which it solves. Each solves two
    batches first, uncounted.
    """
    for solve in ways.values():
        solve(puzzles[: BATCH + 1])
    seconds, solved = {key: [] for key in ways}, {}
    for _ in range(repeats):
        for key, solve in ways.items():
            started = time.perf_counter()
            solved[key] = float(solve(puzzles).mean())
            seconds[key].append(time.perf_counter() - started)
    return [
        {
            **dict(zip(("steps", "dtype", "way"), key, strict=True)),
            "solved": solved[key],
            "seconds": times,
            "puzzles_per_second": len(puzzles) / statistics.median(times),
        }
        for key, times in seconds.items()
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--puzzles", required=True, help="a file with a puzzle on each line")
    parser.add_argument("--count", type=int, default=1024, help="so many of them, drawn")
    parser.add_argument("--repeats", type=int, default=3, help="timed passes of every way")
    parser.add_argument("--weights", help="pretrained/sudoku.h5 if not given")
    parser.add_argument("--dtypes", nargs="+", default=["float32", "bfloat16"], metavar="DTYPE")
    parser.add_argument("--json", help="write the figures to this file")
    arguments = parser.parse_args()
    puzzles = read_files([arguments.puzzles]).digits.astype(np.int32)
    chosen = np.random.default_rng(0).permutation(len(puzzles))[: arguments.count]
    weights, ways = find_weights(arguments.weights), {}
    for dtype in arguments.dtypes:
        for num_steps in (32, 64):
            solver = Solver(weights, num_steps, compute_dtype=dtype)
            ways |= {(num_steps, dtype, way): make(solver) for way, make in WAYS.items()}
    rows = measure(ways, puzzles[chosen], arguments.repeats)
    print(machine.hardware())
    print(f"{len(chosen)} puzzles of {arguments.puzzles}, {BATCH} at a time, tracing not included")
    cells = [
        [
            f"{row['steps']} steps, {row['dtype']}, {row['way']}",
            f"{100 * row['solved']:.1f}",
            f"{row['puzzles_per_second']:.1f}",
        ]
        for row in rows
    ]
    timing.print_table(["", "solved, %", "puzzles/s"], cells)
    timing.write_json(arguments.json, {"hardware": machine.hardware(), "rows": rows})


if __name__ == "__main__":
    main()
