"""The bAbI training step against the plain formulation; or its longest kernels, or its memory.

Both have the same model and the same questions, and are run interleaved.

    python -m benchmarks.babi_step [--batch_sizes 512] [--num_steps 3] [--compiled off|on|both]
        [--profile | --memory] [--seconds N] [--json FILE]

The plain formulation follows the paper's equations word for word (`rrn.nn.plain`), as a
compiled TensorFlow function too. It is given what costs it nothing: each distinct sentence encoded
once, and edge lists without padding. The lists' lengths differ from batch to batch, so that XLA
("compiled") is for rrn alone. The sentences' encoders run on the CPU, as in training, or with "rrn
tower-encoders" on the tower's device, which is another one only where there is a GPU. The
difference of the rows of `--num_steps 3 1` is what two steps of message passing take.

The columns are those of `benchmarks.sudoku_step`. Counted are operations and bytes of the real
edges and nodes of the first batch, and not those of padding.
"""

import functools

import tensorflow as tf

from benchmarks import harness
from benchmarks.timing import Case
from configs import babi as babi_config
from rrn.config import replace
from rrn.files.data import read_prepared
from rrn.nn import plain
from rrn.tasks.babi import Babi
from rrn.tasks.babi.batches import Batches
from rrn.tasks.inputs import training_inputs

NAMES = "plain", "rrn", "rrn tower-encoders"
MODES = [f"{name} {dtype}" for name in NAMES for dtype in harness.DTYPES]
HIDDEN, ENCODING, POSITIONS, VOCABULARY, HIDDEN_LAYERS = 128, 32, 40, 177, 3  # the paper's


class PlainBatches(Batches):
    """Batches with the words of sentences in place of their trees."""

    def sentences(self, arrays, sentences, fixed_shapes):
        tokens, lengths = arrays["sentences/tokens"], arrays["sentences/length"]
        return {"tokens": tf.gather(tokens, sentences), "lengths": tf.gather(lengths, sentences)}


class PlainBabi(Babi):
    """The bAbI task with the plain formulation in place of the encoders and the network."""

    def __init__(self, config, data):
        super().__init__(config, data)
        self.batches = PlainBatches(config, data, self.constants["fact_shares"])

    def make_batch(self, arrays, examples, random, training):
        batch = super().make_batch(arrays, examples, random, training)
        senders, receivers = self.graph(batch).edge_list()
        return {**batch, "senders": senders, "receivers": receivers}

    def encode(self, batch):
        encoder = self.encoder
        return {
            name: plain.encoded_sentences(module, encoder.embedding, **batch[name])
            for name, module in (("facts", encoder.facts), ("questions", encoder.questions))
        }

    def hidden_states(self, graph, features, questions, batch, num_steps):
        receivers = batch["receivers"]
        edges = tf.gather(graph.broadcast_globals_to_nodes(questions), receivers)
        return plain.hidden_states(
            self.network.rrn, batch["senders"], receivers, features, num_steps, edges
        )


def config_of(batch_size, dtype, num_steps):
    return replace(
        babi_config.get_config(),
        model={"compute_dtype": dtype, "num_steps": num_steps},
        train={"batch_size": batch_size},
    )


def numbers(data, batch_size):
    """(edges, nodes) of the first batch."""
    config = config_of(batch_size, "float32", 1)
    task = PlainBabi(config.model, data)
    (inputs,) = training_inputs(task, data.arrays("train"), batch_size, 1, config.seed, 0)
    (batch,) = inputs.take(1)
    return len(batch["senders"]), len(batch["fact_of_node"])


def product_operations(formulation, edges, nodes, questions, num_steps):
    """Multiplications and additions of the network's products in one training step.

    Forward and backward; the backward pass has two products for each one forward.
    """
    h, e, square = HIDDEN, ENCODING, HIDDEN**2
    if formulation == "plain":
        on_edges = (2 * h + e) * h + 3 * square
        on_nodes = 2 * square + 3 * square + 2 * 4 * square
    else:  # linear layers in a row are one, and the first step's LSTM state is zero
        on_edges = 2 * square
        on_nodes = 2 * square + square + 2 * square + 4 * square + 4 * square * (1 - 1 / num_steps)
    steps = num_steps * (edges * on_edges + nodes * on_nodes)
    once = nodes * ((2 * e + POSITIONS) * h + 3 * square)
    readouts = num_steps * questions * (2 * square + h * VOCABULARY)
    return 2 * 3 * (steps + once + readouts)


def case(data, edges, nodes, batch_size, num_steps, mode, compiled, batches):
    formulation, dtype = mode.split()[0], mode.split()[-1]
    if formulation == "plain":
        pairs = 2 * HIDDEN + ENCODING
        edge_bytes = harness.plain_edge_bytes(pairs, HIDDEN, HIDDEN_LAYERS, dtype)
    else:
        edge_bytes = harness.own_edge_bytes(HIDDEN, HIDDEN_LAYERS, dtype)

    def make():
        config = config_of(batch_size, dtype, num_steps)
        place = "tower" if "tower" in mode else "cpu"
        config = replace(config, variables={"encoder_device": place})
        task_class = PlainBabi if formulation == "plain" else Babi
        create = functools.partial(task_class, config.model, data)
        return harness.training_step(create, config, data.arrays("train"), compiled, batches)

    return Case(
        mode,
        make,
        batch_size,
        num_steps,
        compiled,
        dtype,
        units=batch_size,
        operations=product_operations(formulation, edges, nodes, batch_size, num_steps),
        bytes_moved=num_steps * edges * edge_bytes,
    )


def group(data, batch_size, arguments):
    """A table's title and cases."""
    edges, nodes = numbers(data, batch_size)
    of_batch = functools.partial(case, data, edges, nodes, batch_size)
    cases = [
        of_batch(steps, mode, compiled, arguments.repeats)
        for steps, mode, compiled in harness.variants(arguments, arguments.num_steps)
        if not (compiled and mode.startswith("plain"))
    ]
    return f"bAbI training step, batch {batch_size}: {edges:,} edges, {nodes:,} nodes", cases


def main():
    parser = harness.argument_parser(__doc__, MODES, [512], [3], 16)
    parser.add_argument("--data", default="data/babi.h5")
    if not harness.ON_GPU:
        parser.set_defaults(modes=[mode for mode in MODES if "tower" not in mode])
    arguments = parser.parse_args()
    data = read_prepared(arguments.data)
    groups = [group(data, batch_size, arguments) for batch_size in arguments.batch_sizes]
    harness.run(__spec__.name, groups, "questions", arguments)


if __name__ == "__main__":
    main()
