"""The message function against the plain formulation of the equations."""

import pytest
import tensorflow as tf

from rrn import MessageFunction, SparseGraph
from rrn.nn import plain
from tests.compare import assert_same, normal, randomize
from tests.nn.graph_cases import FORMS, by_edge, draw_edges, make_case, plain_edges

NODE, EDGE, GLOBAL, OUTPUT = 4, 3, 2, 5


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("mean", [False, True])
@pytest.mark.parametrize(
    "hidden_sizes, options",
    [
        ([6, 7, 8], ""),
        ([6], "edges"),
        ([6, 7, 8], "next weights"),
        ([6], "edges globals next weights"),
    ],
)
def test_the_message_function_equals_the_plain_formulation(form, hidden_sizes, options, mean):
    graph, pairs, node_graph, real, num_graphs = make_case(form)
    edges = draw_edges(graph, EDGE) if "edges" in options else None
    globals_ = normal(num_graphs, GLOBAL, seed=1) if "globals" in options else None
    next_kernel = normal(OUTPUT, 3, seed=2) if "next" in options else None
    weights = draw_edges(graph, seed=3) if "weights" in options else None
    nodes = normal(len(real), NODE, seed=4)
    output_size = OUTPUT if next_kernel is None else 3
    message_fn = MessageFunction(
        NODE,
        hidden_sizes,
        OUTPUT,
        edge_size=0 if edges is None else EDGE,
        global_size=0 if globals_ is None else GLOBAL,
        mean=mean,
    )
    randomize(message_fn)
    senders, receivers = zip(*pairs, strict=True)

    def run():
        prepared = message_fn.prepare(graph, edges, globals_, next_kernel)
        return message_fn(graph, nodes, prepared, weights)

    def as_written():
        features = plain_edges(graph, pairs, node_graph, edges, globals_)
        messages = plain.messages(message_fn.mlp, nodes, senders, receivers, features)
        edge_weights = tf.ones([len(pairs)]) if weights is None else by_edge(graph, weights)
        sums = plain.sum_messages(messages * edge_weights[:, None], receivers, len(real))
        if mean:
            totals = tf.math.unsorted_segment_sum(edge_weights, receivers, len(real))
            sums = tf.math.divide_no_nan(sums, totals[:, None])
        return sums if next_kernel is None else tf.matmul(sums, next_kernel)

    # Of a mean, the gradient to the weight of a single message is next to nothing.
    given = edges, globals_, next_kernel, None if mean else weights
    given = [x for x in given if x is not None]
    given = [x for x in tf.nest.flatten(given) if tf.size(x) > 0]
    sources = [nodes, *given, *message_fn.variables]
    assert_same(run, as_written, sources, real, output_size)


def test_wrong_weights_and_no_hidden_layers_are_named():
    graph, message_fn = SparseGraph([0, 1, 1], [1, 1, 0], 2), MessageFunction(NODE, [6], OUTPUT)
    with pytest.raises(ValueError, match=r"edge_weights must have .* = \(3,\), got \(1,\)"):
        message_fn(graph, tf.ones([2, NODE]), message_fn.prepare(graph), tf.ones([1]))
    with pytest.raises(ValueError, match="hidden_sizes must have at least one size, got none"):
        MessageFunction(3, [], 4)
