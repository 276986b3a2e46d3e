"""The Sudoku training step against the plain formulation; or its longest kernels.

Both have the same model and the same boards, and are run interleaved.

    python -m benchmarks.sudoku_step [--batch_sizes 64] [--num_steps 32] [--compiled off|on|both]
        [--profile] [--json FILE]

The plain formulation follows the paper's equations word for word (`rrn.nn.plain`), as a
compiled TensorFlow function too. The boards hold random digits, which cost what others cost. "rrn
recompute" keeps only h and c of every step for the backward pass. "general" is rrn with the same
MLP as a message function of one's own, on the general path. "compiled" is by XLA.

"made" is the time of making and tracing; the first call includes compiling. Peak memory is a GPU's
beyond what was in use before.
"""

import numpy as np
import tensorflow as tf

from benchmarks import harness
from configs import sudoku as sudoku_config
from rrn.config import replace
from rrn.tasks.sudoku import Sudoku

FORMULATIONS = "plain", "rrn", "rrn recompute", "general"
MODES = [f"{name} {dtype}" for name in FORMULATIONS for dtype in harness.DTYPES]


def random_boards(number):
    """Arrays of a split."""
    random = np.random.default_rng(0)
    arrays = {
        "puzzle": random.integers(0, 10, [number, 81]),
        "solution": random.integers(1, 10, [number, 81]),
        "givens": np.full(number, 17),
    }
    return {name: tf.constant(array, tf.int32) for name, array in arrays.items()}


def case(batch_size, num_steps, mode, compiled):
    *formulation, dtype = mode.split()
    recompute = "recompute" in formulation
    config = replace(
        sudoku_config.get_config(),
        model={"compute_dtype": dtype, "num_steps": num_steps, "recompute": recompute},
        train={"batch_size": batch_size},
    )

    def create():
        task = Sudoku(config.model)
        if "plain" in formulation:
            harness.take_the_plain_path(task.network.rrn)
        if "general" in formulation:
            harness.take_the_general_path(task.network.rrn)
        return task

    def make():
        return harness.training_step(create, config, random_boards(batch_size), compiled)

    units = batch_size * num_steps
    return harness.Case(mode, make, batch_size, num_steps, compiled, dtype, units)


def main():
    arguments = harness.argument_parser(__doc__, 5, MODES, [64], [32]).parse_args()
    variants = harness.variants(arguments, arguments.num_steps)
    groups = [
        (f"Sudoku training step, batch {size}", [case(size, *variant) for variant in variants])
        for size in arguments.batch_sizes
    ]
    harness.run(groups, "board-steps", arguments)


if __name__ == "__main__":
    harness.start(main)
