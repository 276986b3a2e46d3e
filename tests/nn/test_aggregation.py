"""The general path of messages: against a loop over edges in NumPy, and against the fast way."""

import numpy as np
import pytest
import tensorflow as tf

from rrn import Aggregation, RecurrentRelationalNetwork, SparseGraph
from rrn.nn.aggregation import AGGREGATES, EdgeMessages
from tests.compare import assert_close, assert_same, normal, randomize
from tests.nn.graph_cases import FORMS, by_edge, draw_edges, make_case, plain_edges
from tests.nn.own_parts import Gated

NODE, EDGE, GLOBAL, OUTPUT = 4, 3, 2, 6
HEADS = {"sum": 0, "mean": 0, "max": 0, "softmax": 2}


def node_by_node(aggregate, function, nodes, pairs, weights, others):
    """What every node receives, with TensorFlow's own gradients; edges of weight 0 are left out.

    `others` is [e_ij, g] of every edge, or None.
    """
    rows = []
    for j in range(len(nodes)):
        edges = [k for k, (_, receiver) in enumerate(pairs) if receiver == j and weights[k] > 0]
        if not edges:
            rows.append(tf.zeros([OUTPUT]))
            continue
        w = tf.gather(weights, edges)[:, None]
        senders = tf.gather(nodes, [pairs[k][0] for k in edges])
        receivers = tf.repeat(nodes[j : j + 1], len(edges), axis=0)
        values = None if others is None else tf.gather(others, edges)
        result = function(senders, receivers, values, None)
        if aggregate == "softmax":
            m, scores = result
            shares = tf.nn.softmax(scores + tf.math.log(w), axis=0)
            rows.append(tf.reduce_sum(m * tf.repeat(shares, OUTPUT // 2, axis=1), axis=0))
        elif aggregate == "max":
            rows.append(tf.reduce_max(result, axis=0))
        else:
            total = tf.reduce_sum(w * result, axis=0)
            rows.append(total / (tf.reduce_sum(w) if aggregate == "mean" else 1.0))
    return tf.stack(rows)


@pytest.mark.parametrize(
    "form, aggregate, everything",
    [
        (form, aggregate, (i + j) % 2 == 1)
        for i, form in enumerate(FORMS)
        for j, aggregate in enumerate(AGGREGATES)
    ],
)
def test_messages_and_gradients_equal_those_node_by_node(form, aggregate, everything):
    graph, pairs, node_graph, real, num_graphs = make_case(form)
    nodes, weights, edges, globals_ = normal(len(real), NODE), draw_edges(graph, seed=3), None, None
    sizes = (EDGE, GLOBAL) if everything else (0, 0)
    if everything:  # and about a third of the weights are 0
        edges, globals_ = draw_edges(graph, EDGE), normal(num_graphs, GLOBAL, seed=1)
        weights = tf.nest.map_structure(lambda w: tf.where(w < 0.7, 0.0, w), weights)
        assert 0 < np.count_nonzero(by_edge(graph, weights)) < len(pairs)
    function = Gated(NODE, OUTPUT, sum(sizes), HEADS[aggregate])
    messages = EdgeMessages(function, OUTPUT, aggregate, *sizes)
    randomize(messages)
    given = [x for x in (edges, globals_) if x is not None]
    if aggregate != "max" and not everything:  # to a maximum no weight but 0 matters
        given.append(weights)
    given = [x for x in tf.nest.flatten(given) if tf.size(x) > 0]

    def as_written():
        others = plain_edges(graph, pairs, node_graph, edges, globals_)
        return node_by_node(aggregate, function, nodes, pairs, by_edge(graph, weights), others)

    def run():
        result = messages(graph, nodes, messages.prepare(graph, edges, globals_), weights)
        assert result.shape == (len(real), OUTPUT) and result.dtype == tf.float32
        return result

    assert_same(run, as_written, [nodes, *given, *messages.variables], real, OUTPUT)
    if form != "regular":  # there are nodes without senders, or padding
        alone = sorted(set(range(len(real))) - {receiver for _, receiver in pairs})
        assert alone and not run().numpy()[alone].any()


class Scored(tf.Module):
    """The sender's state is the message; where a score is asked for, it is the edge's feature."""

    def __init__(self, scored):
        super().__init__()
        self.scored = scored

    def __call__(self, senders, receivers, edges, globals_):
        return (senders, edges) if self.scored else senders


@pytest.mark.parametrize("scores", [[80.0, 90.0], [-1e4, -1e4 + 10], [1e38, 1e38]])
def test_attention_holds_for_large_scores(scores):
    graph, nodes = SparseGraph([0, 1], [2, 2], 3), tf.constant([[1.0], [5.0], [9.0]])
    messages = EdgeMessages(Scored(True), 1, "softmax", edge_size=1)
    edges = tf.constant(scores)[:, None]
    with tf.GradientTape() as tape:
        tape.watch([nodes, edges])
        heard = messages(graph, nodes, messages.prepare(graph, edges))
    share = 1 / (1 + np.exp(scores[0] - scores[1]))
    assert_close(heard[2], [1 - share + 5 * share])
    assert all(
        np.isfinite(tf.convert_to_tensor(g)).all() for g in tape.gradient(heard, [nodes, edges])
    )


def test_a_network_without_a_function_of_ones_own_has_the_mlp_whatever_the_aggregate():
    found = []
    for aggregate in AGGREGATES:
        tf.random.set_seed(0)
        network = RecurrentRelationalNetwork(3, 6, edge_size=EDGE, aggregate=aggregate)
        found.append({v.name: tuple(v.shape) for v in network.variables})
    for aggregate, names in zip(AGGREGATES, found, strict=True):
        scores = aggregate == "softmax"
        last = {
            "message_fn/linear_3/w:0": (6, 6 + scores),
            "message_fn/linear_3/b:0": (6 + scores,),
        }
        assert names == found[0] | last


class Types(tf.Module):
    """Gives ones, and keeps the types with which it is called."""

    def __call__(self, *parts):
        self.types = [part.dtype for part in parts]
        return tf.ones_like(parts[0])


def test_the_function_runs_in_bfloat16_and_messages_are_added_in_float32():
    # 600 ones: adding up in bfloat16, 256 + 1 is 256.
    graph, function = SparseGraph(tf.range(600), tf.zeros([600], tf.int32), 600), Types()
    messages = EdgeMessages(function, 1, "sum", 1, 1, tf.bfloat16)
    prepared = messages.prepare(graph, tf.ones([600, 1]), tf.ones([1, 1]))
    assert float(messages(graph, tf.ones([600, 1]), prepared)[0, 0]) == 600
    assert function.types == [tf.bfloat16] * 4


def test_gradients_to_states_add_up_in_float32_under_bfloat16():
    graph = SparseGraph(tf.zeros([600], tf.int32), tf.range(600), 600)
    messages = EdgeMessages(Scored(False), 1, "sum", compute_dtype="bfloat16")
    nodes = tf.ones([600, 1])
    with tf.GradientTape() as tape:
        tape.watch(nodes)
        heard = messages(graph, nodes, messages.prepare(graph))
    assert float(tf.convert_to_tensor(tape.gradient(heard, nodes))[0, 0]) == 600


class Returns(tf.Module):
    def __init__(self, *results):
        super().__init__()
        self.results = results

    def __call__(self, *_):
        results = tuple(r if r is None else tf.ones(r) for r in self.results)
        return results if len(results) > 1 else results[0]


def messages_of(aggregate, *results):
    graph = SparseGraph([0, 1, 1], [1, 1, 0], 2)
    messages = EdgeMessages(Returns(*results), 6, aggregate)
    return messages(graph, tf.ones([2, 4]), messages.prepare(graph))


class Mean(Aggregation):
    """An aggregation of one's own: the mean over all other nodes, whatever the graph."""

    def __call__(self, graph, nodes, prepared, edge_weights=None):
        others = tf.reduce_sum(nodes, axis=0, keepdims=True) - nodes
        return others / tf.cast(tf.shape(nodes)[0] - 1, tf.float32)


def network_of(**options):
    return RecurrentRelationalNetwork(3, 6, **options)


def a_step_of(message_fn, *edges):
    return network_of(message_fn=message_fn)(
        SparseGraph([0, 1, 1], [1, 1, 0], 2), tf.ones([2, 3]), 1, *edges
    )


def test_an_aggregation_of_ones_own_takes_edges_and_gives_messages():
    assert a_step_of(Mean(6, edge_size=2), tf.ones([3, 2]))[-1].shape == (2, 6)


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: messages_of("sum", (3, 5)), r"Returns returns as messages .*got \(3, 5\)"),
        (lambda: messages_of("sum", (1, 6)), r"messages must .* = \(3, 6\), got \(1, 6\)"),
        (lambda: messages_of("mean", None), "as messages must be a tensor .*, got None"),
        (lambda: messages_of("softmax", (3, 6), (3,)), r"as scores must .*heads\] = \(3, None\)"),
        (lambda: messages_of("softmax", (3, 6), (3, 4)), r"divides output_size 6, got \(3, 4\)"),
        (lambda: network_of(message_fn=lambda *_: None), "must be a tf.Module with __call__"),
        (lambda: network_of(message_fn=tf.Module()), "must be a tf.Module with __call__"),
        (lambda: network_of(message_fn=Gated), "must be a tf.Module with __call__.*, got <class"),
        (lambda: network_of(aggregate="median"), "must be one of sum, mean, max, .*got 'median'"),
        (lambda: network_of(message_fn=Mean(6), aggregate="max"), "Mean, which aggregates by"),
        (lambda: network_of(message_fn=Mean(6), edge_size=3), "for edge_size=0 .*edge_size=3"),
        (lambda: a_step_of(Mean(6, edge_size=2)), "Mean was made for edge_size=2 .* edges=None"),
        (lambda: a_step_of(Mean(6, edge_size=2), tf.ones([3, 1])), r"Mean: edges must .*\(3, 1\)"),
    ],
)
def test_wrong_messages_and_message_functions_are_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()
