"""What the examples of several tasks' reports are made of."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from rrn.nn import plain
from rrn.nn.graphs import Graph
from rrn.nn.messages import MessageFunction
from rrn.nn.network import RecurrentRelationalNetwork
from rrn.pages import Step

MOST_ANSWERS = 5  # of a step


def one_of_each(kinds: np.ndarray, most: int) -> list[int]:
    """Chooses the last example of each kind, positions in `kinds` `[examples]`, by kind.

    Of more than `most` kinds, some are chosen from the first to the last.
    """
    _, from_end = np.unique(kinds[::-1], return_index=True)
    last = len(kinds) - 1 - from_end
    some = np.linspace(0, len(last) - 1, min(most, len(last))).round().astype(int)
    return last[some].tolist()


def answer_steps(probabilities: np.ndarray, words: Sequence[str], strengths: Any) -> list[Step]:
    """Makes steps with the likeliest answers, the likeliest first.

    Args:
      probabilities: of the answers, `[steps, classes]`.
      words: the classes' names.
      strengths: the nodes' at every step, from `message_strengths`.
    """
    steps = []
    for p, s in zip(probabilities, strengths, strict=True):
        order = np.argsort(-p, kind="stable")[:MOST_ANSWERS]
        steps.append(Step(answers=[(words[int(i)], float(p[i])) for i in order], strengths=s))
    return steps


def message_strengths(
    network: RecurrentRelationalNetwork,
    graph: Graph,
    features: tf.Tensor,
    hidden: Sequence[tf.Tensor],
    edges: tf.Tensor | None = None,
) -> np.ndarray:
    """Measures how strong the messages are that the nodes send at every step.

    Args:
      features: the nodes' features, `[nodes, input_size]`.
      hidden: the hidden states after every step, `[nodes, hidden_size]`.
      edges: the features of the edges and their graph's globals, in the order of
        `graph.edge_list`, `[edges, edge_size + global_size]`; None without.

    Returns:
      The mean length |m_ij| over a node's receivers j, `[steps, nodes]`; 0 for padding.
    """
    assert isinstance(network.message_fn, MessageFunction)  # the paper's, as all tasks here have it
    senders, receivers = graph.edge_list()
    lengths = []
    for before in [network.input_fn(features), *hidden[:-1]]:
        before = tf.cast(before, tf.float32)  # x has the type of matrix products
        messages = plain.messages(network.message_fn.mlp, before, senders, receivers, edges)
        norms = tf.norm(tf.cast(messages, tf.float32), axis=-1)
        lengths.append(tf.math.unsorted_segment_mean(norms, senders, tf.shape(before)[0]))
    return tf.stack(lengths).numpy()
