"""The Sudoku training step against the plain formulation; or its longest kernels, or its memory.

Both have the same model and the same boards, and are run interleaved.

    python -m benchmarks.sudoku_step [--batch_sizes 64] [--num_steps 32] [--compiled off|on|both]
        [--profile | --memory] [--seconds N] [--json FILE]

The plain formulation follows the paper's equations word for word (`rrn.nn.plain`), as a
compiled TensorFlow function too. The boards hold random digits, which cost what others cost. "rrn
recompute" keeps only h and c of every step for the backward pass. "general" is rrn with the same
MLP as a message function of one's own, on the general path. "compiled" is by XLA.

"made" is the time of making and tracing; the first call includes compiling. Counted are the
floating-point operations of matrix products, forward and backward (twice forward), against the rate
of a large square product; and the least bytes that the edges' tensors move, against the rate of a
large copy: with 1,620 edges a board, 20 passes a step over tensors of 96 columns
(`harness.edge_bytes` derives them). What is computed again is in neither. What stays in a cache
(blocks of edges on a CPU, small batches on a GPU) is counted all the same. Peak memory is a GPU's
beyond what was in use before, or with --memory a whole process's that runs one way alone,
TensorFlow included.
"""

import numpy as np
import tensorflow as tf

from benchmarks import harness
from benchmarks.timing import Case
from configs import sudoku as sudoku_config
from rrn.config import replace
from rrn.nn import plain
from rrn.tasks.sudoku import Sudoku

FORMULATIONS = "plain", "rrn", "rrn recompute", "general"
MODES = [f"{name} {dtype}" for name in FORMULATIONS for dtype in harness.DTYPES]
HIDDEN, EMBEDDING, DIGITS, HIDDEN_LAYERS = 96, 16, 10, 3  # the paper's
NODES, EDGES = 81, 1620  # of a board


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


def training_step(mode, batch_size, num_steps, compiled):
    """A training step of `mode`, a function of anything."""
    *formulation, dtype = mode.split()
    recompute = "recompute" in formulation
    config = replace(
        sudoku_config.get_config(),
        model={"compute_dtype": dtype, "num_steps": num_steps, "recompute": recompute},
        train={"batch_size": batch_size},
    )
    task_class = PlainSudoku if "plain" in formulation else Sudoku

    def create():
        task = task_class(config.model)
        if "general" in formulation:
            harness.take_the_general_path(task.network.rrn)
        return task

    return harness.training_step(create, config, random_boards(batch_size), compiled)


def product_operations(formulation, num_steps):
    """Multiplications and additions of the network's products in one board's training step.

    Forward and backward; the backward pass has two products for each one forward.
    """
    square = HIDDEN**2
    on_nodes = 2 * square + 3 * square + 2 * 4 * square + HIDDEN * DIGITS
    on_edges = 2 * square + 3 * square
    if formulation != "plain":  # linear layers in a row are one; the first LSTM state is zero
        on_nodes -= 4 * square / num_steps
    if formulation == "general":  # post and LSTM alone: two products of 96 x 96 less on nodes
        on_nodes -= 2 * square
    elif formulation == "rrn":  # of the message function two layers are on edges
        on_edges = 2 * square
    once = NODES * (3 * EMBEDDING * HIDDEN + 3 * square)
    return 2 * 3 * (num_steps * (EDGES * on_edges + NODES * on_nodes) + once)


def case(batch_size, num_steps, mode, compiled):
    formulation, dtype = mode.split()[0], mode.split()[-1]
    if formulation in ("plain", "general"):
        edge_bytes = harness.plain_edge_bytes(2 * HIDDEN, HIDDEN, HIDDEN_LAYERS, dtype)
    else:
        edge_bytes = harness.own_edge_bytes(HIDDEN, HIDDEN_LAYERS, dtype)
    return Case(
        mode,
        lambda: training_step(mode, batch_size, num_steps, compiled),
        batch_size,
        num_steps,
        compiled,
        dtype,
        units=batch_size * num_steps,
        operations=batch_size * product_operations(formulation, num_steps),
        bytes_moved=batch_size * num_steps * EDGES * edge_bytes,
    )


def main():
    parser = harness.argument_parser(__doc__, MODES, [64], [32], 5)
    arguments = parser.parse_args()
    variants = list(harness.variants(arguments, arguments.num_steps))
    groups = [
        (f"Sudoku training step, batch {size}", [case(size, *variant) for variant in variants])
        for size in arguments.batch_sizes
    ]
    harness.run(__spec__.name, groups, "board-steps", arguments)


if __name__ == "__main__":
    main()
