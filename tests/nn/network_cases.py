"""Small networks of every kind, and what they compute as the paper writes it."""

import tensorflow as tf

from rrn import RecurrentRelationalNetwork, SparseGraph
from rrn.compiling import run_compiled
from rrn.nn import plain
from rrn.nn.layers import Linear
from rrn.variables.random import fold_in
from rrn.variables.random import uniform as keyed_uniform
from rrn.variables.reading import reading_scope, values_of
from tests.compare import normal, randomize
from tests.nn.graph_cases import draw_edges, make_case, plain_edges
from tests.nn.own_parts import Gated, Momentum

SIZE, EDGE, GLOBAL = 6, 3, 2
CELLS = ("lstm", "gru", None)
RING = [[1, 3], [2, 0], [3, 1], [0, 2]]


def pair():
    return SparseGraph([0, 1, 1], [1, 1, 0], 2)


def keyed_draws(shape, step, part):
    return keyed_uniform(fold_in([1, 2], step, part), shape)


def make_network(node_update="lstm", aggregate="sum", dtype=tf.float32, **options):
    """A network; "own" is an update and messages of one's own."""
    if node_update == "own":
        others = sum(options.get(size, 0) for size in ("edge_size", "global_size"))
        heads = 2 if aggregate == "softmax" else 0
        options["message_fn"] = Gated(SIZE, SIZE, others, heads, dtype)
        node_update = Momentum(SIZE, SIZE, dtype)
    network = RecurrentRelationalNetwork(
        3, SIZE, node_update=node_update, aggregate=aggregate, compute_dtype=dtype, **options
    )
    randomize(network)
    return network


def given_values(form, options):
    """(graph, pairs, real, the network's sizes, edges, globals, what gives [e_ij, g])."""
    graph, pairs, node_graph, real, num_graphs = make_case(form)
    edges = draw_edges(graph, EDGE) if "edges" in options else None
    globals_ = normal(num_graphs, GLOBAL, seed=1) if "globals" in options else None
    sizes = {"edge_size": EDGE} if "edges" in options else {}
    sizes |= {"global_size": GLOBAL} if "globals" in options else {}

    def rows():
        return plain_edges(graph, pairs, node_graph, edges, globals_)

    return graph, pairs, real, sizes, edges, globals_, rows


def float64_layers(network):
    return [module for module in network.submodules if isinstance(module, Linear)]


def aggregated(aggregate, messages, receivers, num_nodes):
    """m_j of the messages `[edges, size]`; of softmax the last column is the score."""
    if aggregate == "sum":
        return plain.sum_messages(messages, receivers, num_nodes)
    if aggregate == "mean":
        return tf.math.unsorted_segment_mean(messages, receivers, num_nodes)
    if aggregate == "max":
        largest = tf.math.unsorted_segment_max(messages, receivers, num_nodes)
        degrees = tf.math.unsorted_segment_sum(tf.ones_like(messages[:, 0]), receivers, num_nodes)
        return tf.where(degrees[:, None] > 0, largest, 0.0)
    exponents = tf.exp(messages[:, -1:])  # scores are small here
    totals = tf.math.unsorted_segment_sum(exponents, receivers, num_nodes)
    shares = exponents / tf.gather(totals, receivers)
    return plain.sum_messages(shares * messages[:, :-1], receivers, num_nodes)


def as_written(network, aggregate, pairs, features, num_steps, rows=None, weights=None):
    """The paper's equations, with other aggregates and a GRU, in float64 where there are weights.

    `weights` is a function of the step: the edges' weights `[edges, 1]`.
    """
    senders, receivers = zip(*pairs, strict=True)
    messages_of = network.message_fn.mlp or network.message_fn.function.mlp
    cell = network.node_update.cell
    x = network.input_fn(features)
    rows = None if rows is None else tf.cast(rows, x.dtype)
    zeros = tf.zeros_like(x, tf.float32)
    hidden, state, states = x, (zeros, zeros if network.lstm else ()), []
    for step in range(num_steps):
        hidden = tf.cast(hidden, x.dtype)
        messages = plain.messages(messages_of, hidden, senders, receivers, rows)
        if weights is not None:
            messages *= tf.cast(weights(step), messages.dtype)
        sums = aggregated(aggregate, messages, receivers, tf.shape(x)[0])
        if cell is None:
            hidden = plain.update_nodes_without_lstm(network.node_fn, sums, x, hidden)
        else:
            z = network.node_fn(tf.concat([sums, x], axis=1))
            state = plain.lstm(cell, z, state) if network.lstm else cell(z, state)
            hidden = state[0]
        states.append(hidden)
    return states


def compiled(network, run):
    """A function by XLA, which is given the values of a network's variables."""

    @tf.function(autograph=False)
    def function():
        values = values_of(v for v in network.variables if v.dtype.is_floating)

        def with_values():
            with reading_scope(dict(values)):
                return run()

        return run_compiled(with_values)

    return function()
