"""The bAbI training step against the plain formulation; or its longest kernels.

Both have the same model and the same questions, and are run interleaved.

    python -m benchmarks.babi_step [--batch_sizes 512] [--num_steps 3] [--compiled off|on|both]
        [--profile] [--json FILE]

The plain formulation follows the paper's equations word for word (`rrn.nn.plain`), as a
compiled TensorFlow function too. It has each distinct sentence encoded once, and edge lists without
padding. The lists' lengths differ from batch to batch, so that XLA ("compiled") is for rrn alone.
The sentences' encoders run on the CPU, as in training, or with "rrn tower-encoders" on the tower's
device, which is another one only where there is a GPU.
"""

import functools
from unittest import mock

from benchmarks import harness
from configs import babi as babi_config
from rrn.config import replace
from rrn.files.data import read_prepared
from rrn.nn import plain
from rrn.tasks.babi import Babi, batches

NAMES = "plain", "rrn", "rrn tower-encoders"
MODES = [f"{name} {dtype}" for name in NAMES for dtype in harness.DTYPES]


class PlainBabi(Babi):
    """The bAbI task with the plain formulation instead of the encoders and the network."""

    def __init__(self, *args):
        super().__init__(*args)
        harness.take_the_plain_path(self.network.rrn)

    def make_batch(self, *args, **options):
        def words(tokens, lengths, **_):
            return {"tokens": tokens, "lengths": lengths}

        with mock.patch.object(batches, "prefix_tree", words):  # of sentences, not their trees
            return super().make_batch(*args, **options)

    def encode(self, batch):
        encoder = self.encoder
        return {
            name: plain.encoded_sentences(module, encoder.embedding, **batch[name])
            for name, module in (("facts", encoder.facts), ("questions", encoder.questions))
        }


def case(data, batch_size, num_steps, mode, compiled, num_batches):
    formulation, dtype = mode.split()[0], mode.split()[-1]
    config = replace(
        babi_config.get_config(),
        model={"compute_dtype": dtype, "num_steps": num_steps},
        train={"batch_size": batch_size},
        variables={"encoder_device": "tower" if "tower" in mode else "cpu"},
    )
    task_class = PlainBabi if formulation == "plain" else Babi

    def make():
        create = functools.partial(task_class, config.model, data)
        return harness.training_step(create, config, data.arrays("train"), compiled, num_batches)

    return harness.Case(mode, make, batch_size, num_steps, compiled, dtype, units=batch_size)


def group(data, batch_size, arguments):
    """A table's title and cases."""
    cases = [
        case(data, batch_size, steps, mode, compiled, arguments.repeats)
        for steps, mode, compiled in harness.variants(arguments, arguments.num_steps)
        if not (compiled and mode.startswith("plain"))
    ]
    return f"bAbI training step, batch {batch_size}", cases


def main():
    parser = harness.argument_parser(__doc__, 16, MODES, [512], [3])
    parser.add_argument("--data", default="data/babi.h5")
    if not harness.ON_GPU:
        parser.set_defaults(modes=[mode for mode in MODES if "tower" not in mode])
    arguments = parser.parse_args()
    data = read_prepared(arguments.data)
    groups = [group(data, batch_size, arguments) for batch_size in arguments.batch_sizes]
    harness.run(groups, "questions", arguments)


if __name__ == "__main__":
    harness.start(main)
