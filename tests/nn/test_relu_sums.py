"""Sums of ReLUs over pairs against sums edge by edge, and for which graphs they are."""

import numpy as np
import pytest
import tensorflow as tf

from rrn import MLP, RegularGraph
from rrn.nn.messages import fused_sums
from rrn.nn.relu_sums import ReluSums
from tests.compare import assert_close, normal
from tests.nn.graph_cases import draw_edges

SMALL = [[1, 2], [0, 3], [3, 0], [2, 1]]


@pytest.mark.parametrize("given", [False, True])
def test_relu_sums_equal_message_sums_and_their_gradients(given):
    graph = RegularGraph(SMALL, 3)
    sources = [normal(12, 5, seed=1), normal(12, 5, seed=2)]
    if given:  # edges, their kernel, weights
        sources += [draw_edges(graph, 2), normal(2, 5, seed=3), draw_edges(graph, seed=4)]

    def message_sums(senders, receivers, edges=None, kernel=None, weights=None):
        edges = None if edges is None else tf.matmul(edges, kernel)
        return graph.message_sums(tf.nn.relu, senders, receivers, edges, weights)

    results = []
    for sums_of in (ReluSums(graph), message_sums):
        with tf.GradientTape() as tape:
            tape.watch(sources)
            sums = sums_of(*sources)
        gradients = tape.gradient(sums, sources, normal(12, 5, seed=5))
        results.append([sums, *gradients])
    for actual, expected in zip(*results, strict=True):
        assert_close(actual, expected)


def test_they_are_for_one_hidden_layer_small_graphs_and_few_features_without_double_edges():
    ring = [[(i - 1) % 17, (i + 1) % 17] for i in range(17)]
    small, mlp = RegularGraph(SMALL, 3), MLP([5, 5, 5])
    assert ReluSums.suits(small, mlp, edge_size=0) and ReluSums.suits(small, mlp, edge_size=4)
    assert isinstance(fused_sums(small, mlp, edge_size=4), ReluSums)
    assert not ReluSums.suits(small, mlp, edge_size=5)
    assert not ReluSums.suits(small, MLP([5, 5, 5, 5]), edge_size=0)
    assert not ReluSums.suits(RegularGraph(ring, 3), mlp, edge_size=0)
    assert not ReluSums.suits(RegularGraph([[1, 1], [0, 0]], 3), mlp, edge_size=0)


def test_bfloat16_relu_sums_are_added_in_float32():
    """256 and 15 ones make 271, in bfloat16 272; added up in bfloat16 they would stay 256."""
    senders = tf.cast([[256.0]] + 15 * [[1.0]], tf.bfloat16)
    relu_sums = ReluSums(RegularGraph(np.tile(np.arange(16), [16, 1]), 1))
    assert (relu_sums(senders, tf.zeros_like(senders)).numpy() == 272).all()
