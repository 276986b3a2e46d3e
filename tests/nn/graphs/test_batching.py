"""Batches of sparse graphs of different sizes in a pipeline."""

import numpy as np
import pytest
import tensorflow as tf

from rrn import RegularGraph, SparseGraph, batch_graphs

ROW, ROWS = tf.TensorSpec([None], tf.int32), tf.TensorSpec([None, 2])


def line(nodes):
    """A line of nodes: each hears the one before."""
    return SparseGraph(tf.range(nodes - 1), tf.range(1, nodes), nodes)


def elements():
    for nodes in (3, 1, 4, 2, 2):
        yield {
            "graph": line(nodes),
            "features": tf.fill([nodes, 2], float(nodes)),
            "edges": tf.range(nodes - 1),
            "answer": nodes,
        }


SPECS = {"graph": SparseGraph.spec(), "features": ROWS, "edges": ROW}
SPECS["answer"] = tf.TensorSpec([], tf.int32)


def test_batches_hold_the_graphs_side_by_side():
    dataset = tf.data.Dataset.from_generator(elements, output_signature=SPECS)
    dataset = dataset.apply(batch_graphs(3))
    assert dataset.element_spec["graph"].is_compatible_with(SparseGraph.spec())
    first, second = dataset
    # Lines of 3, 1 and 4 nodes: nodes 0 to 2, 3, and 4 to 7.
    graph = first["graph"]
    graph.validate()
    assert graph.senders.numpy().tolist() == [0, 1, 4, 5, 6]
    assert graph.receivers.numpy().tolist() == [1, 2, 5, 6, 7]
    assert graph.node_graph.numpy().tolist() == [0, 0, 0, 1, 2, 2, 2, 2]
    assert (graph.num_nodes, graph.num_graphs) == (8, 3)
    assert first["edges"].numpy().tolist() == [0, 1, 0, 1, 2]
    assert first["answer"].numpy().tolist() == [3, 1, 4]
    np.testing.assert_array_equal(graph.sum_nodes(first["features"])[:, 0], [9, 1, 16])
    assert second["graph"].num_graphs == 2 and second["features"].shape == [4, 2]


def test_batches_of_batches_and_of_tuples_and_of_graphs_alone():
    dataset = tf.data.Dataset.from_generator(elements, output_signature=SPECS)
    pairs = dataset.map(lambda element: (element["graph"], element["features"]))
    of_two = pairs.apply(batch_graphs(2, drop_remainder=True))
    assert [graph.num_graphs.numpy() for graph, _ in of_two] == [2, 2]
    ((graph, features),) = of_two.apply(batch_graphs(2))
    graph.validate()
    assert graph.senders.numpy().tolist() == [0, 1, 4, 5, 6, 8]
    np.testing.assert_array_equal(graph.sum_nodes(features)[:, 0], [9, 1, 16, 4])
    (alone,) = pairs.map(lambda graph, _: graph).take(2).apply(batch_graphs(2))
    assert alone.receivers.numpy().tolist() == [1, 2]


@pytest.mark.parametrize("sizes_known", [True, False])
def test_rows_of_fixed_sizes_are_joined_too(sizes_known):
    def elements():
        for _ in range(2):
            yield SparseGraph([0, 1, 2], [1, 2, 3], 4), tf.ones([4, 2]), [1] * 3, [1] * 5

    fixed = tf.TensorSpec([4, 2]), tf.TensorSpec([3], tf.int32), tf.TensorSpec([5], tf.int32)
    dataset = tf.data.Dataset.from_generator(
        elements, output_signature=(SparseGraph.spec(), *fixed)
    )
    if sizes_known:
        dataset = dataset.map(lambda _, *more: (SparseGraph([0, 1, 2], [1, 2, 3], 4), *more))
    ((graph, features, edges, answer),) = dataset.apply(batch_graphs(2))
    graph.validate()
    assert graph.senders.numpy().tolist() == [0, 1, 2, 4, 5, 6]
    assert (int(graph.num_nodes), int(graph.num_graphs)) == (8, 2)
    assert features.shape == [8, 2] and answer.shape == [2, 5]
    assert edges.shape == ([6] if sizes_known else [2, 3])


def test_a_wrong_batch_size_and_graphs_of_other_forms_are_named():
    with pytest.raises(ValueError, match="batch_graphs: batch_size must be an integer of at"):
        batch_graphs(0)
    dataset = tf.data.Dataset.from_tensors((RegularGraph([[1], [0]], 1), 1))
    with pytest.raises(ValueError, match="graphs must be SparseGraphs, got a RegularGraph"):
        dataset.apply(batch_graphs(2))
