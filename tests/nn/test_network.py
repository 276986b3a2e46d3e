"""The recurrent network against the plain formulation, for all graphs, aggregates and cells."""

import collections

import numpy as np
import pytest
import tensorflow as tf

from rrn import Graph, RecurrentRelationalNetwork, RegularGraph, SparseGraph
from rrn.nn import plain
from rrn.nn.aggregation import AGGREGATES
from rrn.nn.graphs import EdgeEnds, all_others
from rrn.variables.reading import reading_scope
from tests.compare import assert_close, assert_same, names_and_shapes, normal, randomize
from tests.nn.graph_cases import FORMS, by_edge, make_case
from tests.nn.network_cases import (
    EDGE,
    GLOBAL,
    SIZE,
    as_written,
    float64_layers,
    given_values,
    keyed_draws,
    make_network,
    pair,
)
from tests.nn.own_parts import Gated, Momentum

PARTS = [("lstm", "edges globals"), ("gru", ""), (None, "edges"), ("lstm", "globals")]


# Every form with every aggregate, and either with all parts
@pytest.mark.parametrize(
    "form, aggregate, cell, options",
    [
        (form, aggregate, *PARTS[(i + j) % 4])
        for i, form in enumerate(FORMS)
        for j, aggregate in enumerate(AGGREGATES)
    ],
)
def test_the_network_equals_the_plain_formulation_and_its_gradients(form, aggregate, cell, options):
    graph, pairs, real, sizes, edges, globals_, rows = given_values(form, options)
    layers = 1 if options == "edges" else 2
    network = make_network(cell, aggregate, num_hidden_layers=layers, **sizes)
    features = normal(len(real), 3, seed=2)
    given = [x for x in tf.nest.flatten([edges, globals_]) if x is not None and tf.size(x) > 0]

    def expected():
        for layer in float64_layers(network):  # sums of messages may be next to nothing
            layer.compute_dtype = tf.float64
        states = as_written(network, aggregate, pairs, features, 3, rows())
        for layer in float64_layers(network):
            layer.compute_dtype = tf.float32
        return states

    sources = [features, *given, *network.variables]
    assert_same(lambda: network(graph, features, 3, edges, globals_), expected, sources, real, SIZE)
    if aggregate == "sum" and cell != "gru":  # the page that everyone reads first
        senders, receivers = zip(*pairs, strict=True)
        states = plain.hidden_states(network, senders, receivers, features, 3, rows())
        for actual, right in zip(states, expected(), strict=True):
            assert_close(actual[real], right[real], 1e-4)


def test_own_parts_equal_a_loop_over_edges_nodes_and_steps():
    network, features = make_network("own"), normal(3, 3)
    senders, receivers = [0, 2, 1, 1], [1, 1, 0, 1]  # node 2 has no senders
    actual, state = network.segment(SparseGraph(senders, receivers, 3), features, 3, None)
    x = network.input_fn(features).numpy()
    sent, h, v = x, list(np.zeros_like(x)), list(0.1 * x)  # the first messages are those of x
    for states in actual:
        sums = np.zeros([3, SIZE])
        for i, j in zip(senders, receivers, strict=True):
            sums[j] += network.message_fn.function.of_numpy(sent[i], sent[j])[0]
        nodes = [network.node_update.of_numpy(sums[j], x[j], h[j], v[j]) for j in range(3)]
        h, v = (list(rows) for rows in zip(*nodes, strict=True))
        sent = h
        assert_close(states, h)
    assert_close(state.cell["v"][0], np.reshape(v, [3, 2, SIZE // 2]))
    assert state.cell["age"].numpy().tolist() == [3, 3, 3]


def test_either_part_alone_may_be_of_ones_own():
    features, update = normal(2, 3), Momentum(SIZE, SIZE)
    network = RecurrentRelationalNetwork(3, SIZE, node_update=update)
    assert "node_fn/linear_0/w" not in names_and_shapes(network)
    randomize(network)
    x = network.input_fn(features)
    messages = plain.messages(network.message_fn.mlp, x, *pair().edge_list())
    sums = plain.sum_messages(messages, [1, 1, 0], 2)
    assert_close(network(pair(), features, 1)[0], update(sums, x, *update.initial_state(x))[0])
    network = RecurrentRelationalNetwork(3, SIZE, message_fn=Gated(SIZE, SIZE))
    randomize(network)
    x, zeros = network.input_fn(features), tf.zeros([2, SIZE])
    m = network.message_fn(pair(), x, network.message_fn.prepare(pair()))
    h, _ = plain.update_nodes(network.node_fn, network.lstm, m, x, (zeros, zeros))
    assert_close(network(pair(), features, 1)[0], h)


class Ring(Graph):
    """A graph of one's own: one ring, in which every node receives from the one before."""

    def __init__(self, nodes):
        self.nodes = nodes

    def edge_shape(self):
        return tf.constant([self.nodes])

    def edge_ends(self):
        return EdgeEnds(np.roll(range(self.nodes), 1), np.arange(self.nodes))

    def message_sums(self, edge_fn, senders, receivers, edges=None, edge_weights=None):
        pairs = tf.roll(senders, 1, axis=0) + receivers
        messages = edge_fn(pairs if edges is None else pairs + edges)
        return messages if edge_weights is None else messages * edge_weights[:, None]

    def degrees(self, edge_weights=None):
        return tf.ones([self.nodes]) if edge_weights is None else edge_weights

    def sum_nodes(self, nodes):
        return tf.reduce_sum(nodes, axis=0, keepdims=True)

    def broadcast_globals_to_nodes(self, globals_):
        return tf.repeat(globals_, self.nodes, axis=0)


@pytest.mark.parametrize("aggregate", ["sum", "max"])
def test_the_network_takes_a_graph_of_ones_own(aggregate):
    network = make_network(aggregate=aggregate, edge_size=EDGE, global_size=GLOBAL)
    features, edges, globals_ = normal(5, 3), normal(5, EDGE, seed=1), normal(1, GLOBAL, seed=2)
    ring = Ring(5)
    states = network(ring, features, 3, edges, globals_)
    expected = network(SparseGraph(*ring.edge_list(), 5), features, 3, edges, globals_)
    for actual, same in zip(states, expected, strict=True):
        assert_close(actual, same)


# Recomputing and dropped messages


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "node_update, aggregate, dropout", [("lstm", "sum", True), ("own", "softmax", False)]
)
def test_recomputing_changes_neither_states_nor_gradients(form, node_update, aggregate, dropout):
    graph, _, real, sizes, edges, globals_, _ = given_values(form, "edges globals")
    options = {"edge_keep_probability": 0.6, "uniform": keyed_draws} if dropout else {}
    network, features = make_network(node_update, aggregate, **sizes), normal(len(real), 3)

    def states(recompute):
        return network(graph, features, 3, edges, globals_, recompute=recompute, **options)

    variables = [v for v in network.variables if v.dtype.is_floating]
    sources = [features, globals_, *variables]
    assert_same(lambda: states(True), lambda: states(False), sources, real, SIZE)


def test_recomputing_runs_every_step_twice_and_reads_each_variable_once():
    network, graph = make_network(num_hidden_layers=3), make_case("regular")[0]
    features, operations = normal(12, 3), {}
    for recompute in (False, True):

        @tf.function(autograph=False)
        def gradients(recompute=recompute):
            with reading_scope(), tf.GradientTape() as tape:
                states = network(graph, features, 4, recompute=recompute)
                loss = tf.reduce_sum(states[-1] ** 2)
            return tape.gradient(loss, network.variables)

        function = gradients.get_concrete_function()
        operations[recompute] = collections.Counter(o.type for o in function.graph.get_operations())
    # 3 for the input; at each of 4 steps 3 for messages and 3 for nodes, and all of them once more.
    assert operations[False]["Relu"] == 3 + 4 * 6
    assert operations[True]["Relu"] == 3 + 2 * 4 * 6
    for counts in operations.values():
        assert counts["ReadVariableOp"] == len(network.variables)


def test_the_backward_pass_of_recomputed_steps_drops_the_messages_of_the_forward_pass():
    network, graph, asked = make_network(None), RegularGraph(all_others(6), 1), []

    def uniform(shape, step, part):
        asked.append(tf.random.uniform(shape))
        return asked[-1]

    def gradient(uniform, recompute):
        options = {"edge_keep_probability": 0.5, "uniform": uniform, "recompute": recompute}
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(network(graph, normal(6, 3), 2, **options)[-1])
        return tape.gradient(loss, network.message_fn.mlp.layers[-1].b)

    recomputed = gradient(uniform, True)
    assert len(asked) == 2  # one for each step, none in the backward pass
    assert_close(recomputed, gradient(lambda shape, step, part: asked[step], False))


@pytest.mark.parametrize("form", FORMS)
def test_edge_dropout_drops_the_same_messages_in_the_plain_formulation(form):
    graph, pairs, real, *_ = given_values(form, "")
    network, features, keep = make_network(num_hidden_layers=1), normal(len(real), 3), 0.6

    def weights(step):
        shapes = graph.edge_shape()
        draws = [keyed_draws(shape, step, i) for i, shape in enumerate(tf.nest.flatten(shapes))]
        rows = by_edge(graph, tf.nest.pack_sequence_as(shapes, draws)).numpy()
        kept = np.where(rows < keep, np.float32(1 / keep), 0)[:, None]
        assert 0 < np.count_nonzero(kept) < len(pairs)
        return kept

    assert_same(
        lambda: network(graph, features, 3, edge_keep_probability=keep, uniform=keyed_draws),
        lambda: as_written(network, "sum", pairs, features, 3, weights=weights),
        [features, *network.variables],
        real,
        SIZE,
    )


def test_every_step_and_every_part_of_a_union_asks_for_its_own_draws_and_probability_1_for_none():
    graph, _, _, real, _ = make_case("union")
    network, features, asked = make_network(), normal(len(real), 3), []

    def draw(shape, step, part):
        asked.append((step, part, tuple(shape.numpy().tolist())))
        return tf.zeros(shape)

    kept = network(graph, features, 2, edge_keep_probability=1.0, uniform=draw)
    assert not asked
    np.testing.assert_array_equal(kept, network(graph, features, 2))
    network(graph, features, 2, edge_keep_probability=0.5, uniform=draw)
    shapes = [(4, 3, 3), (0, 2, 2), (8,), (3, 4, 2)]
    assert asked == [(step, *part) for step in range(2) for part in enumerate(shapes)]
