"""The training steps of Pretty-CLEVR and of the ages against the plain formulation.

Both have the same model and the same questions, and are run interleaved. Or it lists their longest
kernels.

    python -m benchmarks.objects_step [--tasks pretty_clevr ages] [--batch_sizes 512 128]
        [--compiled off|on|both] [--profile] [--json FILE]

The plain formulation follows the paper's equations word for word (`rrn.nn.plain`), as a
compiled TensorFlow function too. Scenes and trees are random numbers, which cost what others cost.
"""

import numpy as np
import tensorflow as tf

from benchmarks import harness
from configs import ages as ages_config
from configs import pretty_clevr as pretty_clevr_config
from rrn.config import replace
from rrn.tasks.ages import Ages
from rrn.tasks.pretty_clevr import PrettyClevr

NAMES = [str(i) for i in range(16)]
TASKS = {
    "pretty_clevr": (lambda model: PrettyClevr(model, NAMES), pretty_clevr_config),
    "ages": (Ages, ages_config),
}
FORMULATIONS = "plain", "rrn", "general"
MODES = [f"{name} {dtype}" for name in FORMULATIONS for dtype in harness.DTYPES]
NUM_STEPS = {"pretty_clevr": 4, "ages": 8}


def random_arrays():
    """Arrays of a split, of both tasks."""
    random = np.random.default_rng(0)

    def integers(*shape):
        return tf.constant(random.integers(8, size=[100, *shape]), tf.int32)

    return {
        "positions": tf.constant(random.random([100, 8, 2]), tf.float32),
        "colours": integers(8),
        "markers": integers(8),
        "order": integers(8, 8),
        "edges": integers(7, 2),
        "distance": integers(8, 8),
    }


def case(name, batch_size, num_steps, mode, compiled):
    formulation, dtype = mode.split()
    create_task, configs = TASKS[name]
    fields = {"model": {"compute_dtype": dtype}, "train": {"batch_size": batch_size}}
    config = replace(configs.get_config(), **fields)

    def create():
        task = create_task(config.model)
        if formulation == "plain":
            harness.take_the_plain_path(task.network.rrn)
        if formulation == "general":
            harness.take_the_general_path(task.network.rrn)
        return task

    def make():
        return harness.training_step(create, config, random_arrays(), compiled)

    mode = f"{name} {mode}"
    return harness.Case(mode, make, batch_size, num_steps, compiled, dtype, units=batch_size)


def group(name, size, arguments):
    """A table's title and cases."""
    variants = harness.variants(arguments, [NUM_STEPS[name]])
    return f"{name} training step, batch {size}", [case(name, size, *v) for v in variants]


def main():
    parser = harness.argument_parser(__doc__, 16, MODES, [512, 128])
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=list(TASKS))
    arguments = parser.parse_args()
    groups = [
        group(name, batch_size, arguments)
        for name in arguments.tasks
        for batch_size in arguments.batch_sizes
    ]
    harness.run(groups, "questions", arguments)


if __name__ == "__main__":
    harness.start(main)
