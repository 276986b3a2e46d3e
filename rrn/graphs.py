"""Graphs in three forms, and several side by side, behind one set of calls.

Nodes of all graphs of a batch lie in one matrix `[nodes, size]`, graph after graph. A graph knows
who sends to whom:

    message_sums(edge_fn, senders, receivers)
                           the j-th element is Σ_i edge_fn(senders_i + receivers_j)
    degrees()              the j-th element is the number of i in that sum
    sum_nodes(nodes)       the g-th element is the sum over graph g's nodes
    broadcast_globals_to_nodes(globals)
                           the j-th element is globals[the graph of node j]

`edges` (in `message_sums`) is added to senders + receivers. `edge_weights` multiply every message
before the sum (and count in `degrees`); `edge_shape()` is the shape of such weights, of `edges`
without its last axis. Where two forms describe the same graph, their results are the same.
"""

import dataclasses
import functools

import numpy as np
import tensorflow as tf

BLOCK_EDGES = 2**14  # a CPU is fastest where a block's edges stay in its cache
SMALL_GRAPH = 16  # nodes; of larger ones, most pairs are no edges


def _check_rank(name, tensor, rank):
    if tensor.shape.rank != rank:
        raise ValueError(f"{name} must have rank {rank}, got shape {tensor.shape}")


def _weighted_sum(values, weights):
    """Σ_b values `[a, b, c, size]` times weights `[a, b, c]` or `[a, b, 1]`, in values' type.

    A matrix product, because it reads `values` once and accumulates in float32 whatever their type.
    """
    a, b, c, size = tf.unstack(tf.shape(values))
    weights = tf.cast(weights, values.dtype)
    if weights.shape[2] == 1:
        sums = tf.matmul(weights, tf.reshape(values, [a, b, c * size]), transpose_a=True)
        return tf.reshape(sums, [a * c, size])
    sums = tf.reduce_sum(tf.cast(values * weights[..., None], tf.float32), axis=1)
    return tf.cast(tf.reshape(sums, [a * c, size]), values.dtype)


@dataclasses.dataclass
class SparseGraph:
    """Any graph or graphs: the k-th edge runs from node `senders[k]` to node `receivers[k]`.

    senders, receivers: integers `[edges]`; num_nodes: their upper bound; node_graph: integers
    `[nodes]`, the graph of every node (one graph if not given); num_graphs: the number of graphs.
    """

    senders: tf.Tensor
    receivers: tf.Tensor
    num_nodes: int
    node_graph: tf.Tensor | None = None
    num_graphs: int = 1

    def __post_init__(self):
        self.senders = tf.convert_to_tensor(self.senders)
        self.receivers = tf.convert_to_tensor(self.receivers)
        _check_rank("SparseGraph: senders", self.senders, 1)
        _check_rank("SparseGraph: receivers", self.receivers, 1)
        if self.node_graph is None:
            self.node_graph = tf.zeros([self.num_nodes], tf.int32)

    def edge_shape(self):
        return tf.shape(self.senders)

    def message_sums(self, edge_fn, senders, receivers, edges=None, edge_weights=None):
        pairs = tf.gather(senders, self.senders) + tf.gather(receivers, self.receivers)
        messages = edge_fn(pairs if edges is None else pairs + edges)
        sums = tf.cast(messages, tf.float32)
        if edge_weights is not None:
            sums *= edge_weights[:, None]
        sums = tf.math.unsorted_segment_sum(sums, self.receivers, self.num_nodes)
        return tf.cast(sums, messages.dtype)

    def degrees(self, edge_weights=None):
        weights = tf.ones(self.edge_shape()) if edge_weights is None else edge_weights
        return tf.math.unsorted_segment_sum(weights, self.receivers, self.num_nodes)

    def sum_nodes(self, nodes):
        return tf.math.unsorted_segment_sum(nodes, self.node_graph, self.num_graphs)

    def broadcast_globals_to_nodes(self, globals_):
        return tf.gather(globals_, self.node_graph)


def _edges_by_sender(neighbours):
    """`[nodes, k]`: the edges, numbered row by row, that leave each node; None if not k of each."""
    if neighbours is None:
        return None
    nodes, k = neighbours.shape
    if (np.bincount(neighbours.reshape(-1), minlength=nodes) != k).any():
        return None
    return neighbours.reshape(-1).argsort(kind="stable").reshape(nodes, k)


def _neighbour_numbers(neighbours):
    """`[senders, receivers]`: which of the receiver's k neighbours the sender is; k if none of
    them. None for graphs that are not small, or unknown, or with an edge twice.
    """
    if neighbours is None or len(neighbours) > SMALL_GRAPH:
        return None
    nodes, k = neighbours.shape
    numbers = np.full([nodes, nodes], k)
    numbers[neighbours, np.arange(nodes)[:, None]] = np.arange(k)
    return numbers if np.count_nonzero(numbers < k) == nodes * k else None


def _pairs(senders, receivers, edges, kernel):
    """senders + receivers + edges kernel, without a matrix product."""
    for e in range(kernel.shape[0]):
        receivers += edges[..., e, None] * kernel[e]
    return senders + receivers


def _relu_sums_of_pairs(senders, receivers, weights, edges, kernel):
    """Σ_i w_ij relu(senders_i + receivers_j + e_ij kernel) `[batch, nodes, size]`.

    senders, receivers: `[batch, nodes, size]`; weights: `[batch or 1, senders, receivers]`; edges:
    `[batch or 1, senders, receivers, edge_size]`.
    """
    terms = []
    for i in range(senders.shape[1]):
        pairs = _pairs(senders[:, i : i + 1], receivers, edges[:, i], kernel)
        terms.append(tf.nn.relu(pairs) * weights[:, i, :, None])
    return tf.add_n(terms)


def _relu_sums_gradients(dy, senders, receivers, weights, edges, kernel):
    """The gradients to senders, receivers and kernel: sums as well, over receivers or senders."""

    def through(senders, receivers, weights, edges, dy):
        pairs = _pairs(senders, receivers, edges, kernel)
        return tf.where(pairs > 0.0, weights[..., None] * dy, 0.0)

    to, by = [], []
    for i in range(senders.shape[1]):
        one = slice(i, i + 1)
        to.append(through(senders, receivers[:, one], weights[:, :, i], edges[:, :, i], dy[:, one]))
        by.append(through(senders[:, one], receivers, weights[:, i], edges[:, i], dy))
    rows = []
    for e in range(kernel.shape[0]):
        weighted = tf.add_n([edges[:, i, :, e, None] * by_i for i, by_i in enumerate(by)])
        rows.append(tf.reduce_sum(weighted, axis=[0, 1])[None])
    return tf.add_n(to), tf.add_n(by), tf.concat([*rows, kernel[:0]], axis=0)


def _other_gradients(dy, *values):
    """The gradients to weights and edges, which few ask for; what nobody asks for does not run."""
    with tf.GradientTape() as tape:
        tape.watch(values)
        sums = _relu_sums_of_pairs(*values)
    return tape.gradient(sums, values[2:4], dy, unconnected_gradients="zero")


@functools.cache
def _compiled(function):
    """function in float32, as loops by XLA that write no pair to memory; the results have the first
    value's type.
    """

    @tf.function(jit_compile=True, autograph=False)
    def compiled(*values):
        results = function(*[tf.cast(value, tf.float32) for value in values])
        return tf.nest.map_structure(lambda result: tf.cast(result, values[0].dtype), results)

    return compiled


@tf.custom_gradient
def _relu_sums(*values):
    def gradient(dy):
        senders, receivers, kernel = _compiled(_relu_sums_gradients)(dy, *values)
        others = _compiled(_other_gradients)(dy, *values)
        gradients = senders, receivers, *others, kernel
        return [tf.cast(g, value.dtype) for g, value in zip(gradients, values, strict=True)]

    return _compiled(_relu_sums_of_pairs)(*values), gradient


def all_others(n):
    """Neighbours for `RegularGraph`, `[n, n - 1]`: every node hears all others, not itself."""
    return np.array([[j for j in range(n) if j != i] for i in range(n)], np.int32)


@dataclasses.dataclass
class RegularGraph:
    """Every graph of the batch is the same, and every node of it has k neighbours.

    neighbours: integers `[graph_nodes, k]`; the senders to node j of a graph are its nodes
    `neighbours[j]`. Edge shape: `[batch, graph_nodes, k]`. The batch is `nodes / graph_nodes`.
    """

    neighbours: tf.Tensor
    batch: int

    def __post_init__(self):
        self.neighbours = tf.convert_to_tensor(self.neighbours)
        _check_rank("RegularGraph: neighbours", self.neighbours, 2)
        self.edges_from = _edges_by_sender(tf.get_static_value(self.neighbours))
        self._numbers = _neighbour_numbers(tf.get_static_value(self.neighbours))

    def edge_shape(self):
        return tf.stack([self.batch, *self.neighbours.shape])

    def _by_graph(self, nodes):
        return tf.reshape(nodes, [self.batch, self.neighbours.shape[0], nodes.shape[-1]])

    def message_sums(self, edge_fn, senders, receivers, edges=None, edge_weights=None):
        """Block by block of a few graphs, where their number is known."""
        sizes = self._block_sizes()

        def split(x):
            return [None] * len(sizes) if x is None else tf.split(x, sizes)

        blocks = zip(
            split(self._by_graph(senders)),
            split(self._by_graph(receivers)),
            split(edges),
            split(edge_weights),
            strict=True,
        )
        return tf.concat([self._block_sums(edge_fn, *block) for block in blocks], axis=0)

    @property
    def has_relu_sums(self):
        """Whether the graphs are small enough for `relu_sums`."""
        return self._numbers is not None

    def relu_sums(self, senders, receivers, edges=None, edge_kernel=None, edge_weights=None):
        """The j-th element is Σ_i relu(senders_i + receivers_j + e_ij edge_kernel).

        As `message_sums`, but faster: not one edge is written to memory.

        edges: `[*edge_shape, edge_size]`, edge_kernel: `[edge_size, size]`, both or neither.
        """
        weights = tf.ones([1, *self.neighbours.shape]) if edge_weights is None else edge_weights
        weights = self._by_pair(weights[..., None])[..., 0]
        if edges is None:
            edges, edge_kernel = tf.zeros([1, *weights.shape[1:], 0]), senders[:0]
        else:
            edges = self._by_pair(edges)
        nodes = self._by_graph(senders), self._by_graph(receivers)
        return tf.reshape(_relu_sums(*nodes, weights, edges, edge_kernel), [-1, senders.shape[-1]])

    def _by_pair(self, edges):
        """`[batch, nodes, k, size]` to `[batch, senders, receivers, size]`; zeros for no edge."""
        nodes, k = self.neighbours.shape
        padded = tf.pad(edges, [[0, 0], [0, 0], [0, 1], [0, 0]])
        rows = tf.reshape(padded, [-1, nodes * (k + 1), edges.shape[-1]])
        return tf.gather(rows, np.arange(nodes) * (k + 1) + self._numbers, axis=1)

    def _block_sizes(self):
        """The numbers of graphs that are worked on together: like ones; on a GPU, all at once."""
        batch = tf.get_static_value(self.batch)
        if not batch or tf.config.list_logical_devices("GPU"):
            return [self.batch]
        edges = batch * self.neighbours.shape.num_elements()
        num_blocks = min(batch, -(-edges // BLOCK_EDGES))
        return [batch * (i + 1) // num_blocks - batch * i // num_blocks for i in range(num_blocks)]

    def _block_sums(self, edge_fn, senders, receivers, edges, edge_weights):
        """The sums of some of the graphs; all arguments are by graph."""
        pairs = self._gather_senders(senders) + tf.expand_dims(receivers, 2)
        pairs = pairs if edges is None else pairs + edges
        messages = edge_fn(tf.reshape(pairs, [-1, pairs.shape[-1]]))
        size = messages.shape[-1]
        messages = tf.reshape(messages, [-1, *self.neighbours.shape, size])
        if edge_weights is None:
            return tf.reshape(tf.reduce_sum(messages, axis=2), [-1, size])
        sums = tf.reduce_sum(tf.cast(messages, tf.float32) * edge_weights[..., None], axis=2)
        return tf.reshape(tf.cast(sums, messages.dtype), [-1, size])

    def _gather_senders(self, nodes):
        """`[batch, graph_nodes, size]` to `[batch, graph_nodes, k, size]`: the senders' rows."""
        if self.edges_from is None:
            return tf.gather(nodes, self.neighbours, axis=1)

        @tf.custom_gradient
        def gather(nodes):
            # A gather as well: TensorFlow's own gradient scatters row by row, and adds up in
            # bfloat16 where its input is bfloat16.
            def gradient(edges):
                edges = tf.reshape(edges, [-1, self.edges_from.size, edges.shape[-1]])
                return tf.reduce_sum(tf.gather(edges, self.edges_from, axis=1), axis=2)

            return tf.gather(nodes, self.neighbours, axis=1), gradient

        return gather(nodes)

    def degrees(self, edge_weights=None):
        weights = tf.ones(self.edge_shape()) if edge_weights is None else edge_weights
        return tf.reshape(tf.reduce_sum(weights, axis=2), [-1])

    def sum_nodes(self, nodes):
        return tf.reduce_sum(self._by_graph(nodes), axis=1)

    def broadcast_globals_to_nodes(self, globals_):
        return tf.repeat(globals_, self.neighbours.shape[0], axis=0)


@dataclasses.dataclass
class FullyConnectedGraph:
    """Every node sends to every node of its graph, itself included; padding nodes send nothing.

    mask: `[batch, graph_nodes]`, 1 for a node and 0 for padding. Padding nodes receive messages,
    and what they hold means nothing. Edge shape: `[batch, senders, receivers]`.
    """

    mask: tf.Tensor

    def __post_init__(self):
        self.mask = tf.cast(self.mask, tf.float32)
        _check_rank("FullyConnectedGraph: mask", self.mask, 2)

    def _sizes(self):
        batch, dynamic_nodes = tf.unstack(tf.shape(self.mask))
        return batch, self.mask.shape[1] or dynamic_nodes

    def edge_shape(self):
        batch, nodes = self._sizes()
        return tf.stack([batch, nodes, nodes])

    def _weights(self, edge_weights):
        """Weights of the edges `[batch, senders, receivers or 1]`."""
        mask = self.mask[:, :, None]
        return mask if edge_weights is None else mask * edge_weights

    def message_sums(self, edge_fn, senders, receivers, edges=None, edge_weights=None):
        batch, nodes = self._sizes()
        size = senders.shape[-1]
        pairs = tf.reshape(senders, [batch, nodes, 1, size])
        pairs += tf.reshape(receivers, [batch, 1, nodes, size])
        messages = edge_fn(tf.reshape(pairs if edges is None else pairs + edges, [-1, size]))
        messages = tf.reshape(messages, [batch, nodes, nodes, messages.shape[-1]])
        return _weighted_sum(messages, self._weights(edge_weights))

    def degrees(self, edge_weights=None):
        degrees = tf.reduce_sum(self._weights(edge_weights), axis=1)
        return tf.reshape(tf.broadcast_to(degrees, tf.shape(self.mask)), [-1])

    def sum_nodes(self, nodes):
        nodes = tf.reshape(nodes, [*self._sizes(), nodes.shape[-1]])
        return tf.reduce_sum(nodes * self.mask[..., None], axis=1)

    def broadcast_globals_to_nodes(self, globals_):
        return tf.repeat(globals_, self._sizes()[1], axis=0)


@dataclasses.dataclass
class GraphUnion:
    """Several graphs (of any form) side by side: their nodes, one after the other, in one matrix.

    `edges` and `edge_weights` are lists with one entry for each part. Questions with about the
    same number of facts share a part, so that little of it is padding.

    parts: the graphs; part_nodes: integers `[parts]`, each part's number of rows; part_graphs:
    integers `[parts]`, each part's number of graphs.
    """

    parts: list
    part_nodes: tf.Tensor
    part_graphs: tf.Tensor

    def _split(self, nodes):
        return tf.split(nodes, self.part_nodes, num=len(self.parts))

    def edge_shape(self):
        return [part.edge_shape() for part in self.parts]

    def message_sums(self, edge_fn, senders, receivers, edges=None, edge_weights=None):
        none = [None] * len(self.parts)
        arguments = zip(
            self.parts,
            self._split(senders),
            self._split(receivers),
            edges or none,
            edge_weights or none,
            strict=True,
        )
        return tf.concat([part.message_sums(edge_fn, *rest) for part, *rest in arguments], axis=0)

    def degrees(self, edge_weights=None):
        weights = edge_weights or [None] * len(self.parts)
        pairs = zip(self.parts, weights, strict=True)
        return tf.concat([part.degrees(weight) for part, weight in pairs], axis=0)

    def sum_nodes(self, nodes):
        pairs = zip(self.parts, self._split(nodes), strict=True)
        return tf.concat([part.sum_nodes(rows) for part, rows in pairs], axis=0)

    def broadcast_globals_to_nodes(self, globals_):
        rows = tf.split(globals_, self.part_graphs, num=len(self.parts))
        pairs = zip(self.parts, rows, strict=True)
        return tf.concat([part.broadcast_globals_to_nodes(g) for part, g in pairs], axis=0)
