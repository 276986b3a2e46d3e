"""ReLU layers on the edges of a regular graph, summed at the receivers, with a gradient of its own.

For an edge from node i to node j, with kernels W_1 .. W_L and biases b_1 .. b_L:

    e_0 = relu(s_i + r_j);  e_l = relu(e_(l-1) W_l + b_l);  m_j = Σ_(edges to j) e_L

The backward pass needs e_0 .. e_L alone, because a ReLU's derivative is where its output is
positive. With y_j the gradient of m_j:

    d_L = [e_L > 0] y_j;  d_(l-1) = [e_(l-1) > 0] (d_l W_l');
    of W_l: Σ_edges e_(l-1)' d_l;  of b_l: Σ_edges d_l;
    of s_i: Σ_(edges from i) d_0;  of r_j: Σ_(edges to j) d_0

On a CPU TensorFlow runs the matrix products, and XLA what lies between them, in blocks of a few
graphs. Within what XLA compiles it is written for GPUs, where passes over edges take the time:

- All graphs are one block. Senders' rows are taken by their numbers in the whole batch: XLA would
  transpose the edges for a gather within each graph.
- Bias and ReLU are computed in the products' type, which XLA does in one kernel after the product.
- The last bias's gradient is Σ_j n_j y_j, with n_j how many of the edges to j have e_L > 0. The
  others are products with a few rows of ones: XLA's own sums take twice as long.
"""

import functools

import tensorflow as tf

from rrn.compiling import is_compiling
from rrn.nn.graphs import RegularGraph
from rrn.nn.layers import MLP, custom_gradient, dense
from rrn.variables.order import add_in_order
from rrn.variables.reading import read
from rrn.variables.sharded import known_size

BLOCK_EDGES = 2**13  # twice or half as many: as fast in an update, a tenth slower by themselves
MAX_BLOCKS = 32  # of a large batch: each costs time to trace
INTEGERS = {tf.bfloat16: tf.int16, tf.float32: tf.int32}  # of the same size
ONES = 8  # rows: a product with a single one is a sum to XLA

_xla = functools.partial(tf.function, jit_compile=True, autograph=False)
# Traced for the first step alone, and not copied into the graph at each.
_once = functools.partial(tf.function, autograph=False, experimental_attributes={"_noinline": True})


class EdgeLayerSums:
    """Sums of messages, as `rrn.nn.messages.fused_sums` returns them."""

    def __init__(self, graph: RegularGraph, mlp: MLP):
        self._graph, self._mlp = graph, mlp

    @staticmethod
    def suits(graph: RegularGraph, mlp: MLP, edge_size: int) -> bool:
        """Whether the sums can be computed so, and are faster than with TensorFlow's gradient.

        In float32 on CPUs an update took 0.94 to 0.97 of the time: less than compiling takes.
        """
        if not mlp.layers[1:-1] or edge_size:
            return False
        known = bool(tf.get_static_value(graph.batch)) and graph.edges_from is not None
        on_cpu = not tf.config.list_logical_devices("GPU")
        in_bfloat16 = mlp.layers[1].compute_dtype == tf.bfloat16
        return known and (is_compiling() or (on_cpu and in_bfloat16))

    def __call__(self, senders, receivers, edges=None, edge_kernel=None, edge_weights=None):
        """Computes the sums; weighted messages are summed with TensorFlow's gradient."""
        if edge_weights is not None:
            on_edges = self._mlp.hidden_layers
            return self._graph.message_sums(on_edges, senders, receivers, None, edge_weights)
        weights = [(read(layer.w), read(layer.b)) for layer in self._mlp.layers[1:-1]]
        return message_sums(self._graph, senders, receivers, weights)


def message_sums(graph: RegularGraph, senders, receivers, weights) -> tf.Tensor:
    """Computes m `[nodes, last size]` on a graph of which k edges leave every node.

    Sums over edges add up in float32. To ask for a gradient of the gradient is an error. Senders
    and receivers are s and r, in the type of the products, as m. Weights are every layer's kernel
    and bias, in float32.
    """
    kernels, biases = [list(parts) for parts in zip(*weights, strict=True)]
    forward, backward = (functools.partial(f, graph) for f in (_forward, _backward))
    if is_compiling():
        compiled = _CompiledSums(graph)
        forward, backward = compiled.forward, compiled.backward

    @custom_gradient
    def run(senders, receivers, kernels, biases):
        cast_kernels = [tf.cast(kernel, senders.dtype) for kernel in kernels]
        m, kept = forward(senders, receivers, cast_kernels, biases)

        def gradient(y):
            results = backward(y, kept, cast_kernels)
            message = "rrn.nn.edge_layers.message_sums has no gradient of its gradient"
            results = [tf.raw_ops.PreventGradient(input=x, message=message) for x in results]
            return tf.nest.pack_sequence_as([senders, receivers, kernels, biases], results)

        return m, gradient

    return run(senders, receivers, kernels, biases)


@_once
def _forward(graph, senders, receivers, kernels, biases):
    """(m, e_0 .. e_L of each block) on a CPU, block by block of a few graphs."""
    sums, outputs = [], []
    for block in zip(_blocks(graph, senders), _blocks(graph, receivers), strict=True):
        e = [_first(*block, graph.neighbours)]
        for kernel, bias in zip(kernels, biases, strict=True):
            e.append(dense(e[-1], kernel, tf.cast(bias, kernel.dtype), relu=True))
        outputs.append(e)
        sums.append(_sums_at_receivers(e[-1], graph.neighbours))
    return tf.concat(sums, axis=0), outputs


@_once
def _backward(graph, y, outputs, kernels):
    """The gradients to senders and receivers, and in float32 to kernels and biases."""
    blocks = zip(_blocks(graph, y), outputs, strict=True)
    results = [_block_gradients(graph, *block, kernels) for block in blocks]
    to_senders, to_receivers, *to_weights = zip(*results, strict=True)
    to_weights = [add_in_order(parts) for parts in to_weights]
    return [tf.concat(to_senders, axis=0), tf.concat(to_receivers, axis=0), *to_weights]


def _blocks(graph, x):
    nodes, degree = (known_size(graph.neighbours, axis) for axis in (0, 1))
    batch = int(tf.get_static_value(graph.batch))
    size = max(1, BLOCK_EDGES // (nodes * degree), -(-batch // MAX_BLOCKS))
    sizes = [min(size, batch - start) for start in range(0, batch, size)]
    return tf.split(tf.reshape(x, [batch, nodes, x.shape[-1]]), sizes)


def _block_gradients(graph, y, e, kernels):
    to_kernels, to_biases = [], []
    d = _through_sums(e[-1], y)
    ones = tf.ones([1, e[-1].shape[0]], d.dtype)
    for e_before, kernel in zip(e[-2::-1], kernels[::-1], strict=True):
        to_kernels.insert(0, tf.cast(tf.matmul(e_before, d, transpose_a=True), tf.float32))
        to_biases.insert(0, tf.cast(tf.matmul(ones, d)[0], tf.float32))
        d = _through_relu(e_before, tf.matmul(d, kernel, transpose_b=True))
    return *_sums_at_ends(d, graph.edges_from), *to_kernels, *to_biases


@_xla
def _first(senders, receivers, neighbours):
    """e_0 `[edges, size]` of nodes `[graphs, nodes, size]`."""
    sums = tf.cast(tf.gather(senders, neighbours, axis=1), tf.float32)
    sums += tf.cast(receivers, tf.float32)[:, :, None]
    return tf.cast(tf.nn.relu(tf.reshape(sums, [-1, sums.shape[-1]])), senders.dtype)


def _sums_of_rows(x, number):
    """The sums of every `number` rows of x, float32."""
    return tf.reduce_sum(tf.cast(tf.reshape(x, [-1, number, x.shape[-1]]), tf.float32), axis=1)


@_xla
def _sums_at_receivers(e, neighbours):
    return tf.cast(_sums_of_rows(e, neighbours.shape[1]), e.dtype)


@_xla
def _sums_at_ends(d, edges_from):
    """The sums of d over the edges from each node, and over those to it."""
    by_graph = tf.reshape(d, [-1, edges_from.shape.num_elements(), d.shape[-1]])
    by_sender = tf.gather(by_graph, edges_from, axis=1)
    return [tf.cast(_sums_of_rows(x, edges_from.shape[1]), d.dtype) for x in (by_sender, d)]


def _where_positive(e, d):
    """Keeps d where e is positive, else 0; as integers, which XLA compares without converting."""
    integers = INTEGERS[e.dtype]
    e, zeros, dtype = tf.bitcast(e, integers), tf.zeros([], integers), d.dtype
    return tf.bitcast(tf.where(e > 0, tf.bitcast(d, integers), zeros), dtype)


@_xla
def _through_sums(e, y):
    """d_L of e_L `[edges, size]` and y `[graphs, nodes, size]`."""
    graphs, nodes, size = y.shape
    d = _where_positive(tf.reshape(e, [graphs, nodes, -1, size]), y[:, :, None])
    return tf.reshape(d, e.shape)


_through_relu = _xla(_where_positive)


class _CompiledSums:
    """m and its gradients within what XLA compiles; see above."""

    def __init__(self, graph):
        self._graph, self._degree = graph, graph.neighbours.shape[1]

    def forward(self, senders, receivers, kernels, biases):
        """(m, (e_0 .. e_L, how many e_L > 0 are summed))."""
        dtype = senders.dtype
        received = tf.gather(senders, self._rows(self._graph.known_neighbours, 1))
        own = tf.repeat(tf.cast(receivers, tf.float32), self._degree, axis=0)
        e = [tf.cast(tf.nn.relu(tf.cast(received, tf.float32) + own), dtype)]
        for kernel, bias in zip(kernels, biases, strict=True):
            e.append(tf.nn.relu(tf.matmul(e[-1], kernel) + tf.cast(bias, dtype)))
        sums, counts = (_sums_of_rows(x, self._degree) for x in (e[-1], _positive(e[-1])))
        return tf.cast(sums, dtype), (e, counts)

    def backward(self, y, kept, kernels):
        """As `_backward`."""
        (e, counts), dtype = kept, y.dtype
        to_biases = [tf.reduce_sum(counts * tf.cast(y, tf.float32), axis=0)]
        to_kernels = []
        d = tf.repeat(y, self._degree, axis=0) * tf.cast(_positive(e[-1]), dtype)
        for e_before, kernel in zip(e[-2::-1], kernels[::-1], strict=True):
            to_kernels.insert(0, tf.cast(tf.matmul(e_before, d, transpose_a=True), tf.float32))
            d = tf.matmul(d, kernel, transpose_b=True)
            d = tf.where(e_before > 0, d, tf.zeros([], dtype))
            if e_before is not e[0]:
                ones = tf.ones([ONES, d.shape[0]], dtype)
                to_biases.insert(0, tf.cast(tf.matmul(ones, d)[0], tf.float32))
        from_nodes = self._rows(self._graph.edges_from, self._degree)
        sums = [_sums_of_rows(x, self._degree) for x in (tf.gather(d, from_nodes), d)]
        return [*(tf.cast(x, dtype) for x in sums), *to_kernels, *to_biases]

    def _rows(self, of_one_graph, edges):
        """Rows of the whole batch, of a graph's rows `[graph_nodes, k]`; each node has `edges`."""
        first = tf.range(self._graph.batch)[:, None] * (len(of_one_graph) * edges)
        return tf.reshape(first + of_one_graph.reshape(1, -1), [-1])


def _positive(e):
    return tf.cast(e > 0, tf.float32)
