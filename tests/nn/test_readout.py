"""Readouts of sums, their loss and accuracy, against NumPy and the plain formulation."""

import numpy as np
import pytest
import tensorflow as tf

from rrn.nn import plain
from rrn.nn.graphs import RegularGraph
from rrn.nn.layers import MLP
from rrn.nn.readout import accuracy_metrics, answer_losses, sum_readout
from rrn.variables.random import ExampleRandom
from tests.compare import assert_close, randomize

GRAPHS, NODES, HIDDEN, STEPS, CLASSES = 40, 3, 4, 2, 5


@pytest.fixture
def readout():
    mlp = MLP([HIDDEN, 6, 7, CLASSES], name="readout")
    randomize(mlp)
    return mlp


@pytest.fixture
def hidden():
    rng = np.random.default_rng(0)
    shape = [STEPS, GRAPHS * NODES, HIDDEN]
    return tf.unstack(tf.constant(rng.normal(size=shape), tf.float32))


def graph():
    return RegularGraph(np.array([[1], [2], [0]]), GRAPHS)


def test_dropout_drops_the_layers_it_is_given_for_and_only_with_draws(readout, hidden):
    random = ExampleRandom([1, 2], tf.range(GRAPHS), GRAPHS)
    kept_all = sum_readout(readout, graph(), hidden)
    np.testing.assert_array_equal(sum_readout(readout, graph(), hidden, [0.5, 0.5]), kept_all)
    undropped = sum_readout(readout, graph(), hidden, [0.0, 0.0], random)
    np.testing.assert_array_equal(undropped, kept_all)
    # With a linear layer of ones after the second hidden layer, logits are sums of what is kept.
    last = readout.layers[-1]
    last.w.assign(tf.ones_like(last.w))
    last.b.assign(tf.zeros_like(last.b))
    kept = sum_readout(readout, graph(), hidden, [0.0, 0.5], random).numpy()
    whole = sum_readout(readout, graph(), hidden).numpy()
    assert (kept <= 2 * whole + 1e-4).all() and (kept != whole).any()
    assert abs(kept.sum() / whole.sum() - 1) < 0.2
    steps_differ = kept[:, 0] / np.maximum(whole[:, 0], 1e-6), kept[:, 1] / whole[:, 1].clip(1e-6)
    assert (np.abs(steps_differ[0] - steps_differ[1]) > 0.1).any()


@pytest.mark.parametrize("types", [("float32", "int32"), ("bfloat16", "int64")])
def test_losses_and_outputs_by_hand(types):
    # Step 1: the classes are equally likely; step 2: the right one has e / (e + 1).
    logits = tf.constant([[[0.0, 0.0], [0.0, 1.0]], [[0.0, 0.0], [1.0, 0.0]]])
    logits, answers = tf.cast(logits, types[0]), tf.constant([1, 0], types[1])
    losses, outputs = answer_losses(logits, answers)
    by_step = [np.log(2), np.log1p(np.exp(-1))]
    np.testing.assert_allclose(outputs["loss"], [by_step, by_step], rtol=1e-6)
    np.testing.assert_allclose(losses["loss"], [np.mean(by_step)] * 2, rtol=1e-6)
    np.testing.assert_array_equal(outputs["predicted"], [[0, 1], [0, 0]])
    np.testing.assert_array_equal(outputs["correct"], [[0, 1], [1, 1]])


def test_logits_and_loss_are_those_of_equations_4_and_5(readout, hidden):
    logits, answers = sum_readout(readout, graph(), hidden), tf.range(GRAPHS) % CLASSES
    assert logits.shape == (GRAPHS, STEPS, CLASSES)
    node_graph = np.repeat(range(GRAPHS), NODES)
    expected = plain.graph_outputs(readout, hidden, node_graph, GRAPHS)
    assert_close(logits, tf.stack(expected, axis=1))
    losses, _ = answer_losses(logits, answers)
    assert_close(tf.reduce_mean(losses["loss"]), plain.loss(expected, answers))


CORRECT = np.array([[0, 1], [1, 1], [0, 0], [1, 0]], np.float32)
KINDS = np.array([2, 0, 2, 0])


def test_metrics_are_sums_and_counts_by_step_and_kind():
    metrics = accuracy_metrics(tf.constant(CORRECT), tf.constant(KINDS), 4, "jumps")
    expected = {
        "accuracy": (2, 4),
        "accuracy_by_step": ([2, 2], 4),
        "accuracy_by_jumps": ([1, 0, 1, 0], [2, 0, 2, 0]),
    }
    assert metrics.keys() == expected.keys()
    for name, pair in expected.items():
        for actual, value in zip(metrics[name], pair, strict=True):
            np.testing.assert_array_equal(actual, value)
