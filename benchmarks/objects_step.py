"""The training steps of Pretty-CLEVR and of the ages against the plain formulation.

Both have the same model and the same questions, and are run interleaved. Or it lists their longest
kernels, or the memory that each way takes.

    python -m benchmarks.objects_step [--tasks pretty_clevr ages] [--batch_sizes 512 128]
        [--compiled off|on|both] [--profile | --memory] [--seconds N] [--json FILE]

The plain formulation follows the paper's equations word for word (`rrn.nn.plain`), as a
compiled TensorFlow function too. Scenes and trees are random numbers, which cost what others cost.
The columns are those of `benchmarks.sudoku_step`. rrn's Pretty-CLEVR writes no tensor on edges, so
that it has no bytes to be counted.
"""

import functools

import numpy as np
import tensorflow as tf

from benchmarks import harness
from benchmarks.timing import Case
from configs import ages as ages_config
from configs import pretty_clevr as pretty_clevr_config
from rrn.config import replace
from rrn.nn import plain
from rrn.tasks.ages import Ages
from rrn.tasks.pretty_clevr import PrettyClevr

NAMES = [str(i) for i in range(16)]
TASKS = {
    "pretty_clevr": (lambda model: PrettyClevr(model, NAMES), pretty_clevr_config),
    "ages": (Ages, ages_config),
}
FORMULATIONS = "plain", "rrn", "general"
MODES = [f"{name} {dtype}" for name in FORMULATIONS for dtype in harness.DTYPES]
HIDDEN = 128
NODES, EDGES = 8, 56  # of a question
NUM_STEPS = {"pretty_clevr": 4, "ages": 8}


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


def training_step(name, mode, batch_size, compiled):
    """A training step of the task `name`, a function of anything."""
    formulation, dtype = mode.split()
    create_task, configs = TASKS[name]
    fields = {"model": {"compute_dtype": dtype}, "train": {"batch_size": batch_size}}
    config = replace(configs.get_config(), **fields)

    def create():
        task = create_task(config.model)
        if formulation == "plain":
            task.network.rrn = PlainNetwork(task.network.rrn)
        if formulation == "general":
            harness.take_the_general_path(task.network.rrn)
        return task

    return harness.training_step(create, config, random_arrays(), compiled)


def product_operations(name, formulation):
    """Multiplications and additions of the network's products in one question's training step.

    Forward and backward; the backward pass has two products for each one forward.
    """
    h, square, steps = HIDDEN, HIDDEN**2, NUM_STEPS[name]
    if name == "pretty_clevr":  # one hidden layer, no LSTM
        once = NODES * (42 * h + square)
        readout = square + 16 * h
        plain_edges, plain_nodes = (2 * h + 1) * h + square, 4 * square
        own_edges, own_nodes = 0, 5 * square
    else:
        once = NODES * (127 * h + 3 * square)
        readout = 3 * square + 100 * h
        plain_edges, plain_nodes = 5 * square, 5 * square + 8 * square
        # Linear layers in a row are one, and the first step's LSTM state is zero.
        own_edges, own_nodes = 2 * square, (5 + 4 + 4 * (1 - 1 / steps)) * square
    if formulation == "plain":
        on_edges, on_nodes = plain_edges, plain_nodes
    elif formulation == "general":  # of the message function nothing is on nodes
        on_edges, on_nodes, once = plain_edges, own_nodes - 2 * square, once + NODES * square
    else:
        on_edges, on_nodes, once = own_edges, own_nodes, once + NODES * square
    return 2 * 3 * (steps * (EDGES * on_edges + NODES * on_nodes + readout) + once)


def edge_bytes(name, formulation, dtype):
    """The least bytes of an edge in a step; None where nothing is written on edges."""
    distances, layers = (1, 1) if name == "pretty_clevr" else (0, 3)
    if formulation != "rrn":
        return harness.plain_edge_bytes(2 * HIDDEN + distances, HIDDEN, layers, dtype)
    return None if layers == 1 else harness.own_edge_bytes(HIDDEN, layers, dtype)


def case(name, batch_size, num_steps, mode, compiled):
    formulation, dtype = mode.split()
    of_edge = edge_bytes(name, formulation, dtype)
    return Case(
        f"{name} {mode}",
        lambda: training_step(name, mode, batch_size, compiled),
        batch_size,
        num_steps,
        compiled,
        dtype,
        units=batch_size,
        operations=batch_size * product_operations(name, formulation),
        bytes_moved=of_edge and batch_size * num_steps * EDGES * of_edge,
    )


def group(name, batch_size, arguments):
    """A table's title and cases."""
    of_batch = functools.partial(case, name, batch_size)
    variants = harness.variants(arguments, [NUM_STEPS[name]])
    return f"{name} training step, batch {batch_size}", [of_batch(*v) for v in variants]


def main():
    parser = harness.argument_parser(__doc__, MODES, [512, 128], None, 16)
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=list(TASKS))
    arguments = parser.parse_args()
    groups = [
        group(name, batch_size, arguments)
        for name in arguments.tasks
        for batch_size in arguments.batch_sizes
    ]
    harness.run(__spec__.name, groups, "questions", arguments)


if __name__ == "__main__":
    main()
