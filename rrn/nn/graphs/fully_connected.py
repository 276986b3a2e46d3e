"""Every node receives from every node of its graph."""

import tensorflow as tf

from rrn.compiling import is_compiling
from rrn.nn.checks import check_shape, known_value
from rrn.nn.graphs.graph import EdgeEnds, GraphValue, KnownSizes


class FullyConnectedGraph(GraphValue):
    """Every node sends to every node of its graph, itself included; padding nodes send nothing.

    Padding nodes receive messages, and what they hold means nothing. The edge shape is
    `[batch, senders, receivers]`.

    Args:
      mask: `[batch, graph_nodes]`, 1 for a node and 0 for padding.
    """

    __name__ = "rrn.FullyConnectedGraph"  # in SavedModels

    mask: tf.Tensor

    def __init__(self, mask: tf.Tensor):
        check_shape("FullyConnectedGraph: mask", mask, "[batch, graph_nodes]", [None, None])
        self.mask = tf.cast(mask, tf.float32)

    def known_sizes(self) -> KnownSizes:
        batch, nodes = self.mask.shape
        all_nodes = self.mask.shape.num_elements()
        return KnownSizes(all_nodes, batch, tf.TensorShape([batch, nodes, nodes]))

    def edge_shape(self) -> tf.Tensor:
        batch, nodes = self._sizes()
        return tf.stack([batch, nodes, nodes])

    def edge_ends(self) -> EdgeEnds:
        batch, nodes = self._sizes()
        numbers = tf.reshape(tf.range(batch * nodes), [batch, nodes])
        shape, real = [batch, nodes, nodes], self.mask > 0
        senders = tf.broadcast_to(numbers[:, :, None], shape)
        receivers = tf.broadcast_to(numbers[:, None, :], shape)
        present = real[:, :, None] & real[:, None, :]
        return EdgeEnds(*(tf.reshape(x, [-1]) for x in (senders, receivers, present)))

    def _message_sums(self, edge_fn, senders, receivers, edges, edge_weights):
        batch, nodes = self._sizes()
        size = senders.shape[-1]
        pairs = tf.reshape(senders, [batch, nodes, 1, size])
        pairs += tf.reshape(receivers, [batch, 1, nodes, size])
        messages = edge_fn(tf.reshape(pairs if edges is None else pairs + edges, [-1, size]))
        messages = tf.reshape(messages, [batch, nodes, nodes, messages.shape[-1]])
        return _weighted_sum(messages, self._weights(edge_weights))

    def _degrees(self, edge_weights):
        degrees = tf.reduce_sum(self._weights(edge_weights), axis=1)
        return tf.reshape(tf.broadcast_to(degrees, tf.shape(self.mask)), [-1])

    def _sum_nodes(self, nodes):
        nodes = tf.reshape(nodes, [*self._sizes(), nodes.shape[-1]])
        return tf.reduce_sum(nodes * tf.cast(self.mask, nodes.dtype)[:, :, None], axis=1)

    def _broadcast(self, globals_):
        shape = [*self._sizes(), globals_.shape[-1]]
        # tf.repeat would take ten times the operations.
        return tf.reshape(tf.broadcast_to(tf.expand_dims(globals_, 1), shape), [-1, shape[-1]])

    def validate(self) -> None:
        mask = known_value("FullyConnectedGraph.validate: mask", self.mask)
        wrong = mask[(mask != 0) & (mask != 1)]
        if wrong.size:
            raise ValueError(f"FullyConnectedGraph.validate: mask must be 0 or 1, got {wrong[0]}")

    def _sizes(self):
        batch, dynamic_nodes = tf.unstack(tf.shape(self.mask))
        return batch, self.mask.shape[1] or dynamic_nodes

    def _weights(self, edge_weights):
        """Weights of the edges `[batch, senders, receivers or 1]`."""
        mask = tf.expand_dims(self.mask, 2)
        return mask if edge_weights is None else mask * edge_weights


def _weighted_sum(values, weights):
    """Σ_b values `[a, b, c, size]` times weights `[a, b, c]` or `[a, b, 1]`, in values' type.

    With weights `[a, b, 1]` it is a matrix product, which reads `values` once and accumulates in
    float32 whatever their type. XLA does the same for the sum of the products, and fuses it with
    what comes before.
    """
    a, b, c, size = tf.unstack(tf.shape(values))
    weights = tf.cast(weights, values.dtype)
    if weights.shape[2] == 1 and not is_compiling():
        # The gradient of tf.matmul computes shapes, in case one factor was broadcast.
        rows = tf.reshape(values, [a, b, c * size])
        sums = tf.raw_ops.BatchMatMul(x=weights, y=rows, adj_x=True)
        return tf.reshape(sums, [a * c, size])
    sums = tf.reduce_sum(tf.cast(values * tf.expand_dims(weights, -1), tf.float32), axis=1)
    return tf.cast(tf.reshape(sums, [a * c, size]), values.dtype)
