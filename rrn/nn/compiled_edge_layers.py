"""`rrn.nn.edge_layers` within what XLA compiles, written for GPUs.

The sums and their gradients are those of `rrn.nn.edge_layers`. A GPU spends the time on reading and
writing tensors of edges, so that the fewest passes over them are the fastest way:

- All graphs are one block. Senders' rows are taken by their numbers in the whole batch: XLA would
  transpose the edges for a gather within each graph.
- Bias and ReLU are computed in the products' type. XLA does them in one kernel after the product.
- The last bias's gradient needs no edges: Σ_edges d_L = Σ_j n_j y_j, with n_j how many of the edges
  to j have e_L > 0, which is counted while e_L is summed.
- The other biases' gradients are products with a few rows of ones. XLA's own sum over all rows
  takes more than twice as long.
"""

from collections.abc import Sequence

import tensorflow as tf

from rrn.nn.gradients import custom_gradient
from rrn.nn.graphs import RegularGraph

ONES = 8  # rows: a product with a single one is a sum to XLA


def message_sums(
    graph: RegularGraph,
    senders: tf.Tensor,
    receivers: tf.Tensor,
    weights: Sequence[tuple[tf.Tensor, tf.Tensor]],
) -> tf.Tensor:
    """Computes m; see `rrn.nn.edge_layers.message_sums`."""
    kernels, biases = [list(parts) for parts in zip(*weights, strict=True)]
    degree = graph.neighbours.shape[1]

    @custom_gradient
    def run(senders, receivers, kernels, biases):
        dtype = senders.dtype
        kernels = [tf.cast(kernel, dtype) for kernel in kernels]
        e = [_first(graph, senders, receivers)]
        for kernel, bias in zip(kernels, biases, strict=True):
            e.append(tf.nn.relu(tf.matmul(e[-1], kernel) + tf.cast(bias, dtype)))
        sums, counts = _sums_of_rows(e[-1], degree), _sums_of_rows(_positive(e[-1]), degree)

        def gradient(y):
            to_biases = [tf.reduce_sum(counts * tf.cast(y, tf.float32), axis=0)]
            to_kernels = []
            d = tf.repeat(y, degree, axis=0) * tf.cast(_positive(e[-1]), dtype)
            for e_before, kernel in zip(e[-2::-1], kernels[::-1], strict=True):
                to_kernels.insert(0, tf.cast(tf.matmul(e_before, d, transpose_a=True), tf.float32))
                d = tf.matmul(d, kernel, transpose_b=True)
                d = tf.where(e_before > 0, d, tf.zeros([], dtype))
                if e_before is not e[0]:
                    ones = tf.ones([ONES, d.shape[0]], dtype)
                    to_biases.insert(0, tf.cast(tf.matmul(ones, d)[0], tf.float32))
            to_senders = _sums_of_rows(tf.gather(d, _edges_from(graph)), degree)
            to_receivers = _sums_of_rows(d, degree)
            results = [tf.cast(to_senders, dtype), tf.cast(to_receivers, dtype)]
            results += [*to_kernels, *to_biases]
            message = "rrn.nn.compiled_edge_layers.message_sums has no gradient of its gradient"
            results = [tf.raw_ops.PreventGradient(input=x, message=message) for x in results]
            return tf.nest.pack_sequence_as([senders, receivers, kernels, biases], results)

        return tf.cast(sums, dtype), gradient

    return run(senders, receivers, kernels, biases)


def _first(graph, senders, receivers):
    """e_0 `[edges, size]` of nodes `[nodes, size]`."""
    heard = tf.cast(tf.gather(senders, _rows(graph, graph.known_neighbours, 1)), tf.float32)
    own = tf.repeat(tf.cast(receivers, tf.float32), graph.neighbours.shape[1], axis=0)
    return tf.cast(tf.nn.relu(heard + own), senders.dtype)


def _edges_from(graph):
    """The edges that leave each node of the batch, `[nodes * k]`."""
    return _rows(graph, graph.edges_from, graph.neighbours.shape[1])


def _rows(graph, of_one_graph, edges):
    """Rows of the whole batch, of those within a graph that has `edges` rows for each node.

    `of_one_graph` are integers `[graph_nodes, k]`.
    """
    first = tf.range(graph.batch)[:, None] * (len(of_one_graph) * edges)
    return tf.reshape(first + of_one_graph.reshape(1, -1), [-1])


def _positive(e):
    return tf.cast(e > 0, tf.float32)


def _sums_of_rows(x, number):
    """The sums of every `number` rows of x, float32."""
    return tf.reduce_sum(tf.cast(tf.reshape(x, [-1, number, x.shape[-1]]), tf.float32), axis=1)
