"""The recurrent network's segments, types and traces, with and without XLA."""

import numpy as np
import pytest
import tensorflow as tf

import rrn.nn.network
from rrn import RecurrentRelationalNetwork, RegularGraph, SparseGraph
from rrn.nn.aggregation import AGGREGATES
from tests.compare import assert_close, normal, value_and_gradients
from tests.nn.graph_cases import FORMS, draw_edges, make_case, unite
from tests.nn.network_cases import (
    CELLS,
    EDGE,
    GLOBAL,
    RING,
    SIZE,
    compiled,
    given_values,
    make_network,
    pair,
)

# Segments


@pytest.mark.parametrize("node_update", [*CELLS, "own"])
def test_segments_one_after_the_other_are_one_run(node_update):
    graph, _, _, real, _ = make_case("union")  # of all forms
    network, features = make_network(node_update), normal(len(real), 3)
    whole, last = network.segment(graph, features, 4, None)
    state, parts = network.initial_state(len(real)), []
    for num_steps in (1, 3):
        hidden, state = network.segment(graph, features, num_steps, state)
        parts += hidden
    tf.nest.assert_same_structure(state, last)
    for actual, expected in zip(
        [*parts, *tf.nest.flatten(state)], [*whole, *tf.nest.flatten(last)], strict=True
    ):
        assert actual.dtype == expected.dtype
        assert_close(tf.boolean_mask(actual, real), tf.boolean_mask(expected, real))


@pytest.mark.parametrize("node_update", ["lstm", "own"])
def test_nodes_that_have_not_started_start_beside_nodes_that_resume(node_update):
    """Two graphs side by side, the second one new: it does what it does alone."""
    network, features = make_network(node_update), normal(8, 3)
    both, one = RegularGraph(RING, 2), RegularGraph(RING, 1)
    _, state = network.segment(both, features, 3, None)
    started = tf.constant([True] * 4 + [False] * 4)  # values of the others mean nothing
    hidden, state = network.segment(both, features, 2, state._replace(started=started))
    assert_close(hidden[-1][:4], network(one, features[:4], 5)[-1])
    assert_close(hidden[-1][4:], network(one, features[4:], 2)[-1])
    assert state.started.numpy().all()
    if node_update == "own":
        assert state.cell["age"].numpy().tolist() == [5] * 4 + [2] * 4


# Types, tracing, XLA


@pytest.mark.parametrize(
    "form, node_update, aggregate",
    [
        *((form, "lstm", "sum") for form in FORMS),
        *(("union", "own", aggregate) for aggregate in AGGREGATES),
    ],
)
def test_bfloat16_is_close_to_float32(form, node_update, aggregate):
    graph, _, real, sizes, edges, globals_, _ = given_values(form, "edges globals")
    states, gradients = [], []
    for dtype in (tf.float32, tf.bfloat16):
        network = make_network(node_update, aggregate, dtype, **sizes)
        with tf.GradientTape() as tape:
            hidden = network(graph, normal(len(real), 3), 3, edges, globals_)
            loss = tf.reduce_sum(tf.boolean_mask(hidden[-1], real) ** 2)
        states.append(tf.boolean_mask(hidden[-1], real))
        gradients.append(tape.gradient(loss, network.variables))
        assert states[-1].dtype == tf.float32 == gradients[-1][0].dtype
    assert 0 < tf.norm(states[1] - states[0]) / tf.norm(states[0]) < 0.03
    if node_update == "lstm":
        exact, rounded = (tf.concat([tf.reshape(g, [-1]) for g in of], 0) for of in gradients)
        assert tf.norm(rounded - exact) / tf.norm(exact) < 0.1


def gradient_of_a_hub(sends, aggregate="sum", scale=1.0, dtype=tf.float32, rounded=False):
    """The gradient to the features of a node with 1,000 neighbours; `scale` is of the messages."""
    ends = tf.zeros([1000], tf.int32), tf.range(1, 1001)
    graph, features = SparseGraph(*(ends if sends else ends[::-1]), 1001), normal(1001, 4)
    tf.random.set_seed(0)
    network = RecurrentRelationalNetwork(4, 32, aggregate=aggregate, compute_dtype=dtype)
    last = network.message_fn.mlp.layers[-1].w
    last.assign(scale * last)
    for variable in network.variables if rounded else ():
        variable.assign(tf.cast(tf.cast(variable, tf.bfloat16), tf.float32))
    with tf.GradientTape() as tape:
        tape.watch(features)
        loss = tf.reduce_sum(network(graph, features, 2)[-1])
    return tape.gradient(loss, features)[0]


def relative_error(actual, exact):
    return float(tf.norm(actual - exact) / tf.norm(exact))


@pytest.mark.parametrize(
    "sends, aggregate, scale", [(True, "sum", 1.0), (False, "mean", 1.0), (False, "sum", 1e-3)]
)
def test_bfloat16_gradients_of_a_node_with_1000_neighbours_are_within_1_percent(
    sends, aggregate, scale
):
    exact = gradient_of_a_hub(sends, aggregate, scale)
    assert relative_error(gradient_of_a_hub(sends, aggregate, scale, tf.bfloat16), exact) < 0.01


def test_a_large_sum_of_messages_loses_no_more_than_rounded_variables_do():
    """Gates saturate with 1,000 messages as they are, so that small errors count much."""
    exact, rounded = (gradient_of_a_hub(False, rounded=rounded) for rounded in (False, True))
    error = relative_error(gradient_of_a_hub(False, dtype=tf.bfloat16), exact)
    assert error < 1.2 * relative_error(rounded, exact)


def test_one_trace_takes_sparse_graphs_of_all_sizes():
    network, rows = make_network("own", edge_size=EDGE), tf.TensorSpec([None, 3])

    @tf.function(input_signature=[SparseGraph.spec(), rows, rows], autograph=False)
    def states(graph, features, edges):
        return network.segment(graph, features, 2, None, edges)

    for graph in (make_case("sparse")[0], pair(), SparseGraph(*2 * [tf.zeros([0], tf.int32)], 3)):
        given = normal(int(graph.num_nodes), 3), normal(len(graph.senders), EDGE)
        found = states(graph, *given), network.segment(graph, given[0], 2, None, given[1])
        for actual, expected in zip(*map(tf.nest.flatten, found), strict=True):
            assert_close(actual, expected)
    assert states.experimental_get_tracing_count() == 1


def test_sizes_may_be_unknown_when_a_function_is_traced(caplog):
    """And AutoGraph takes it; it warns of what it cannot transform."""
    network, row = make_network(edge_size=EDGE), tf.TensorSpec([None], tf.int32)
    values = tf.TensorSpec([None, None])

    @tf.function(input_signature=[row, row, values, values])
    def states(senders, receivers, features, edges):
        graph = SparseGraph(senders, receivers, tf.shape(features)[0])
        return network(graph, features, 2, edges)

    for senders, receivers, nodes in (([0, 1], [1, 0], 2), ([0, 1, 3, 3], [1, 2, 0, 3], 4)):
        given = senders, receivers, normal(nodes, 3), normal(len(senders), EDGE)
        for actual, expected in zip(states(*given), states.python_function(*given), strict=True):
            assert_close(actual, expected)
    assert "AutoGraph" not in caplog.text


@pytest.mark.slow
@pytest.mark.parametrize(
    "form, node_update, num_steps",
    [
        ("union", "own", 4),  # of all forms; 4 are a loop over blocks of 2
        ("sparse", "gru", 4),
        ("regular", "lstm", 4),
    ],
)
def test_xla_changes_neither_states_nor_gradients(form, node_update, num_steps, monkeypatch):
    monkeypatch.setattr(rrn.nn.network, "UNROLLED_STEPS", 2)
    parts = ["fully_connected", "sparse", "regular"]  # XLA has no gradients of an empty one
    graph, _, _, real, num_graphs = (
        unite(map(make_case, parts)) if form == "union" else make_case(form)
    )
    network = make_network(node_update, edge_size=EDGE, global_size=GLOBAL)
    features, weights = normal(len(real), 3), normal(np.sum(real), SIZE, seed=9)
    given = draw_edges(graph, EDGE), normal(num_graphs, GLOBAL)

    def states():
        hidden, state = network.segment(graph, features, num_steps, None, *given)
        return [*hidden, state.hidden]

    def run():
        return value_and_gradients(states, [features, given[1]], real, weights)

    results = compiled(network, run), run()
    for actual, right in zip(*map(tf.nest.flatten, results), strict=True):
        assert_close(actual, right, 1e-4)
