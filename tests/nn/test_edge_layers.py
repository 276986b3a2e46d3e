"""ReLU layers on the edges of regular graphs against their equations, edge by edge."""

import functools
import itertools

import numpy as np
import pytest
import tensorflow as tf

from rrn import MLP, MessageFunction, RegularGraph
from rrn.compiling import xla
from rrn.nn import edge_layers, plain
from rrn.nn.edge_layers import EdgeLayerSums
from rrn.nn.messages import fused_sums
from rrn.tasks.sudoku.network import cell_neighbours
from tests.compare import assert_close, randomize
from tests.helpers import CPUS

RING = [[4, 1], [0, 2], [1, 3], [2, 4], [3, 0]]  # two edges to every node, two from every node
SIZES = {1: [4, 6], 2: [4, 6, 3], 3: [4, 6, 3, 5]}


def draw(*shape, seed=0, dtype=tf.float32, whole=False):
    """Normal values, or -1, 0 and 1: their products are exact in bfloat16, too."""
    random = np.random.default_rng(seed)
    values = random.integers(-1, 2, shape) if whole else random.normal(size=shape)
    return tf.cast(tf.constant(values, tf.float32), dtype)


def draw_case(batch, num_layers, dtype=tf.float32, neighbours=RING, whole=False):
    """A graph, senders, receivers, weights, and the gradient of the sums."""
    graph = RegularGraph(neighbours, batch)
    nodes, sizes = batch * len(neighbours), SIZES[num_layers]
    weights = [
        (draw(*shape, seed=i, whole=whole), draw(shape[1], seed=10 + i, whole=whole))
        for i, shape in enumerate(itertools.pairwise(sizes))
    ]
    senders, receivers, dy = (
        draw(nodes, size, seed=20 + i, dtype=dtype, whole=whole)
        for i, size in enumerate([sizes[0], sizes[0], sizes[-1]])
    )
    return graph, senders, receivers, weights, dy


def value_and_gradients(run, senders, receivers, weights, dy):
    sources = [senders, receivers, *tf.nest.flatten(weights)]
    with tf.GradientTape() as tape:
        tape.watch(sources)
        sums = run(senders, receivers, weights)
    return [sums, *tape.gradient(sums, sources, dy)]


def by_edges(graph, senders, receivers, weights):
    """The equations in float64."""
    from_nodes, to_nodes = graph.edge_list()
    e = tf.gather(tf.cast(senders, tf.float64), from_nodes)
    e = tf.nn.relu(e + tf.gather(tf.cast(receivers, tf.float64), to_nodes))
    for kernel, bias in weights:
        e = tf.nn.relu(tf.matmul(e, tf.cast(kernel, tf.float64)) + tf.cast(bias, tf.float64))
    return tf.math.unsorted_segment_sum(e, to_nodes, len(senders))


def assert_equal_to_the_equations(case, tolerance, compiled=False):
    graph, senders, receivers, weights, dy = case

    def run(*args):
        sums = functools.partial(edge_layers.message_sums, graph)
        return xla(sums)(*args) if compiled else sums(*args)

    def as_written(*args):
        return tf.cast(by_edges(graph, *args), senders.dtype)

    actual = value_and_gradients(run, senders, receivers, weights, dy)
    expected = value_and_gradients(as_written, senders, receivers, weights, dy)
    for a, e in zip(actual, expected, strict=True):
        assert a.dtype == e.dtype
        assert_close(a, e, tolerance)


@pytest.mark.parametrize(
    "num_layers, batch, block_edges", [(1, 7, 2**12), (2, 7, 25), (3, 7, 25), (2, 67, 1)]
)
@pytest.mark.parametrize("dtype, tolerance", [(tf.float32, 1e-6), (tf.bfloat16, 2**-8)])
def test_sums_and_gradients_equal_the_equations(
    num_layers, batch, block_edges, dtype, tolerance, monkeypatch
):
    monkeypatch.setattr(edge_layers, "BLOCK_EDGES", block_edges)
    assert_equal_to_the_equations(draw_case(batch, num_layers, dtype, whole=True), tolerance)


@pytest.mark.parametrize(
    "num_layers, dtype, tolerance", [(1, tf.float32, 1e-6), (3, tf.bfloat16, 2**-8)]
)
def test_compiled_sums_and_gradients_equal_the_equations(num_layers, dtype, tolerance):
    assert_equal_to_the_equations(draw_case(7, num_layers, dtype, whole=True), tolerance, True)


@pytest.mark.parametrize("compiled", [False, True])
def test_sudokus_sums_and_gradients_equal_the_equations(compiled):
    case = draw_case(5, 2, neighbours=cell_neighbours(), whole=True)
    assert_equal_to_the_equations(case, 1e-6, compiled)


def test_bfloat16_sums_add_up_in_float32():
    # 600 neighbours that send 1: adding up in bfloat16, 256 + 1 is 256.
    neighbours = [list(range(600))] * 600
    graph, weights = RegularGraph(neighbours, 1), [(tf.ones([1, 1]), tf.zeros([1]))]
    ones, zeros = (tf.cast(tf.fill([600, 1], x), tf.bfloat16) for x in (1.0, 0.0))

    def run(*args):
        return edge_layers.message_sums(graph, *args)

    results = value_and_gradients(run, ones, zeros, weights, ones)
    expected = [600.0, 600, 600, 360_000, 360_000]
    for result, value in zip(results, expected, strict=True):
        assert_close(result, tf.fill(result.shape, value), 2**-8)


def test_steps_share_one_function_in_a_graph():
    graph, senders, receivers, weights, _ = draw_case(3, 2)

    @tf.function(autograph=False)
    def run():
        return [
            edge_layers.message_sums(graph, k * senders, receivers, weights) for k in (1.0, 2.0)
        ]

    functions = run.get_concrete_function().graph.as_graph_def().library.function
    shared = [f for f in functions if f.signature.name.startswith("__inference__forward_")]
    assert len(shared) == 1 and "_noinline" in shared[0].attr


@pytest.mark.parametrize("device", [None, CPUS[1]])
def test_a_compiled_function_and_a_persistent_tape_give_the_same(device):
    graph, senders, receivers, weights, dy = draw_case(3, 2)

    @tf.function(autograph=False)
    def run():
        sources = [senders, receivers, *tf.nest.flatten(weights)]
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(sources)
            sums = edge_layers.message_sums(graph, senders, receivers, weights)
        return [tape.gradient(sums, sources, factor * dy) for factor in (1.0, 2.0)]

    with tf.device(device):
        once, twice = run()
    expected = value_and_gradients(
        lambda *args: edge_layers.message_sums(graph, *args), senders, receivers, weights, dy
    )
    for a, b, e in zip(once, twice, expected[1:], strict=True):
        assert_close(a, e, 1e-6)
        assert_close(b, 2.0 * e, 1e-6)


def test_a_gradient_of_the_gradient_is_refused():
    graph, senders, receivers, weights, _ = draw_case(1, 1)
    with tf.GradientTape() as outer:
        outer.watch(senders)
        with tf.GradientTape() as inner:
            inner.watch(senders)
            loss = tf.reduce_sum(edge_layers.message_sums(graph, senders, receivers, weights) ** 2)
        gradient = inner.gradient(loss, senders)
    with pytest.raises(LookupError, match="no gradient of its gradient"):
        outer.gradient(gradient, senders)


def test_it_suits_layers_in_bfloat16_and_graphs_that_are_known_and_edges_without_features():
    mlp = MLP([2, 2, 2, 2], tf.bfloat16)
    graph = RegularGraph(RING, 2)
    assert EdgeLayerSums.suits(graph, mlp, edge_size=0)
    assert not EdgeLayerSums.suits(graph, mlp, edge_size=1)
    assert not EdgeLayerSums.suits(graph, MLP([2, 2, 2], tf.bfloat16), edge_size=0)
    assert not EdgeLayerSums.suits(graph, MLP([2, 2, 2, 2]), edge_size=0)
    other = RegularGraph([[1, 2], [0, 1], [3, 0], [2, 2]], 2)
    assert not EdgeLayerSums.suits(other, mlp, edge_size=0)

    @tf.function(autograph=False, input_signature=[tf.TensorSpec([], tf.int32)])
    def of_unknown_batch(batch):
        for of_unknown in (RegularGraph(RING, batch), RegularGraph(tf.reshape(batch, [1, 1]), 2)):
            assert not EdgeLayerSums.suits(of_unknown, mlp, edge_size=0)
        return batch

    of_unknown_batch(2)


@pytest.mark.parametrize("hidden_sizes", [[6, 7], [6, 7, 8]])
@pytest.mark.parametrize("global_size", [0, 2])
def test_the_message_function_uses_them(hidden_sizes, global_size, monkeypatch):
    monkeypatch.setattr(RegularGraph, "message_sums", None)  # there is a faster way
    graph = RegularGraph(RING, 3)
    nodes, globals_ = draw(15, 4), draw(3, global_size) if global_size else None
    message_fn = MessageFunction(4, hidden_sizes, 5, 0, global_size, tf.bfloat16)
    randomize(message_fn)
    senders, receivers = graph.edge_list()
    features = None if globals_ is None else tf.gather(globals_, receivers // len(RING))
    values = []
    for run in (
        lambda: message_fn(graph, nodes, message_fn.prepare(graph, globals_=globals_)),
        lambda: plain.sum_messages(
            plain.messages(message_fn.mlp, nodes, senders, receivers, features), receivers, 15
        ),
    ):
        with tf.GradientTape() as tape:
            tape.watch(nodes)
            sums = tf.cast(run(), tf.float32)
        sources = [nodes, *message_fn.variables]
        values.append([sums, *tape.gradient(sums, sources, draw(15, 5, seed=1))])
    for actual, expected in zip(*values, strict=True):
        assert_close(actual, expected, 0.05)


def test_weighted_messages_are_those_of_message_sums():
    graph, mlp = RegularGraph(RING, 3), MLP([4, 6, 7, 5], tf.bfloat16)
    assert isinstance(fused_sums(graph, mlp, edge_size=0), EdgeLayerSums)
    senders, receivers = (draw(15, 6, seed=i, dtype=tf.bfloat16) for i in range(2))
    weights = tf.abs(draw(3, 5, 2))
    sums = fused_sums(graph, mlp, edge_size=0)(senders, receivers, edge_weights=weights)
    expected = graph.message_sums(mlp.hidden_layers, senders, receivers, edge_weights=weights)
    np.testing.assert_array_equal(sums, expected)
