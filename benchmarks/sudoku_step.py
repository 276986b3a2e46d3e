"""The Sudoku training step against the plain formulation: same model, same boards, one run,
interleaved; or the memory that each way takes.

    python -m benchmarks.sudoku_step [--batch_size 64] [--num_steps 32] [--memory] [--json FILE]

The plain formulation follows the paper's equations word for word (`rrn.plain`), as a
compiled TensorFlow function too. The boards hold random digits, which cost what others cost. "rrn
recompute" keeps only h and c of every step for the backward pass. Counted are the floating-point
operations of matrix products, forward and backward (twice forward); what is computed again is not.
Peak memory is a whole process's that runs one way alone, TensorFlow included.
"""

import argparse
import resource
import subprocess
import sys

import numpy as np
import tensorflow as tf

from benchmarks import harness
from configs import sudoku as sudoku_config
from rrn import plain
from rrn.data import training_inputs
from rrn.tasks.sudoku import Sudoku
from rrn.training import Trainer

DTYPES = "float32", "bfloat16"
MODES = [f"{name} {dtype}" for name in ("plain", "rrn", "rrn recompute") for dtype in DTYPES]


class PlainSudoku(Sudoku):
    """The Sudoku task with the plain formulation in place of the network."""

    def segment(self, graph, features, num_steps, state):
        rrn, edges = self.network.rrn, graph.edge_list()
        return plain.hidden_states(rrn, *edges, features, num_steps), state


def random_boards(number):
    """Arrays of a split."""
    random = np.random.default_rng(0)
    arrays = {
        "puzzle": random.integers(0, 10, [number, 81]),
        "solution": random.integers(1, 10, [number, 81]),
        "givens": np.full(number, 17),
    }
    return {name: tf.constant(array, tf.int32) for name, array in arrays.items()}


def training_step(mode, batch_size, num_steps):
    """A compiled training step of `mode`, a function of anything."""
    *formulation, dtype = mode.split()
    config = sudoku_config.get_config()
    config.train.batch_size = batch_size
    config.model.compute_dtype = dtype
    config.model.num_steps = num_steps
    config.model.recompute = "recompute" in formulation
    task = (PlainSudoku if "plain" in formulation else Sudoku)(config.model)
    inputs = training_inputs(task, random_boards(batch_size), batch_size, 1, config.seed, 0)
    trainer = Trainer(task, config.train, harness.DEVICES, [inputs[0].element_spec])
    (batch,) = inputs[0].take(1)
    return lambda _: trainer.update_once([batch])


def product_operations(formulation, boards, num_steps, h=96, e=16, digits=10):
    """Multiplications and additions of the network's products in one training step.

    Forward and backward; the backward pass has two products for each one forward.
    """
    nodes, square = 81 * boards, h * h
    on_nodes = 2 * square + 3 * square + 2 * h * 4 * h + h * digits
    if formulation == "plain":
        on_edges = 2 * h * h + 3 * square
    else:  # linear layers in a row are one, and the first step's LSTM state is zero
        on_edges, on_nodes = 2 * square, on_nodes - h * 4 * h / num_steps
    steps = num_steps * (20 * nodes * on_edges + nodes * on_nodes)
    return 2 * 3 * (steps + nodes * (3 * e * h + 3 * square))


def peak_memory(mode, batch_size, num_steps):
    """GiB of resident memory at the peak of a process of its own, in two training steps."""
    arguments = ["--peak_memory_of", mode]
    arguments += ["--batch_size", str(batch_size), "--num_steps", str(num_steps)]
    command = [sys.executable, "-m", "benchmarks.sudoku_step", *arguments]
    return float(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)


def print_own_peak_memory(mode, batch_size, num_steps):
    step = training_step(mode, batch_size, num_steps)
    for _ in range(2):
        tf.nest.flatten(step(None))[0].numpy()
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--batch_size", type=int, default=64)
    parser.add_argument("--num_steps", type=int, default=32)
    parser.add_argument("--repeats", type=int, default=5, help="timed steps of every mode")
    parser.add_argument("--modes", nargs="+", choices=MODES, default=MODES, metavar="MODE")
    parser.add_argument("--memory", action="store_true", help="peak memory instead of times")
    parser.add_argument("--json", help="write the figures to this file")
    parser.add_argument("--peak_memory_of", choices=MODES, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    sizes = arguments.batch_size, arguments.num_steps
    if arguments.peak_memory_of:
        print_own_peak_memory(arguments.peak_memory_of, *sizes)
        return
    print(harness.hardware())
    print("Sudoku training step, batch {}, {} steps".format(*sizes))
    if arguments.memory:
        rows = [{"mode": mode, "peak_gib": peak_memory(mode, *sizes)} for mode in arguments.modes]
        cells = [[row["mode"], f"{row['peak_gib']:.1f}"] for row in rows]
        harness.print_table(["mode", "peak memory, GiB"], cells)
    else:
        rows = speeds(arguments.modes, *sizes, arguments.repeats)
        report(rows)
    harness.write_json(arguments.json, {"hardware": harness.hardware(), "rows": rows})


def speeds(modes, batch_size, num_steps, repeats):
    """A row of figures for each mode; medians, interleaved."""
    functions = {mode: training_step(mode, batch_size, num_steps) for mode in modes}
    products = {dtype: harness.product(dtype) for dtype in DTYPES}
    medians = harness.interleaved_medians({**functions, **products}, list(range(repeats)))
    rows = []
    for mode in modes:
        formulation, dtype = mode.split()[0], mode.split()[-1]
        rate = product_operations(formulation, batch_size, num_steps) / medians[mode]
        rows.append(
            {
                "mode": mode,
                "milliseconds": 1e3 * medians[mode],
                "puzzles_per_second": batch_size / medians[mode],
                "speedup": medians[modes[0]] / medians[mode],
                "gigaflop": rate * medians[mode] / 1e9,
                "gigaflop_per_second": rate / 1e9,
                "share_of_peak": rate * medians[dtype] / (2 * harness.PRODUCT_SIZE**3),
            }
        )
    return rows


def report(rows):
    columns = "mode", "ms", "puzzles/s", "speed-up", "GFLOP", "GFLOP/s", "of the peak"
    formats = "{}", "{:.0f}", "{:.1f}", "{:.2f}", "{:.0f}", "{:.0f}", "{:.0%}"
    cells = [[f.format(v) for f, v in zip(formats, row.values(), strict=True)] for row in rows]
    harness.print_table(list(columns), cells)


if __name__ == "__main__":
    main()
