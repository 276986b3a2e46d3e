"""Graphs as values: arguments of traced functions, elements of pipelines, parts of SavedModels."""

import numpy as np
import pytest
import tensorflow as tf

from rrn import MLP, RecurrentRelationalNetwork, RegularGraph, SparseGraph
from rrn.nn.edge_layers import EdgeLayerSums
from rrn.nn.messages import fused_sums
from rrn.nn.relu_sums import ReluSums
from tests.compare import assert_close, randomize
from tests.nn.graph_cases import FORMS, draw_edges, make_case


def case_of(form):
    """(graph, values of its nodes and its edges)."""
    graph, _, _, real, _ = make_case(form)
    random = np.random.default_rng(0)
    nodes = tf.constant(random.normal(size=[len(real), 3]).astype(np.float32))
    return graph, nodes, draw_edges(graph, 3)


@pytest.mark.parametrize("form", FORMS)
def test_a_graph_is_an_argument_and_a_result_of_a_traced_function(form):
    graph, nodes, edges = case_of(form)

    @tf.function
    def sums(graph, nodes, edges):
        return graph, graph.message_sums(tf.nn.relu, nodes, -nodes, edges)

    same, actual = sums(graph, nodes, edges)
    assert type(same) is type(graph)
    assert_close(actual, graph.message_sums(tf.nn.relu, nodes, -nodes, edges))
    assert_close(same.degrees(), graph.degrees())


@pytest.mark.parametrize("form", FORMS)
def test_a_graph_is_an_element_of_a_pipeline(form):
    graph, nodes, _ = case_of(form)
    elements = tf.data.Dataset.from_tensors({"graph": graph, "nodes": nodes}).repeat(2).prefetch(1)
    degrees = elements.map(lambda element: element["graph"].degrees())
    for element, of_graph in zip(elements, degrees, strict=True):
        assert_close(element["graph"].sum_nodes(element["nodes"]), graph.sum_nodes(nodes))
        assert_close(of_graph, graph.degrees())


def test_indices_of_any_integers_are_int32():
    array, number = np.array([0, 1]), np.int64(2)
    graph = SparseGraph(
        array, tf.constant(array, tf.int64), number, [0, 0], tf.constant(1, tf.int64)
    )
    assert SparseGraph.spec().is_compatible_with(graph)


def test_neighbours_are_known_within_a_function_that_takes_the_graph():
    """So the sums that need them go on being used; and other neighbours are another type."""
    ring, found = [[1, 3], [2, 0], [3, 1], [0, 2]], []
    one, more = MLP([3, 6, 6]), MLP([3, 6, 6, 6], tf.bfloat16)

    @tf.function(autograph=False)
    def take(graph):
        found.append([fused_sums(graph, mlp, edge_size=0) for mlp in (one, more)])
        assert tf.get_static_value(graph.neighbours) is None
        return tf.size(graph.neighbours)

    take(RegularGraph(ring, 2))
    take(RegularGraph(ring, 2))
    take(RegularGraph(tf.constant(ring[::-1]), 2))
    take(RegularGraph(ring, tf.constant(2)))
    take(RegularGraph(ring, tf.constant(3)))
    types = [[type(sums) for sums in pair] for pair in found]
    nothing = type(None)
    assert types == [[ReluSums, EdgeLayerSums]] * 2 + [[ReluSums, nothing]]


class Saved(tf.Module):
    """Functions of graphs: a network's of sparse graphs, sums of nodes of the others."""

    def __init__(self, graphs):
        super().__init__()
        self.network = RecurrentRelationalNetwork(3, 6, num_hidden_layers=1)
        randomize(self.network)
        features = tf.TensorSpec([None, 3], name="features")
        self.totals = {
            form: tf.function(
                lambda graph, nodes: graph.sum_nodes(nodes),
                input_signature=[tf.type_spec_from_value(graph), features],
            )
            for form, graph in graphs.items()
        }
        self.states = tf.function(
            lambda graph, features: {"hidden": self.network(graph, features, 1)[-1]},
            input_signature=[SparseGraph.spec(), features],
            autograph=False,
        )


def test_saved_models_take_graphs(tmp_path):
    module = Saved({form: make_case(form)[0] for form in FORMS})
    tf.saved_model.save(module, tmp_path / "saved", signatures=module.states)
    loaded = tf.saved_model.load(tmp_path / "saved")
    for form in FORMS:
        graph, nodes, _ = case_of(form)
        assert_close(loaded.totals[form](graph, nodes), graph.sum_nodes(nodes))

    graph, features = SparseGraph([0, 1], [1, 2], 3), tf.ones([3, 3])
    expected = module.states(graph, features)["hidden"]
    assert_close(loaded.states(graph, features)["hidden"], expected)
