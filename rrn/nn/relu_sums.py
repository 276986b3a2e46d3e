"""Sums of messages on small graphs where a ReLU is all that runs on edges.

A message function with one hidden layer needs, on edges, nothing but

    y_j = Σ_i w_ij relu(s_i + r_j + e_ij K)

TensorFlow's own operations write every edge's sum and ReLU to memory. Here XLA compiles the formula
and its gradients into loops over all pairs of nodes, which keep a pair in registers.
"""

import functools

import numpy as np
import tensorflow as tf

from rrn.compiling import xla_in_float32
from rrn.nn.graphs import RegularGraph
from rrn.nn.layers import MLP, custom_gradient

SMALL_GRAPH = 16  # nodes; in larger graphs most pairs are no edges, and loops over pairs are slow
FEW_FEATURES = 4  # of an edge; features are multiplied again for every pair, at every step


class ReluSums:
    """Sums of messages, as `rrn.nn.messages.fused_sums` returns them."""

    def __init__(self, graph: RegularGraph):
        neighbours = graph.known_neighbours
        assert neighbours is not None  # see `suits`
        nodes, k = self._shape = neighbours.shape
        # The number of each pair's edge among k + 1 edges to a node, of which the last is no edge.
        number = np.full([nodes, nodes], k)
        number[neighbours, np.arange(nodes)[:, None]] = np.arange(k)
        self._rows = np.arange(nodes) * (k + 1) + number  # [senders, receivers]

    @staticmethod
    def suits(graph: RegularGraph, mlp: MLP, edge_size: int) -> bool:
        """Whether the sums can be computed so (no edge is there twice), and are faster."""
        neighbours = graph.known_neighbours
        if len(mlp.layers) > 2 or edge_size > FEW_FEATURES:
            return False
        if neighbours is None or len(neighbours) > SMALL_GRAPH:
            return False
        return all(len(set(senders)) == len(senders) for senders in neighbours.tolist())

    def __call__(self, senders, receivers, edges=None, edge_kernel=None, edge_weights=None):
        """Computes the sums."""
        size = senders.shape[-1]
        weights = tf.ones([1, *self._shape]) if edge_weights is None else edge_weights
        weights = self._by_pair(tf.expand_dims(weights, -1))[..., 0]
        if edges is None:
            edges, edge_kernel = tf.zeros([1, *weights.shape[1:], 0]), senders[:0]
        else:
            edges = self._by_pair(edges)
        nodes = (tf.reshape(x, [-1, self._shape[0], size]) for x in (senders, receivers))
        return tf.reshape(_relu_sums(*nodes, weights, edges, edge_kernel), [-1, size])

    def _by_pair(self, edges):
        """`[batch, nodes, k, size]` to `[batch, senders, receivers, size]`; zeros for no edge."""
        nodes, k = self._shape
        padded = tf.pad(edges, [[0, 0], [0, 0], [0, 1], [0, 0]])
        rows = tf.reshape(padded, [-1, nodes * (k + 1), edges.shape[-1]])
        return tf.gather(rows, self._rows, axis=1)


@custom_gradient
def _relu_sums(*values):
    """`_sums_over_pairs`, compiled, with the gradients below."""

    def gradient(dy):
        senders, receivers, kernel = _compiled(_gradients)(dy, *values)
        others = _compiled(_other_gradients)(dy, *values)
        gradients = senders, receivers, *others, kernel
        return [tf.cast(g, value.dtype) for g, value in zip(gradients, values, strict=True)]

    return _compiled(_sums_over_pairs)(*values), gradient


_compiled = functools.cache(xla_in_float32)


def _sums_over_pairs(senders, receivers, weights, edges, kernel):
    """Σ_i w_ij relu(s_i + r_j + e_ij K), `[batch, nodes, size]`; w and e are by pair."""
    terms = []
    for i in range(senders.shape[1]):
        pairs = _pairs(senders[:, i : i + 1], receivers, edges[:, i], kernel)
        terms.append(tf.nn.relu(pairs) * weights[:, i, :, None])
    return tf.add_n(terms)


def _pairs(senders, receivers, edges, kernel):
    """Adds s + r + e K without a matrix product, which XLA would not put into its loops."""
    for e in range(kernel.shape[0]):
        receivers += edges[..., e, None] * kernel[e]
    return senders + receivers


def _gradients(dy, senders, receivers, weights, edges, kernel):
    """The gradients to senders, receivers and kernel: sums over receivers, senders and pairs."""

    def through(senders, receivers, weights, edges, dy):
        pairs = _pairs(senders, receivers, edges, kernel)
        return tf.where(pairs > 0.0, weights[..., None] * dy, 0.0)

    to_senders, to_receivers = [], []
    for i in range(senders.shape[1]):
        one = slice(i, i + 1)
        to_senders.append(
            through(senders, receivers[:, one], weights[:, :, i], edges[:, :, i], dy[:, one])
        )
        to_receivers.append(through(senders[:, one], receivers, weights[:, i], edges[:, i], dy))
    rows = []
    for e in range(kernel.shape[0]):
        terms = [edges[:, i, :, e, None] * term for i, term in enumerate(to_receivers)]
        rows.append(tf.reduce_sum(tf.add_n(terms), axis=[0, 1])[None])
    return tf.add_n(to_senders), tf.add_n(to_receivers), tf.concat([*rows, kernel[:0]], axis=0)


def _other_gradients(dy, *values):
    """The gradients to weights and edges. Few ask for them, and what nobody asks for is not run."""
    with tf.GradientTape() as tape:
        tape.watch(values)
        sums = _sums_over_pairs(*values)
    zero = tf.UnconnectedGradients.ZERO
    return tape.gradient(sums, values[2:4], dy, unconnected_gradients=zero)
