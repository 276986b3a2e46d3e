"""The same graph many times; each of its nodes has k neighbours."""

import functools
import json
import typing

import numpy as np
import tensorflow as tf

from rrn.compiling import is_compiling
from rrn.nn.checks import check_sizes, index_tensor, known_value, validate_indices
from rrn.nn.graphs.graph import EdgeEnds, GraphValue, KnownSizes
from rrn.nn.layers import custom_gradient, gather

BLOCK_EDGES = 2**14  # a CPU is fastest where a block's edges stay in its cache


class RegularGraph(GraphValue):
    """Every graph of the batch is the same, and each of its nodes has k neighbours.

    The edge shape is `[batch, graph_nodes, k]`. Neighbours that are known when the graph is made
    are a part of its type: a traced function that takes the graph as an argument knows them, and
    is traced again for others. So is the batch if it is given as an int.

    Args:
      neighbours: integers `[graph_nodes, k]`; node j of a graph receives from its nodes
        `neighbours[j]`.
    """

    __name__ = "rrn.RegularGraph"  # in SavedModels

    neighbours: tf.Tensor
    batch: typing.Union[int, tf.Tensor]  # noqa: UP007 (what ExtensionType reads)
    # The neighbours, as a part of the type: so hashable. As JSON, since TensorFlow would walk
    # through tuples of ints at every call.
    known_text: typing.Union[str, None]  # noqa: UP007

    def __init__(self, neighbours: tf.Tensor | np.ndarray, batch: int | tf.Tensor):
        name, axes = "RegularGraph: neighbours", "[graph_nodes, k]"
        self.neighbours = index_tensor(name, neighbours, axes, [None, None])
        whole = isinstance(batch, (int, np.integer))
        if whole:
            check_sizes("RegularGraph", 0, batch=batch)
        self.batch = int(batch) if whole else index_tensor("RegularGraph: batch", batch, "[]", [])
        known = tf.get_static_value(self.neighbours)
        if known is not None:
            validate_indices(name, known, len(known))
        self.known_text = None if known is None else json.dumps(known.tolist())

    @property
    def known_neighbours(self) -> np.ndarray | None:
        """The neighbours, integers `[graph_nodes, k]`; None if only a run knows them."""
        return None if self.known_text is None else _from_json(self.known_text)

    @property
    def edges_from(self) -> np.ndarray | None:
        """The edges that leave each node, integers `[graph_nodes, k]`.

        Edge k j + n is the n-th to node j. None if not k of them leave each, or if neighbours are
        not known before the run.
        """
        return None if self.known_text is None else _edges_by_sender(self.known_text)

    def known_sizes(self) -> KnownSizes:
        batch, nodes = tf.get_static_value(self.batch), self.neighbours.shape[0]
        batch = None if batch is None else int(batch)
        return KnownSizes(
            None if batch is None or nodes is None else batch * nodes,
            batch,
            tf.TensorShape([batch, *self.neighbours.shape]),
        )

    def edge_shape(self) -> tf.Tensor:
        return tf.stack([self.batch, *self.neighbours.shape])

    def edge_ends(self) -> EdgeEnds:
        nodes, k = self.neighbours.shape
        first = tf.range(self.batch)[:, None, None] * nodes
        receivers = tf.broadcast_to(tf.range(nodes)[:, None], [nodes, k])
        ends = first + self.neighbours, first + receivers
        return EdgeEnds(*(tf.reshape(x, [-1]) for x in ends))

    def _message_sums(self, edge_fn, senders, receivers, edges, edge_weights):
        # Block by block of a few graphs, where their number is known.
        sizes = self._block_sizes()

        def split(x):
            return [None] * len(sizes) if x is None else tf.split(x, sizes)

        nodes = self._by_graph(senders), self._by_graph(receivers)
        blocks = zip(*map(split, (*nodes, edges, edge_weights)), strict=True)
        return tf.concat([self._block_sums(edge_fn, *block) for block in blocks], axis=0)

    def _degrees(self, edge_weights):
        weights = tf.ones(self.edge_shape()) if edge_weights is None else edge_weights
        return tf.reshape(tf.reduce_sum(weights, axis=2), [-1])

    def _sum_nodes(self, nodes):
        return tf.reduce_sum(self._by_graph(nodes), axis=1)

    def _broadcast(self, globals_):
        return tf.repeat(globals_, self.neighbours.shape[0], axis=0)

    def validate(self) -> None:
        neighbours = known_value("RegularGraph.validate: neighbours", self.neighbours)
        validate_indices("RegularGraph.validate: neighbours", neighbours, len(neighbours))

    def _by_graph(self, nodes):
        """`[nodes, size]` to `[batch, graph_nodes, size]`."""
        return tf.reshape(nodes, [self.batch, self.neighbours.shape[0], nodes.shape[-1]])

    def _block_sizes(self):
        """The numbers of graphs of each block, nearly equal; of a GPU and XLA all are one block."""
        batch = tf.get_static_value(self.batch)
        if not batch or is_compiling() or tf.config.list_logical_devices("GPU"):
            return [self.batch]
        edges = batch * self.neighbours.shape.num_elements()
        num_blocks = min(batch, max(1, -(-edges // BLOCK_EDGES)))
        return [batch * (i + 1) // num_blocks - batch * i // num_blocks for i in range(num_blocks)]

    def _block_sums(self, edge_fn, senders, receivers, edges, edge_weights):
        """The sums of one block; all arguments are by graph."""
        pairs = self._gather_senders(senders) + tf.expand_dims(receivers, 2)
        pairs = pairs if edges is None else pairs + edges
        messages = edge_fn(tf.reshape(pairs, [-1, pairs.shape[-1]]))
        size = messages.shape[-1]
        # The number of graphs is given: nothing tells it where nodes have no neighbours.
        messages = tf.reshape(messages, [tf.shape(senders)[0], *self.neighbours.shape, size])
        if edge_weights is None:
            return tf.reshape(tf.reduce_sum(messages, axis=2), [-1, size])
        sums = tf.reduce_sum(tf.cast(messages, tf.float32) * edge_weights[..., None], axis=2)
        return tf.reshape(tf.cast(sums, messages.dtype), [-1, size])

    def _gather_senders(self, nodes):
        """`[batch, graph_nodes, size]` to `[batch, graph_nodes, k, size]`: the senders' rows."""
        edges_from = self.edges_from
        if edges_from is None:
            graphs, number, size = tf.unstack(tf.shape(nodes))
            rows = tf.range(graphs)[:, None, None] * number + self.neighbours
            return gather(tf.reshape(nodes, [-1, nodes.shape[-1] or size]), rows)

        @custom_gradient
        def gather_known(nodes):
            # The gradient is a gather as well. TensorFlow's own scatters row by row.
            def gradient(edges):
                shape = [tf.shape(nodes)[0], edges_from.size, edges.shape[-1]]
                edges = tf.reshape(edges, shape)
                return tf.reduce_sum(tf.gather(edges, edges_from, axis=1), axis=2)

            return tf.gather(nodes, self.neighbours, axis=1), gradient

        return gather_known(nodes)


def all_others(n: int) -> np.ndarray:
    """Makes neighbours `[n, n - 1]`: every node receives from all others, not from itself."""
    return np.array([[j for j in range(n) if j != i] for i in range(n)], np.int32)


@functools.lru_cache
def _from_json(text):
    """The array `[graph_nodes, k]` that `RegularGraph.known_text` holds."""
    return np.array(json.loads(text), np.int32)


@functools.lru_cache
def _edges_by_sender(text):
    """`RegularGraph.edges_from` of known neighbours."""
    neighbours = _from_json(text)
    nodes, k = neighbours.shape
    if (np.bincount(neighbours.reshape(-1), minlength=nodes) != k).any():
        return None
    return neighbours.reshape(-1).argsort(kind="stable").reshape(nodes, k)
