"""Wrong arguments of graphs, and what `validate` finds: each error names what would be right."""

import numpy as np
import pytest
import tensorflow as tf

from rrn import FullyConnectedGraph, GraphUnion, RecurrentRelationalNetwork, RegularGraph
from rrn import SparseGraph as Sparse
from rrn.nn.aggregation import AGGREGATES
from tests.compare import normal
from tests.nn.graph_cases import FORMS, draw_edges, make_case


def pair():
    return Sparse([0, 1, 1], [1, 1, 0], 2)


def ring():
    return RegularGraph([[1], [2], [0]], 2)


def full():
    return FullyConnectedGraph(tf.ones([2, 3]))


def union():
    return GraphUnion([pair(), ring()], [2, 6], [1, 2])


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: Sparse([[0]], [0], 1), r"SparseGraph: senders must have .*edges\].*got \(1, 1\)"),
        (lambda: Sparse([0, 0], [0], 1), r"receivers must have .*edges\] = \(2,\), got \(1,\)"),
        (lambda: Sparse([0.0], [0], 1), "SparseGraph: senders must be integers, got float32$"),
        (lambda: Sparse(None, [0], 1), "SparseGraph: senders must be integers, got None"),
        (lambda: Sparse(["a"], [0], 1), "SparseGraph: senders must be a tensor or an array of num"),
        (lambda: Sparse([0], [0], 1.5), "num_nodes must be integers, got float32"),
        (lambda: Sparse([0], [0], -2), "num_nodes must be from 0 to 2147483647, got -2"),
        (lambda: Sparse(np.array([0, 2**32]), [0, 0], 1), "to 2147483647, got 4294967296"),
        (lambda: Sparse([0], [0], 1, num_graphs=2), "num_graphs=2 needs node_graph, .*, got None"),
        (lambda: Sparse([0], [0], 2, [0]), r"node_graph must have .* \(2,\), got \(1,\)"),
        (lambda: RegularGraph([[1], [0, 1]], 1), r"neighbours must be integers, got \[\[1\], \["),
        (lambda: RegularGraph([0, 1], 1), r"neighbours must have .*graph_nodes, k\].*got \(2,\)"),
        (lambda: RegularGraph([[0]], -3), "RegularGraph: batch must be .* at least 0, got -3"),
        (lambda: RegularGraph([[0]], 1.5), "RegularGraph: batch must be integers, got float32"),
        (lambda: RegularGraph([[1], [2]], 3), r"neighbours\[1, 0\] must be from 0 to 1, got 2"),
        (lambda: RegularGraph([[1], [-1]], 3), r"neighbours\[1, 0\] must be from 0 to 1, got -1"),
        (lambda: FullyConnectedGraph(None), "FullyConnectedGraph: mask must be .*, got None"),
        (lambda: FullyConnectedGraph([1.0, 1.0]), r"mask must have .*graph_nodes\].*got \(2,\)"),
        (lambda: GraphUnion([], [], []), "parts must be graphs, such as SparseGraphs, got none"),
        (lambda: GraphUnion([[0]], [1], [1]), "parts must be graphs, .*got list"),
        (lambda: GraphUnion([pair()], [2.5], [1]), "part_nodes must be integers, got float32"),
        (lambda: GraphUnion([pair()], [2, 2], [1]), r"part_nodes must .* \(1,\), got \(2,\)"),
        (lambda: GraphUnion([pair()], [3], [1]), r"part_nodes must .* \[2\], got \[3\]"),
        (lambda: GraphUnion([pair()], [2], tf.constant([2])), r"part_graphs .* \[1\], got \[2\]"),
    ],
)
def test_a_wrong_argument_is_named_with_what_it_was(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("make", [pair, ring, full, union])
def test_values_of_another_number_of_nodes_edges_or_graphs_are_named(make):
    graph = make()
    sizes, one = graph.known_sizes(), tf.ones([1] if make is pair else [1, 1, 1])
    one = [one, one] if make is union else one
    right, wrong = tf.ones([sizes.nodes, 4]), tf.ones([sizes.nodes + 1, 4])
    for name, call in {
        "sum_nodes: nodes": lambda: graph.sum_nodes(wrong),
        "message_sums: senders": lambda: graph.message_sums(tf.identity, wrong, right),
        "message_sums: receivers": lambda: graph.message_sums(tf.identity, right, wrong),
        "message_sums: edge_weights": lambda: graph.message_sums(
            tf.identity, right, right, None, one
        ),
        "degrees: edge_weights": lambda: graph.degrees(one),
        "broadcast_globals_to_nodes: globals_": lambda: graph.broadcast_globals_to_nodes(
            tf.ones([sizes.graphs + 1, 4])
        ),
    }.items():
        with pytest.raises(ValueError, match=rf"{type(graph).__name__}.{name}.* must have shape"):
            call()


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: Sparse([0], [2], 2), r"receivers\[0\] must be from 0 to 1, got 2"),
        (lambda: Sparse([0], [0], 2, [0, 1]), r"node_graph\[1\] must be from 0 to 0, got 1"),
        (lambda: FullyConnectedGraph([[1.0, 0.5]]), "mask must be 0 or 1, got 0.5"),
        (
            lambda: GraphUnion([pair(), Sparse([0, 3, 3], [0, 0, 0], 2)], [2, 2], [1, 1]),
            r"SparseGraph.validate: senders\[1\] must be .* got 3 \(2 of 3 are out of range\)",
        ),
    ],
)
def test_validate_names_the_first_wrong_value(make, message):
    graph = make()
    with pytest.raises(ValueError, match=message):
        graph.validate()


def test_validate_finds_a_unions_numbers_that_a_function_did_not_know():
    @tf.function(input_signature=[tf.TensorSpec([2], tf.int32)], autograph=False)
    def union_of(part_nodes):
        return GraphUnion([pair(), ring()], part_nodes, [1, 2])

    union_of(tf.constant([2, 6])).validate()
    with pytest.raises(ValueError, match=r"part_nodes must .* \[2, 6\], got \[2, 5\]"):
        union_of(tf.constant([2, 5])).validate()
    with pytest.raises(ValueError, match="num_nodes is not known while a function is traced"):
        tf.function(lambda graph: graph.validate())(pair())


@pytest.mark.parametrize("form", FORMS)
def test_nested_lists_are_as_good_as_tensors(form):
    graph, _, _, real, num_graphs = make_case(form)
    graph.validate()
    assert graph.known_sizes()[:2] == (len(real), num_graphs)
    network = RecurrentRelationalNetwork(2, 4, edge_size=3, global_size=1)
    values = normal(len(real), 2), draw_edges(graph, 3), normal(num_graphs, 1), draw_edges(graph)
    lists = tf.nest.map_structure(lambda x: x.numpy().tolist(), values)
    features, edges, globals_, weights = lists
    if form == "union":  # a list of what is empty has no last axes
        edges[1], weights[1] = values[1][1], values[3][1]
    expected = network(graph, values[0], 2, values[1], values[2])
    np.testing.assert_array_equal(network(graph, features, 2, edges, globals_)[-1], expected[-1])
    np.testing.assert_array_equal(graph.sum_nodes(features), graph.sum_nodes(values[0]))
    np.testing.assert_array_equal(graph.degrees(weights), graph.degrees(values[3]))


@pytest.mark.parametrize("aggregate", AGGREGATES)
@pytest.mark.parametrize(
    "make, edge_size",
    [
        (lambda: Sparse([], [], 6), 2),
        (lambda: RegularGraph(np.zeros([3, 0], int), tf.constant(2)), 0),
    ],
)
def test_without_neighbours_a_node_receives_nothing(make, edge_size, aggregate):
    graph, x = make(), normal(6, 2)
    network = RecurrentRelationalNetwork(2, 4, edge_size=edge_size, aggregate=aggregate)
    edges = draw_edges(graph, edge_size) if edge_size else None
    with tf.GradientTape() as tape:
        states = network(graph, x, 2, edges)
        loss = tf.reduce_sum(states[-1] ** 2)
    for gradient in tape.gradient(loss, network.trainable_variables):
        assert gradient is None or np.isfinite(tf.convert_to_tensor(gradient)).all()
    # The same as with edges that are all dropped.
    dropped = {"edge_keep_probability": 1e-6, "uniform": lambda shape, *_: 0.999 * tf.ones(shape)}
    ones = tf.ones([2, edge_size]) if edge_size else None
    alone = network(Sparse([0, 1], [1, 0], 6), x, 2, ones, **dropped)
    np.testing.assert_allclose(states[-1], alone[-1], rtol=1e-5, atol=1e-6)
