"""What the examples of several tasks' reports are made of."""

from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from rrn.nn import plain
from rrn.nn.aggregation import Aggregation
from rrn.nn.graphs import Graph
from rrn.nn.messages import MessageFunction


def one_of_each(kinds: np.ndarray, most: int) -> list[int]:
    """Chooses the last example of each kind.

    Args:
      kinds: each example's kind, integers `[examples]`.
      most: if there are more kinds, so many of them, spread from the first to the last.

    Returns:
      Places in `kinds`, by kind.
    """
    _, from_end = np.unique(kinds[::-1], return_index=True)
    places = len(kinds) - 1 - from_end
    some = np.linspace(0, len(places) - 1, min(most, len(places))).round().astype(int)
    return places[some].tolist()


def likeliest(
    probabilities: np.ndarray, words: Sequence[str], most: int = 5
) -> list[tuple[str, float]]:
    """Names the likeliest answers with their probabilities, the likeliest first.

    Args:
      probabilities: of the classes, `[classes]`.
    """
    order = np.argsort(-probabilities, kind="stable")[:most]
    return [(words[int(i)], float(probabilities[i])) for i in order]


def message_strengths(
    message_fn: Aggregation,
    graph: Graph,
    states: Sequence[tf.Tensor],
    edges: tf.Tensor | None = None,
) -> np.ndarray:
    """Measures how strong the messages are that the nodes send at every step.

    Args:
      states: for every step the states that its messages are made of, `[nodes, node_size]`.
      edges: the features of the edges and their graph's globals, in the order of
        `graph.edge_list`, `[edges, edge_size + global_size]`; None without.

    Returns:
      The mean length |m_ij| over a node's receivers j, `[steps, nodes]`; 0 for padding.
    """
    assert isinstance(message_fn, MessageFunction)  # the paper's, as all tasks here have it
    senders, receivers = graph.edge_list()
    lengths = []
    for hidden in states:
        hidden = tf.cast(hidden, tf.float32)  # x has the type of products
        messages = plain.messages(message_fn.mlp, hidden, senders, receivers, edges)
        norms = tf.norm(tf.cast(messages, tf.float32), axis=-1)
        lengths.append(tf.math.unsorted_segment_mean(norms, senders, tf.shape(hidden)[0]))
    return tf.stack(lengths).numpy()
