"""The three forms of graphs and their union: against NumPy loops, and against each other."""

import numpy as np
import pytest
import tensorflow as tf

from rrn import FullyConnectedGraph, GraphUnion, RegularGraph, SparseGraph
from rrn.nn.graphs import regular
from tests.compare import assert_close, normal
from tests.nn.graph_cases import FORMS, by_edge, draw_edges, make_case


def edge_fn(x):
    """Not linear, and of another size than its input."""
    return tf.nn.relu(tf.concat([x, -2 * x[:, :1]], axis=-1))


def identity(x):
    return x


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("with_edges", [False, True])
@pytest.mark.parametrize("form", FORMS)
def test_message_sums_and_degrees_equal_a_loop_over_the_edges(form, with_edges, weighted):
    graph, pairs, _, real, _ = make_case(form)
    senders, receivers = normal(len(real), 3), normal(len(real), 3, seed=1)
    edges = draw_edges(graph, 3) if with_edges else None
    weights = draw_edges(graph, seed=2) if weighted else None
    edge_rows = by_edge(graph, edges).numpy() if with_edges else np.zeros([len(pairs), 3])
    weight_rows = by_edge(graph, weights).numpy() if weighted else np.ones(len(pairs))

    sums, degrees = np.zeros([len(real), 4]), np.zeros(len(real))
    for (i, j), edge, weight in zip(pairs, edge_rows, weight_rows, strict=True):
        x = senders[i].numpy() + receivers[j].numpy() + edge
        sums[j] += weight * np.maximum(np.append(x, -2 * x[0]), 0)
        degrees[j] += weight
    actual_sums = graph.message_sums(edge_fn, senders, receivers, edges, weights)
    actual_degrees = graph.degrees(weights)
    assert actual_sums.shape == (len(real), 4) and actual_degrees.shape == (len(real),)
    assert_close(actual_sums[real], sums[real])
    assert_close(actual_degrees[real], degrees[real])


@pytest.mark.parametrize("form", FORMS)
def test_sum_nodes_and_broadcast_globals_equal_loops_over_the_nodes(form):
    graph, _, node_graph, real, num_graphs = make_case(form)
    nodes, globals_ = normal(len(real), 3), normal(num_graphs, 2, seed=1)
    sums = np.zeros([num_graphs, 3])
    for row, g, is_real in zip(nodes.numpy(), node_graph, real, strict=True):
        sums[g] += row * is_real
    assert_close(graph.sum_nodes(nodes), sums)
    broadcast = graph.broadcast_globals_to_nodes(globals_)
    np.testing.assert_array_equal(broadcast, globals_.numpy()[node_graph])


@pytest.mark.parametrize("form", FORMS)
def test_the_ends_of_edges_are_in_the_order_of_values_of_edges(form):
    graph, pairs, *_ = make_case(form)
    senders, receivers, present = graph.edge_ends()
    places = tf.nest.map_structure(
        lambda s: tf.reshape(tf.range(tf.reduce_prod(s)), s), graph.edge_shape()
    )
    assert len(senders) == sum(tf.size(part).numpy() for part in tf.nest.flatten(places))
    present = tf.ones_like(senders, tf.bool) if present is None else present
    ends = tf.stack([senders, receivers], axis=1)
    assert [tuple(pair) for pair in tf.boolean_mask(ends, present).numpy()] == pairs
    assert list(zip(*(np.array(rows) for rows in graph.edge_list()), strict=True)) == pairs
    if form != "union":  # whose parts' places begin at 0 each
        assert by_edge(graph, places).numpy().tolist() == np.flatnonzero(present).tolist()


NEIGHBOURS = {
    "k from every node": [[1, 2], [2, 3], [0, 3], [1, 0]],
    "unequal numbers from the nodes": [[1, 2], [0, 1], [3, 0], [2, 2]],
}


@pytest.mark.parametrize("neighbours", NEIGHBOURS.values(), ids=NEIGHBOURS)
@pytest.mark.parametrize("graphs_in_blocks", [[7], [2, 2, 3]])
def test_a_regular_graph_gives_the_same_in_blocks_of_any_size(
    neighbours, graphs_in_blocks, monkeypatch
):
    graph = RegularGraph(neighbours, 7)
    monkeypatch.setattr(regular, "BLOCK_EDGES", -(-7 * 8 // len(graphs_in_blocks)))
    assert graph._block_sizes() == graphs_in_blocks
    sparse = SparseGraph(*graph.edge_list(), 28)
    sources = [normal(28, 3), normal(28, 3, seed=1), draw_edges(graph, 3), draw_edges(graph)]
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(sources)
        senders, receivers, edges, weights = sources
        sums = graph.message_sums(edge_fn, *sources)
        rows = by_edge(graph, edges), by_edge(graph, weights)
        expected = sparse.message_sums(edge_fn, senders, receivers, *rows)
        losses = [tf.reduce_sum(s**2) for s in (sums, expected)]
    assert_close(sums, expected)
    gradients = [tape.gradient(loss, sources) for loss in losses]
    for actual, expected in zip(*gradients, strict=True):
        assert_close(actual, expected)


def test_a_batch_of_unknown_size_is_one_block():
    @tf.function(input_signature=[tf.TensorSpec([], tf.int32), tf.TensorSpec([None, 3])])
    def sums(batch, nodes):
        graph = RegularGraph(NEIGHBOURS["k from every node"], batch)
        return graph.message_sums(edge_fn, nodes, -nodes)

    nodes = normal(12, 3)
    expected = RegularGraph(NEIGHBOURS["k from every node"], 3).message_sums(edge_fn, nodes, -nodes)
    assert_close(sums(3, nodes), expected)


GRAPHS_OF_A_HUB = {  # node 0 has 4,096 edges, or 300, which bfloat16 sums to 256
    "sends": lambda: (SparseGraph(tf.zeros([4096], tf.int32), tf.range(1, 4097), 4097), 4096),
    "receives": lambda: (SparseGraph(tf.range(1, 4097), tf.zeros([4096], tf.int32), 4097), 4096),
    "regular": lambda: (RegularGraph(tf.tile(tf.range(300)[None], [300, 1]), 1), 300),
    "unequal": lambda: (RegularGraph(tf.zeros([300, 20], tf.int32), 1), 6000),
}


@pytest.mark.parametrize("make", GRAPHS_OF_A_HUB.values(), ids=GRAPHS_OF_A_HUB)
def test_bfloat16_gradients_of_gathers_are_added_in_float32(make):
    graph, edges = make()
    nodes = tf.ones([graph.known_sizes().nodes, 1], tf.bfloat16)
    globals_ = tf.ones([1, 1], tf.bfloat16)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch([nodes, globals_])
        sums = graph.message_sums(identity, nodes, nodes)
        broadcast = graph.broadcast_globals_to_nodes(globals_)
    sent_and_received = edges + int(graph.degrees()[0]) if edges != 4096 else edges
    to_hub = tf.cast(tf.convert_to_tensor(tape.gradient(sums, nodes)), tf.float32)[0, 0]
    assert abs(to_hub - sent_and_received) <= sent_and_received / 128
    to_globals = tf.cast(tf.convert_to_tensor(tape.gradient(broadcast, globals_)), tf.float32)
    assert abs(to_globals[0, 0] - len(nodes)) <= len(nodes) / 128


@pytest.mark.parametrize("content", [0.0, 1e6])
def test_what_padding_holds_never_matters(content):
    graph, _, _, real, _ = make_case("fully_connected")
    nodes = normal(len(real), 3)
    other = tf.where(real[:, None], nodes, content)
    sums, other_sums = (graph.message_sums(edge_fn, x, x)[real] for x in (nodes, other))
    np.testing.assert_array_equal(sums, other_sums)
    np.testing.assert_array_equal(graph.sum_nodes(nodes), graph.sum_nodes(other))


@pytest.mark.parametrize("form", FORMS)
def test_bfloat16_messages_are_added_in_float32(form):
    """Each of 300 messages of 1 counts; bfloat16 sums stop at 256."""
    make = {
        "sparse": lambda: SparseGraph(tf.range(300), tf.zeros([300], tf.int32), 300),
        "regular": lambda: RegularGraph(tf.tile(tf.range(300)[None], [300, 1]), 1),
        "fully_connected": lambda: FullyConnectedGraph(np.ones([1, 300])),
    }
    make["union"] = lambda: GraphUnion([make["regular"]()], [300], [1])
    graph, ones = make[form](), tf.ones([300, 1], tf.bfloat16)
    sums = graph.message_sums(identity, ones, tf.zeros_like(ones))
    assert sums.dtype == tf.bfloat16
    assert float(sums[0, 0]) == float(graph.sum_nodes(ones)[0, 0]) == 300


def test_sizes_may_be_unknown_when_a_function_is_traced():
    @tf.function(input_signature=[tf.TensorSpec([None, None]), tf.TensorSpec([None, 3])])
    def traced(mask, nodes):
        graph = FullyConnectedGraph(mask)
        return graph.message_sums(edge_fn, nodes, nodes), graph.degrees(), graph.sum_nodes(nodes)

    for batch, size in ([2, 4], [3, 2]):
        mask, nodes = np.ones([batch, size], np.float32), normal(batch * size, 3)
        mask[0, 1:] = 0
        eager = traced.python_function(mask, nodes)
        for actual, expected in zip(traced(mask, nodes), eager, strict=True):
            assert_close(actual, expected)
