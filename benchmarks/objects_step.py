"""The training steps of Pretty-CLEVR and of the ages against the plain formulation: same model,
same questions, one run, interleaved.

    python -m benchmarks.objects_step [--tasks pretty_clevr ages] [--batch_sizes 512 128] [--json F]

The plain formulation follows the paper's equations word for word (`rrn.plain`), as a
compiled TensorFlow function too. Scenes and trees are random numbers, which cost what others cost.
Counted are the floating-point operations of matrix products, forward and backward (twice forward).
"""

import argparse

import numpy as np
import tensorflow as tf

from benchmarks import harness
from configs import ages as ages_config
from configs import pretty_clevr as pretty_clevr_config
from rrn import plain
from rrn.data import training_inputs
from rrn.tasks.ages import Ages
from rrn.tasks.pretty_clevr import PrettyClevr
from rrn.training import Trainer

NAMES = [str(i) for i in range(16)]
TASKS = {
    "pretty_clevr": (lambda model: PrettyClevr(model, NAMES), pretty_clevr_config),
    "ages": (Ages, ages_config),
}
DTYPES = "float32", "bfloat16"
MODES = [f"{formulation} {dtype}" for formulation in ("plain", "rrn") for dtype in DTYPES]
NODES, EDGES = 8, 56  # of a question


class PlainNetwork(tf.Module):
    """A `RecurrentRelationalNetwork`'s variables in the plain formulation."""

    def __init__(self, rrn):
        super().__init__(name="plain")
        self.rrn = rrn

    def __call__(self, graph, features, num_steps, edges=None):
        senders, receivers = graph.edge_list()
        edges = None if edges is None else tf.reshape(edges, [-1, edges.shape[-1]])
        return plain.hidden_states(self.rrn, senders, receivers, features, num_steps, edges)


def random_arrays(number=100):
    """Arrays of a split, of both tasks."""
    random = np.random.default_rng(0)

    def integers(*shape):
        return tf.constant(random.integers(8, size=[number, *shape]), tf.int32)

    return {
        "positions": tf.constant(random.random([number, 8, 2]), tf.float32),
        "colours": integers(8),
        "markers": integers(8),
        "order": integers(8, 8),
        "edges": integers(7, 2),
        "distance": integers(8, 8),
    }


def training_step(name, mode, batch_size):
    """A compiled training step of the task `name`, a function of anything."""
    formulation, dtype = mode.split()
    create, config = TASKS[name][0], TASKS[name][1].get_config()
    config.train.batch_size = batch_size
    config.model.compute_dtype = dtype
    task = create(config.model)
    if formulation == "plain":
        task.network.rrn = PlainNetwork(task.network.rrn)
    inputs = training_inputs(task, random_arrays(), batch_size, 1, config.seed, 0)
    trainer = Trainer(task, config.train, harness.DEVICES, [inputs[0].element_spec])
    (batch,) = inputs[0].take(1)
    return lambda _: trainer.update_once([batch])


def product_operations(name, formulation, h=128):
    """Multiplications and additions of the network's products in one question's training step.

    Forward and backward; the backward pass has two products for each one forward.
    """
    square = h * h
    if name == "pretty_clevr":  # one hidden layer, no LSTM
        steps, once = 4, NODES * (42 * h + square)
        readout = square + 16 * h
        plain_edges, plain_nodes = (2 * h + 1) * h + square, 4 * square
        own_edges, own_nodes = 0, 5 * square
    else:
        steps, once = 8, NODES * (127 * h + 3 * square)
        readout = 3 * square + 100 * h
        plain_edges, plain_nodes = 5 * square, 5 * square + 8 * square
        # Linear layers in a row are one, and the first step's LSTM state is zero.
        own_edges, own_nodes = 2 * square, (5 + 4 + 4 * (1 - 1 / steps)) * square
    if formulation == "plain":
        on_edges, on_nodes = plain_edges, plain_nodes
    else:
        on_edges, on_nodes, once = own_edges, own_nodes, once + NODES * square
    return 2 * 3 * (steps * (EDGES * on_edges + NODES * on_nodes + readout) + once)


def speeds(name, batch_size, repeats):
    """A row of figures for each mode; medians, interleaved."""
    functions = {mode: training_step(name, mode, batch_size) for mode in MODES}
    products = {dtype: harness.product(dtype) for dtype in DTYPES}
    medians = harness.interleaved_medians({**functions, **products}, list(range(repeats)))
    rows = []
    for mode in MODES:
        formulation, dtype = mode.split()
        operations, seconds = batch_size * product_operations(name, formulation), medians[mode]
        peak = 2 * harness.PRODUCT_SIZE**3 / medians[dtype]
        rows.append(
            {
                "task": name,
                "batch_size": batch_size,
                "mode": mode,
                "milliseconds": 1e3 * seconds,
                "questions_per_second": batch_size / seconds,
                "speedup": medians[MODES[0]] / seconds,
                "gigaflop": operations / 1e9,
                "gigaflop_per_second": operations / seconds / 1e9,
                "share_of_peak": operations / seconds / peak,
            }
        )
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=list(TASKS))
    parser.add_argument("--batch_sizes", type=int, nargs="+", default=[512, 128])
    parser.add_argument("--repeats", type=int, default=16, help="timed steps of every mode")
    parser.add_argument("--json", help="write the figures to this file")
    arguments = parser.parse_args()
    print(harness.hardware())
    rows = []
    for name in arguments.tasks:
        for batch_size in arguments.batch_sizes:
            print(f"{name} training step, batch {batch_size}; medians, interleaved")
            rows += speeds(name, batch_size, arguments.repeats)
            report(rows[-len(MODES) :])
    harness.write_json(arguments.json, {"hardware": harness.hardware(), "rows": rows})


def report(rows):
    columns = "mode", "ms", "questions/s", "speed-up", "GFLOP", "GFLOP/s", "of the peak"
    formats = "{}", "{:.1f}", "{:,.0f}", "{:.2f}", "{:.1f}", "{:.0f}", "{:.0%}"
    cells = [
        [f.format(v) for f, v in zip(formats, list(row.values())[2:], strict=True)] for row in rows
    ]
    harness.print_table(list(columns), cells)


if __name__ == "__main__":
    main()
