"""Wrong arguments of graphs, and what `validate` finds: each error names what would be right."""

import numpy as np
import pytest
import tensorflow as tf

from rrn import (
    FullyConnectedGraph,
    Graph,
    GraphUnion,
    RecurrentRelationalNetwork,
    RegularGraph,
    SparseGraph,
)
from rrn.nn.aggregation import AGGREGATES
from tests.compare import normal
from tests.nn.graph_cases import FORMS, draw_edges, make_case


def pair():
    return SparseGraph([0, 1, 1], [1, 1, 0], 2)


def ring():
    return RegularGraph([[1], [2], [0]], 2)


def full():
    return FullyConnectedGraph(tf.ones([2, 3]))


def union():
    return GraphUnion([pair(), ring()], [2, 6], [1, 2])


NO_EDGES = r"must be integers, got float32; none at all are tf.zeros\(\[{}\], tf.int32\)"


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: SparseGraph([[0]], [0], 1), r"SparseGraph: senders must have rank 1.*\(1, 1\)"),
        (lambda: SparseGraph([0], 0, 1), r"SparseGraph: receivers must have rank 1.*\(\)"),
        (lambda: SparseGraph([0.0], [0], 1), "SparseGraph: senders must be integers, got float32$"),
        (
            lambda: SparseGraph([], [], 1),
            NO_EDGES.format("0"),
        ),
        (lambda: RegularGraph([[], []], 1), NO_EDGES.format("2, 0")),
        (lambda: SparseGraph(None, [0], 1), "SparseGraph: senders must be integers, got None"),
        (lambda: SparseGraph(["a"], [0], 1), "SparseGraph: senders must be .*, got strings"),
        (lambda: SparseGraph([0], [0], None), "num_nodes must be integers, got None"),
        (lambda: SparseGraph([0], [0], -2), "num_nodes must be at least 0, got -2"),
        (lambda: SparseGraph([0], [0], 1, [0], -1), "num_graphs must be at least 0, got -1"),
        (
            lambda: SparseGraph([0], [0], 1, num_graphs=2),
            "SparseGraph: num_graphs=2 needs node_graph, .*, got None",
        ),
        (
            lambda: SparseGraph(np.array([0, 2**32]), [0, 0], 1),
            "senders must be from -2147483648 to 2147483647, got 4294967296",
        ),
        (lambda: RegularGraph([[1], [0, 1]], 1), r"neighbours must be integers, got \[\[1\], \["),
        (lambda: RegularGraph([[0]], -3), "RegularGraph: batch must be .* at least 0, got -3"),
        (lambda: FullyConnectedGraph(None), "FullyConnectedGraph: mask must be .*, got None"),
        (lambda: FullyConnectedGraph([["a"]]), r"mask must be .*, got \[\['a'\]\]"),
        (lambda: GraphUnion(pair(), [2], [1]), "parts must be a list of graphs, got SparseGraph"),
        (lambda: GraphUnion([pair()], [2.5], [1]), "part_nodes must be integers, got float64"),
        (lambda: GraphUnion([pair()], ["a"], [1]), r"part_nodes must be .*, got \['a'\]"),
        (
            lambda: GraphUnion([pair(), ring()], [2, 5], [1, 2]),
            r"part_nodes must .* \[2, 6\], got \[2, 5\]",
        ),
        (
            lambda: GraphUnion([pair()], [2], tf.constant([2])),
            r"part_graphs must .* \[1\], got \[2\]",
        ),
        (
            lambda: SparseGraph([0, 0], [0], 1),
            r"receivers must have .*edges\] = \(2,\), got \(1,",
        ),
        (
            lambda: SparseGraph([0], [0], 1.5),
            "num_nodes must be integers, got float32",
        ),
        (
            lambda: SparseGraph([0], [0], 2, [0]),
            r"node_graph must have .* \(2,\), got \(1,\)",
        ),
        (lambda: RegularGraph([0, 1], 1), r"RegularGraph: neighbours must have rank 2.*\(2,\)"),
        (
            lambda: RegularGraph([[0.0]], 1),
            "neighbours must be integers, got float32",
        ),
        (lambda: RegularGraph([[0]], 1.5), "RegularGraph: batch must be integers, got float32"),
        (
            lambda: FullyConnectedGraph([1.0, 1.0]),
            r"FullyConnectedGraph: mask must have rank 2.*\(2,\)",
        ),
        (
            lambda: GraphUnion([], [], []),
            "parts must hold at least one graph, got none",
        ),
        (
            lambda: GraphUnion([[0]], [1], [1]),
            r"parts\[0\] must be an .*GraphValue.* got list",
        ),
        (
            lambda: GraphUnion([pair()], [2, 2], [1]),
            r"part_nodes must have .* \(1,\), got \(2,\)",
        ),
        (lambda: GraphUnion([pair()], [2], 1), r"part_graphs must have .* \(1,\), got \(\)"),
    ],
)
def test_a_wrong_argument_is_named_with_what_it_was(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("make", [pair, ring, full, union])
def test_values_of_another_number_of_nodes_edges_or_graphs_are_named(make):
    graph = make()
    form, sizes = type(graph).__name__, graph.known_sizes()
    right, wrong = tf.ones([sizes.nodes, 4]), tf.ones([sizes.nodes + 1, 4])
    shape = rf"\({sizes.nodes}, None\), got \({sizes.nodes + 1}, 4\)"
    for name, call in {
        "sum_nodes: nodes": lambda: graph.sum_nodes(wrong),
        "message_sums: senders": lambda: graph.message_sums(tf.identity, wrong, right),
        "message_sums: receivers": lambda: graph.message_sums(tf.identity, right, wrong),
    }.items():
        with pytest.raises(ValueError, match=rf"{form}.{name} must have shape .* = {shape}"):
            call()
    globals_ = tf.ones([sizes.graphs + 1, 4])
    message = rf"{form}.broadcast_globals_to_nodes: globals_ .*\({sizes.graphs}, None\), got"
    with pytest.raises(ValueError, match=message):
        graph.broadcast_globals_to_nodes(globals_)
    one = tf.ones([1] if make is pair else [1, 1, 1])
    one = [one, one] if make is union else one
    for name, call in {
        "degrees": lambda: graph.degrees(one),
        "message_sums": lambda: graph.message_sums(tf.identity, right, right, None, one),
    }.items():
        with pytest.raises(ValueError, match=rf"{form}.{name}: edge_weights.* must have shape"):
            call()


@pytest.mark.parametrize("form", FORMS)
def test_the_cases_are_valid(form):
    graph, _, _, real, num_graphs = make_case(form)
    graph.validate()
    assert graph.known_sizes()[:2] == (len(real), num_graphs)


@pytest.mark.parametrize(
    "make, message",
    [
        (
            lambda: SparseGraph([0, 2, -1], [1, 1, 0], 2),
            r"senders\[1\] must be from 0 to 1, got 2 \(2 of 3 are out of range\)",
        ),
        (lambda: SparseGraph([0], [2], 2), r"receivers\[0\] must be from 0 to 1, got 2"),
        (lambda: SparseGraph([0], [0], 2, [0, 1]), r"node_graph\[1\] must be from 0 to 0, got 1"),
        (lambda: RegularGraph([[1], [2]], 3), r"neighbours\[1, 0\] must be from 0 to 1, got 2"),
        (lambda: FullyConnectedGraph([[1.0, 0.5]]), "mask must be 0 or 1, got 0.5"),
        (
            lambda: GraphUnion([pair(), SparseGraph([3], [0], 2)], [2, 2], [1, 1]),
            r"SparseGraph.validate: senders\[0\] must be from 0 to 1, got 3",
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


def test_validate_wants_values_that_are_known():
    @tf.function
    def validate(graph):
        graph.validate()

    with pytest.raises(ValueError, match="num_nodes is not known while a function is traced"):
        validate(pair())


def test_a_graph_of_ones_own_has_to_have_every_method():
    class Nothing(Graph):
        pass

    with pytest.raises(TypeError, match="abstract method"):
        Nothing()


def test_rows_of_different_lengths_are_named():
    with pytest.raises(ValueError, match=r"neighbours must be .*; all rows must have the same"):
        RegularGraph([[1], [0, 1]], 1)
    ragged = tf.ragged.constant([[1.0], [1.0, 2.0]])
    with pytest.raises(ValueError, match=r"sum_nodes: nodes must be .* numbers, got a Ragged"):
        pair().sum_nodes(ragged)
    with pytest.raises(ValueError, match=r"features must be a tensor .*, got \[\[1.0\], \[1.0, 2"):
        RecurrentRelationalNetwork(2, 4)(pair(), [[1.0], [1.0, 2.0]], 1)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("aggregate", AGGREGATES)
def test_nested_lists_are_as_good_as_tensors(form, aggregate):
    graph, _, _, real, num_graphs = make_case(form)
    network = RecurrentRelationalNetwork(2, 4, edge_size=3, global_size=1, aggregate=aggregate)
    values = normal(len(real), 2), draw_edges(graph, 3), normal(num_graphs, 1)
    features, edges, globals_ = tf.nest.map_structure(lambda x: x.numpy().tolist(), values)
    expected = network(graph, values[0], 2, values[1], values[2])
    if form == "union" and not edges[1]:  # what is empty has no last axis in a list
        edges[1] = values[1][1]
    np.testing.assert_array_equal(network(graph, features, 2, edges, globals_)[-1], expected[-1])
    np.testing.assert_array_equal(graph.sum_nodes(features), graph.sum_nodes(values[0]))
    weights = draw_edges(graph)
    listed = tf.nest.map_structure(lambda x: x.numpy().tolist(), weights)
    if form == "union":
        listed[1] = weights[1]
    np.testing.assert_array_equal(graph.degrees(listed), graph.degrees(weights))


@pytest.mark.parametrize("aggregate", AGGREGATES)
@pytest.mark.parametrize("edge_size", [0, 2])
@pytest.mark.parametrize(
    "make",
    [
        lambda: SparseGraph(np.zeros(0, int), np.zeros(0, int), 6),
        lambda: RegularGraph(np.zeros([3, 0], int), 2),
        lambda: RegularGraph(np.zeros([3, 0], int), tf.constant(2)),
    ],
)
def test_who_has_no_neighbours_hears_nothing(make, edge_size, aggregate):
    graph = make()
    network = RecurrentRelationalNetwork(2, 4, edge_size=edge_size, aggregate=aggregate)
    edges = draw_edges(graph, edge_size) if edge_size else None
    x = normal(6, 2)
    with tf.GradientTape() as tape:
        states = network(graph, x, 2, edges)
        loss = tf.reduce_sum(states[-1] ** 2)
    gradients = tape.gradient(loss, network.trainable_variables)
    # The same as with edges that count nothing.
    full = SparseGraph([0, 1], [1, 0], 6)
    ones = tf.ones([2, edge_size]) if edge_size else None
    alone = network.segment(full, x[:6], 2, None, ones, edge_keep_probability=1e-6, uniform=_ones)
    np.testing.assert_allclose(states[-1], alone[0][-1], rtol=1e-5, atol=1e-6)
    for gradient in gradients:
        assert gradient is None or np.isfinite(tf.convert_to_tensor(gradient)).all()


def _ones(shape, step, part):
    return 0.999 * tf.ones(shape)
