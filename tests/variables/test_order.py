"""Gradients have the same bits each time, for graphs of every form whose sizes vary."""

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.eager import context

from rrn import (
    FullyConnectedGraph,
    GraphUnion,
    RecurrentRelationalNetwork,
    RegularGraph,
    SparseGraph,
)
from rrn.distribute import average_gradients, tower_gradients
from rrn.variables.order import add_in_order
from tests.compare import randomize
from tests.helpers import CPUS
from tests.nn.graph_cases import FORMS

NODE, EDGE, GLOBAL, STEPS, GRAPHS = 4, 3, 2, 4, 8
NEIGHBOURS = np.random.default_rng(0).integers(0, 9, [9, 4])


def draw(form, seed):
    """A batch of graphs of random sizes: what they are made of, and values of their parts."""
    random = np.random.default_rng(seed)
    batch, shapes, num_nodes, num_graphs = {}, [], 0, 0
    if form in ("sparse", "union"):
        nodes, edges = random.integers(20, 300), random.integers(1, 900)
        for name in ("senders", "receivers"):
            batch[name] = random.integers(0, nodes, edges)
        batch["node_graph"] = np.sort(random.integers(0, GRAPHS, nodes))
        shapes.append([edges])
        num_nodes, num_graphs = num_nodes + nodes, num_graphs + GRAPHS
    if form in ("fully_connected", "union"):
        size = graphs, nodes = random.integers(3, 12, 2)
        batch["mask"] = (random.random(size) < 0.8).astype(np.float32)
        shapes.append([graphs, nodes, nodes])
        num_nodes, num_graphs = num_nodes + graphs * nodes, num_graphs + graphs
    if form == "regular":
        num_graphs = random.integers(3, 20)
        num_nodes = num_graphs * len(NEIGHBOURS)
        shapes.append([num_graphs, *NEIGHBOURS.shape])
    for i, shape in enumerate(shapes):
        batch[f"edges{i}"] = random.normal(size=[*shape, EDGE])
    batch["nodes"] = random.normal(size=[num_nodes, NODE])
    batch["globals"] = random.normal(size=[num_graphs, GLOBAL])
    return {n: tf.constant(v, tf.int32 if v.dtype == int else tf.float32) for n, v in batch.items()}


def graph_of(form, batch):
    """The graph, and the values of its edges."""
    if form == "sparse":
        graph = SparseGraph(
            batch["senders"],
            batch["receivers"],
            tf.size(batch["node_graph"]),
            batch["node_graph"],
            GRAPHS,
        )
        return graph, batch["edges0"]
    if form == "fully_connected":
        return FullyConnectedGraph(batch["mask"]), batch["edges0"]
    if form == "regular":
        return RegularGraph(NEIGHBOURS, tf.shape(batch["globals"])[0]), batch["edges0"]
    sparse, full = (graph_of(part, batch)[0] for part in ("sparse", "fully_connected"))
    nodes = tf.stack([sparse.num_nodes, tf.size(full.mask)])
    graphs = tf.stack([GRAPHS, tf.shape(full.mask)[0]])
    return GraphUnion([sparse, full], nodes, graphs), [batch["edges0"], batch["edges1"]]


def make_step(form, aggregate):
    """A traced function of two towers' batches of any sizes: all gradients and their averages."""
    network = RecurrentRelationalNetwork(
        NODE, 32, num_hidden_layers=2, edge_size=EDGE, global_size=GLOBAL, aggregate=aggregate
    )
    randomize(network)
    variables = network.trainable_variables

    def loss(_, batch):
        graph, edges = graph_of(form, batch)
        hidden = network(graph, batch["nodes"], STEPS, edges=edges, globals_=batch["globals"])
        return [tf.add_n([tf.reduce_mean(h**2) for h in hidden])], {}

    one, other = draw(form, 0), draw(form, 1)  # of which no size is the same by chance
    spec = {
        n: tf.TensorSpec(one[n].shape.most_specific_compatible_shape(other[n].shape), one[n].dtype)
        for n in one
    }

    @tf.function(input_signature=[spec, spec], autograph=False)
    def step(*batches):
        towers = [
            tower_gradients(device, lambda _: {}, loss, batch, [variables]).gradients[0]
            for device, batch in zip(CPUS, batches, strict=False)
        ]
        return towers, average_gradients(towers, [1.0, 1.0])

    return step


@pytest.mark.parametrize("form", FORMS)
def test_no_kernel_adds_more_than_two_terms(form):
    """Neither as it is traced nor as TensorFlow's optimizer leaves it."""
    step = make_step(form, "sum")
    context.enable_graph_collection()
    try:
        step(draw(form, 0), draw(form, 1))
    finally:
        graphs = context.context().export_run_metadata().function_graphs
        context.disable_graph_collection()
    sums = [
        node
        for graph in graphs
        for node in graph.post_optimization_graph.node
        if node.op == "AddN" and node.attr["N"].i > 2
    ]
    assert graphs and not sums


@pytest.mark.slow
@pytest.mark.parametrize("form, aggregate", [("sparse", "sum"), ("union", "softmax")])
def test_gradients_have_the_same_bits_each_time(form, aggregate):
    """Of one batch again and again, with batches of other sizes between."""
    step, batches = make_step(form, aggregate), [draw(form, seed) for seed in range(4)]
    first = {}
    for repeat in range(200):
        pair = repeat % 4, (repeat + 1) % 4
        gradients = [g.numpy() for g in tf.nest.flatten(step(*(batches[i] for i in pair)))]
        for before, now in zip(first.setdefault(pair, gradients), gradients, strict=True):
            np.testing.assert_array_equal(before, now, strict=True)


def test_terms_are_added_one_after_the_other():
    terms = np.float32([1e8, 1.0, -1e8, 3.0])
    assert add_in_order(list(terms)) == ((terms[0] + terms[1]) + terms[2]) + terms[3] == 3.0
    assert add_in_order([terms[1]]) == 1.0
    rows = tf.IndexedSlices(tf.ones([1, 2]), tf.constant([1]), tf.constant([3, 2]))
    total = add_in_order([tf.ones([3, 2]), rows, rows])
    np.testing.assert_array_equal(total, [[1, 1], [3, 3], [1, 1]])
