"""One answer for each graph, from the sum of its nodes at every step; its loss and accuracy."""

from collections.abc import Callable, Sequence

import tensorflow as tf

from rrn.nn.graphs import Graph
from rrn.nn.layers import MLP
from rrn.variables.random import ExampleRandom, dropout_weights


def dropout(
    probabilities: Sequence[float], random: ExampleRandom | None, steps: int = 1
) -> Callable[[tf.Tensor, int], tf.Tensor] | None:
    """Makes an `after_relu` of `MLP.__call__`: it drops outputs and scales up the others.

    Each ReLU layer has a probability of an output to be dropped; each example has `steps` rows.
    Without `random`, the examples' draws, nothing is dropped, as in evaluation.
    """
    if random is None or not any(probabilities):
        return None

    def drop(x, layer):
        if not probabilities[layer]:
            return x
        draws = tf.reshape(random.uniform([steps, x.shape[-1]], layer), [-1, x.shape[-1]])
        return x * tf.cast(dropout_weights(draws, 1.0 - probabilities[layer]), x.dtype)

    return drop


def sum_readout(
    readout: MLP,
    graph: Graph,
    hidden: Sequence[tf.Tensor],
    probabilities: Sequence[float] = (),
    random: ExampleRandom | None = None,
) -> tf.Tensor:
    """Applies an MLP to the sum of each graph's nodes, at every step; all steps are one product.

    From hidden states `[nodes, hidden_size]` of every step come logits `[graphs, steps, classes]`.
    Probabilities and random are those of `dropout`.
    """
    sums = tf.stack([graph.sum_nodes(h) for h in hidden], axis=1)
    steps, size = sums.shape[1:]
    logits = readout(tf.reshape(sums, [-1, size]), dropout(probabilities, random, steps))
    return tf.reshape(logits, [-1, steps, logits.shape[-1]])


def answer_losses(
    logits: tf.Tensor, answers: tf.Tensor
) -> tuple[dict[str, tf.Tensor], dict[str, tf.Tensor]]:
    """Computes cross-entropies of logits `[graphs, steps, classes]` and answers `[graphs]`.

    They are in float32.

    Returns:
      (losses, outputs), as a task's `loss` returns them. The losses' "loss" `[graphs]` is the mean
      over all steps. The outputs, each `[graphs, steps]`, are "loss", "predicted" (the class) and
      "correct" (0 or 1).
    """
    logits, answers = tf.cast(logits, tf.float32), tf.cast(answers, tf.int32)
    by_step = tf.repeat(answers[:, None], logits.shape[1], axis=1)
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(by_step, logits)
    predicted = tf.argmax(logits, -1, tf.int32)
    correct = tf.cast(tf.equal(predicted, by_step), tf.float32)  # == forgets the shape
    outputs = {"loss": losses, "predicted": predicted, "correct": correct}
    return {"loss": tf.reduce_mean(losses, axis=1)}, outputs


def accuracy_metrics(
    correct: tf.Tensor, kinds: tf.Tensor, num_kinds: int, name: str
) -> dict[str, tuple[tf.Tensor, tf.Tensor]]:
    """Counts right answers: at the last step, by step, and at the last step by kind of question.

    They are as a task's `metrics` returns them: name -> (number right, number of questions).

    Args:
      correct: 0 or 1, `[graphs, steps]`.
      kinds: each question's kind, integers `[graphs]` from 0 to num_kinds - 1.
      name: what a kind is, in a word.
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
