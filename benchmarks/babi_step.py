"""The bAbI training step against the plain formulation: same model, same batches, one run,
interleaved.

    python -m benchmarks.babi_step [--batch_size 512] [--json FILE]

The plain formulation follows the paper's equations word for word (`rrn.plain`), as a
compiled TensorFlow function too. It is given what costs it nothing: each distinct sentence encoded
once, and edge lists without padding. Counted are the floating-point operations of matrix products,
forward and backward (twice forward).
"""

import argparse

import tensorflow as tf

from benchmarks import harness
from configs import babi as babi_config
from rrn import plain
from rrn.data import read_prepared, training_inputs
from rrn.tasks.babi import Babi
from rrn.training import Trainer

DTYPES = "float32", "bfloat16"


class PlainBabi(Babi):
    """The bAbI task with the plain formulation in place of the encoders and the network."""

    def make_batch(self, arrays, examples, random, training):
        batch = super().make_batch(arrays, examples, random, training)
        senders, receivers = self.graph(batch).edge_list()
        return {**batch, "senders": senders, "receivers": receivers}

    def sentences(self, arrays, sentences):
        tokens, lengths = arrays["sentences/tokens"], arrays["sentences/length"]
        return {"tokens": tf.gather(tokens, sentences), "lengths": tf.gather(lengths, sentences)}

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


def trainer(task_class, data, batch_size, dtype, num_steps):
    """(the training step as a compiled function of one batch, the input)."""
    config = babi_config.get_config()
    config.train.batch_size = batch_size
    config.model.compute_dtype = dtype
    config.model.num_steps = num_steps
    task = task_class(config.model, data)
    inputs = training_inputs(task, data.arrays("train"), batch_size, 1, config.seed, 0)
    trainer = Trainer(task, config.train, harness.DEVICES, [inputs[0].element_spec])
    return lambda batch: trainer.update_once([batch]), inputs[0]


def product_operations(formulation, edges, nodes, questions, num_steps, h=128, e=32, v=177):
    """Multiplications and additions of the network's products in one training step.

    Forward and backward; the backward pass has two products for each one forward.
    """
    middle, square = 2 * h * h, h * h
    if formulation == "plain":
        on_edges = (2 * h + e) * h + 3 * square
        on_nodes = 2 * h * h + 3 * square + 2 * h * 4 * h
    else:  # linear layers in a row are one, and the first step's LSTM state is zero
        on_edges = middle
        on_nodes = 2 * square + square + 2 * square + h * 4 * h + h * 4 * h * (1 - 1 / num_steps)
    steps = num_steps * (edges * on_edges + nodes * on_nodes)
    once = nodes * ((2 * e + 40) * h + 3 * square) + num_steps * questions * (2 * square + h * v)
    return 2 * 3 * (steps + once)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", default="data/babi.h5")
    parser.add_argument("--batch_size", type=int, default=512)
    parser.add_argument("--repeats", type=int, default=16, help="batches, each timed in every mode")
    parser.add_argument("--json", help="write the figures to this file")
    arguments = parser.parse_args()
    data = read_prepared(arguments.data)
    run(data, arguments.batch_size, arguments.repeats, arguments.json)


def run(data, batch_size, repeats, json_path=None):
    formulations = {"plain": PlainBabi, "rrn": Babi}
    steps, batches = {}, {}
    for name, task_class in formulations.items():
        for dtype in DTYPES:
            steps[f"{name} {dtype}"], inputs = trainer(task_class, data, batch_size, dtype, 3)
        batches[name] = list(inputs.take(repeats))
    one_step = {
        f"rrn {dtype}, 1 step": trainer(Babi, data, batch_size, dtype, 1)[0] for dtype in DTYPES
    }

    def on_own_batch(name, step):
        own = batches[name.split()[0]]
        return lambda i: step(own[i])

    functions = {name: on_own_batch(name, step) for name, step in {**steps, **one_step}.items()}
    products = {f"{dtype} product": harness.product(dtype) for dtype in DTYPES}
    medians = harness.interleaved_medians({**functions, **products}, list(range(repeats)))
    operations = 2 * harness.PRODUCT_SIZE**3
    peaks = {dtype: operations / medians[f"{dtype} product"] for dtype in DTYPES}
    batch = batches["plain"][0]
    edges, nodes = len(batch["senders"]), len(batch["fact_of_node"])
    rows = []
    for name in steps:
        formulation, dtype = name.split()
        operations = product_operations(formulation, edges, nodes, batch_size, 3)
        rate = operations / medians[name]
        rows.append(
            {
                "mode": name,
                "milliseconds": 1e3 * medians[name],
                "questions_per_second": batch_size / medians[name],
                "speedup": medians["plain float32"] / medians[name],
                "gigaflop": operations / 1e9,
                "gigaflop_per_second": rate / 1e9,
                "share_of_peak": rate / peaks[dtype],
            }
        )
    few = list(range(min(repeats, 3)))
    by_operation = {
        name: harness.time_by_operation(functions[name], few)
        for name in ("rrn float32", "rrn bfloat16")
    }
    report(rows, medians, peaks, by_operation, batch_size, json_path)


def report(rows, medians, peaks, by_operation, batch_size, json_path):
    print(harness.hardware())
    print(f"bAbI training step, batch {batch_size}, 3 steps; medians, interleaved")
    harness.print_table(
        ["mode", "ms", "questions/s", "times plain float32", "GFLOP", "GFLOP/s", "of the peak"],
        [
            [
                row["mode"],
                f"{row['milliseconds']:.1f}",
                f"{row['questions_per_second']:,.0f}",
                f"{row['speedup']:.2f}",
                f"{row['gigaflop']:.0f}",
                f"{row['gigaflop_per_second']:.0f}",
                f"{100 * row['share_of_peak']:.0f} %",
            ]
            for row in rows
        ],
    )
    for dtype, peak in peaks.items():
        whole, one = medians[f"rrn {dtype}"], medians[f"rrn {dtype}, 1 step"]
        per_step = (whole - one) / 2
        print(
            f"{dtype}: a large product ({harness.PRODUCT_SIZE}²) runs at {peak / 1e9:.0f} GFLOP/s; "
            f"rrn takes {1e3 * per_step:.0f} ms a step and "
            f"{1e3 * (whole - 3 * per_step):.0f} ms besides"
        )
    for name, operations in by_operation.items():
        largest = list(operations.items())[:8]
        print(f"{name}, ms by operation: " + ", ".join(f"{op} {ms:.0f}" for op, ms in largest))
    ratios = {row["mode"].replace(" ", "_"): row["speedup"] for row in rows[1:]}
    harness.write_json(
        json_path,
        {
            "hardware": harness.hardware(),
            "rows": rows,
            "operations_ms": by_operation,
            "ratios": ratios,
        },
    )


if __name__ == "__main__":
    main()
