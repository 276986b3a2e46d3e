"""The paper's equations, against loops over edges and nodes and against numbers by hand."""

import numpy as np
import pytest
import tensorflow as tf

from rrn import MLP, RecurrentRelationalNetwork
from rrn.nn import plain
from tests.compare import assert_close, randomize
from tests.nn.own_parts import lstm_of_numpy

SENDERS, RECEIVERS = [0, 2, 1, 1], [1, 1, 0, 1]  # node 2 hears nobody, node 1 itself, too
HIDDEN = 3


def normal(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def as_numpy(mlp):
    """An MLP as a function of a vector, in NumPy."""

    def apply(x):
        for i, layer in enumerate(mlp.layers):
            x = x @ layer.w.numpy() + layer.b.numpy()
            x = np.maximum(x, 0) if i + 1 < len(mlp.layers) else x
        return x

    return apply


@pytest.mark.parametrize("node_update", ["lstm", None])
@pytest.mark.parametrize("edge_size", [0, 2])
def test_hidden_states_equal_loops_over_edges_and_nodes(edge_size, node_update):
    network = RecurrentRelationalNetwork(2, HIDDEN, 1, edge_size, node_update=node_update)
    randomize(network)
    features, edges = normal(3, 2), normal(4, edge_size, seed=1)
    states = plain.hidden_states(
        network, SENDERS, RECEIVERS, tf.constant(features), 2, edges if edge_size else None
    )
    mlps = network.input_fn, network.message_fn.mlp, network.node_fn
    pre, f, post = map(as_numpy, mlps)
    x = [pre(row) for row in features]
    hidden, h, c = x, np.zeros([3, HIDDEN]), np.zeros([3, HIDDEN])
    for actual in states:
        sums = np.zeros([3, HIDDEN])
        for i, j, e in zip(SENDERS, RECEIVERS, edges, strict=True):
            sums[j] += f(np.r_[hidden[i], hidden[j], e])
        if node_update:
            z = [post(np.r_[sums[j], x[j]]) for j in range(3)]
            nodes = [lstm_of_numpy(network.lstm, z[j], h[j], c[j]) for j in range(3)]
            h, c = zip(*nodes, strict=True)
            hidden = h
        else:
            hidden = [post(np.r_[sums[j], x[j], hidden[j]]) for j in range(3)]
        assert_close(actual, np.stack(hidden))


def test_readouts_are_of_every_node_or_of_sums_at_every_step():
    r = MLP([HIDDEN, 4, 2])
    randomize(r)
    hidden = [normal(5, HIDDEN, seed=step) for step in range(2)]
    nodes = plain.node_outputs(r, hidden)
    graphs = plain.graph_outputs(r, hidden, [0, 0, 1, 1, 1], 2)
    for h, of_nodes, of_graphs in zip(hidden, nodes, graphs, strict=True):
        assert_close(of_nodes, [as_numpy(r)(row) for row in h])
        assert_close(of_graphs, [as_numpy(r)(rows.sum(axis=0)) for rows in (h[:2], h[2:])])


def test_the_loss_counts_every_step_and_the_kernels_squares():
    # Step 1: two equal classes, log 2 each. Step 2: odds of 3 to 1 for class 0, which is right for
    # the first row and wrong for the second: log 4/3 and log 4. L2: 0.1 (1 + 4 + 9) / 2 = 0.7.
    outputs = [tf.zeros([2, 2]), tf.constant([[np.log(3.0), 0.0]] * 2, tf.float32)]
    answers, kernels = tf.constant([0, 1]), [tf.constant([1.0, 2.0]), tf.constant([[3.0]])]
    expected = (2 * np.log(2) + np.log(4 / 3) + np.log(4)) / 4
    np.testing.assert_allclose(plain.loss(outputs, answers), expected, rtol=1e-6)
    np.testing.assert_allclose(
        plain.loss(outputs, answers, kernels, 0.1), expected + 0.7, rtol=1e-6
    )
