"""One answer for each graph, from the sum of its nodes at every step (Palm et al. 2018, 3.1)."""

import numpy as np
import tensorflow as tf

from rrn.network import dropout_weights


def dropout(probabilities, random, steps=1):
    """What `MLP.__call__` takes as `after_relu`: drops outputs of the i-th ReLU layer with
    `probabilities[i]`, and scales up the others.

    random: `rrn.random.ExampleRandom`, None where nothing is dropped; steps: rows of each example.
    """
    if random is None or not any(probabilities):
        return None

    def drop(x, layer):
        if not probabilities[layer]:
            return x
        draws = tf.reshape(random.uniform([steps, x.shape[-1]], layer), [-1, x.shape[-1]])
        return x * tf.cast(dropout_weights(draws, 1.0 - probabilities[layer]), x.dtype)

    return drop


def sum_readout(readout, graph, hidden, probabilities=(), random=None):
    """Logits `[graphs, steps, classes]`: the MLP `readout` on the sums of every graph's nodes.

    hidden: a list of `[nodes, hidden_size]`, one for each step; all steps are one product.
    probabilities, random: see `dropout`.
    """
    sums = tf.stack([graph.sum_nodes(h) for h in hidden], axis=1)
    steps, size = sums.shape[1:]
    logits = readout(tf.reshape(sums, [-1, size]), dropout(probabilities, random, steps))
    return tf.reshape(logits, [-1, steps, logits.shape[-1]])


def answer_losses(logits, answers):
    """(losses, outputs), as a task's `loss` returns them, of answers `[graphs]`.

    The loss is the cross-entropy, its mean over all steps. Outputs, `[graphs, steps]`: "loss",
    "predicted" (the class) and "correct" (0 or 1).
    """
    by_step = tf.repeat(answers[:, None], logits.shape[1], axis=1)
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(by_step, logits)
    predicted = tf.argmax(logits, -1, tf.int32)
    correct = tf.cast(tf.equal(predicted, by_step), tf.float32)  # == forgets the shape
    outputs = {"loss": losses, "predicted": predicted, "correct": correct}
    return {"loss": tf.reduce_mean(losses, axis=1)}, outputs


def accuracy_metrics(correct, kinds, num_kinds, name):
    """Accuracy of the last step, by step, and of the last step by kind of question.

    correct: `[graphs, steps]`; kinds: `[graphs]`, from 0 to num_kinds - 1; `name` says what a kind
    is.
    """
    examples, last = tf.ones(tf.shape(correct)[0]), correct[:, -1]
    return {
        "accuracy": (tf.reduce_sum(last), tf.reduce_sum(examples)),
        "accuracy_by_step": (tf.reduce_sum(correct, 0), tf.reduce_sum(examples)),
        f"accuracy_by_{name}": (
            tf.math.unsorted_segment_sum(last, kinds, num_kinds),
            tf.math.unsorted_segment_sum(examples, kinds, num_kinds),
        ),
    }


def results_by_step(by_step, error):
    """What a task's `results` returns, of arrays "name" -> `[steps]` and the error."""
    return {
        "metrics": {name: float(values[-1]) for name, values in by_step.items()},
        "by_step": {name: [float(v) for v in values] for name, values in by_step.items()},
        "error": float(error),
    }


def accuracy_by_kind(outputs, kinds, name):
    """Percent right by step: "accuracy/{name}_{kind}" for each kind there is, "accuracy/all", and
    "loss"; as a task's `results` returns them.

    outputs: arrays, of `answer_losses`; kinds: `[graphs]`.
    """
    right = 100.0 * outputs["correct"]
    by_step = {f"accuracy/{name}_{k}": right[kinds == k].mean(axis=0) for k in np.unique(kinds)}
    by_step["accuracy/all"] = right.mean(axis=0)
    by_step["loss"] = outputs["loss"].mean(axis=0)
    return results_by_step(by_step, error=100.0 - by_step["accuracy/all"][-1])


def _kinds(results, name):
    """Kind -> percents right by step, of the results of `accuracy_by_kind`."""
    prefix = f"accuracy/{name}_"
    by_step = results["by_step"].items()
    return {n.removeprefix(prefix): v for n, v in by_step if n.startswith(prefix)}


def errors_by_kind(results, name):
    """{kind: percent wrong after the last step}, of the results of `accuracy_by_kind`."""
    return {int(kind): 100.0 - percents[-1] for kind, percents in _kinds(results, name).items()}


def format_accuracy(results, name, others=()):
    """A table of what `accuracy_by_kind` gives: a row for each step, a column for each kind.

    others: (name, percents by kind, from 0) of other people's.
    """
    kinds = _kinds(results, name)
    columns = {**kinds, "all": results["by_step"]["accuracy/all"]}
    rows = [(f"step {i + 1}", v) for i, v in enumerate(zip(*columns.values(), strict=True))]
    lines = [f"{f'right, %; {name}:':<34}" + "".join(f"{kind:>7}" for kind in columns)]
    others = [(row, [percents[int(kind)] for kind in kinds]) for row, percents in others]
    for row, percents in [*rows, *others]:
        lines.append(f"{row:<34}" + "".join(f"{percent:7.1f}" for percent in percents))
    return "\n".join(lines)


def draw_accuracy(results, name, others=()):
    """A figure of the same: a line for each step, dashed ones for other people's."""
    from matplotlib.figure import Figure  # only drawing needs it

    by_kind = _kinds(results, name)
    kinds = [int(kind) for kind in by_kind]
    steps = list(zip(*by_kind.values(), strict=True))
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.subplots()
    for i, percents in enumerate(steps, 1):
        shade = str(0.8 * (1 - i / len(steps)))
        axes.plot(kinds, percents, "o-", color=shade, label=f"step {i}")
    for i, (label, percents) in enumerate(others):
        axes.plot(percents, "--", color=f"C{i}", linewidth=1, label=label)  # kinds from 0
    axes.set(xlabel=name, ylabel="right, %", ylim=(0, 103))
    axes.legend(fontsize=7)
    return figure
