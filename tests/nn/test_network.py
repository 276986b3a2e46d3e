"""The recurrent network against the plain formulation of the equations."""

import collections
import contextlib

import numpy as np
import pytest
import tensorflow as tf

from rrn import (
    FullyConnectedGraph,
    Graph,
    GraphUnion,
    RecurrentRelationalNetwork,
    RecurrentState,
    RegularGraph,
    SparseGraph,
)
from rrn.nn import plain
from rrn.nn.layers import Linear
from rrn.variables.random import fold_in
from rrn.variables.random import uniform as keyed_uniform
from rrn.variables.reading import reading_scope
from tests.compare import assert_close, assert_same, names_and_shapes, normal, randomize
from tests.nn.graph_cases import FORMS, by_edge, draw_edges, make_case, plain_edges

NODE, EDGE, GLOBAL, OUTPUT = 4, 3, 2, 5


@contextlib.contextmanager
def products_in_float64(network):
    layers = [module for module in network.submodules if isinstance(module, Linear)]
    for layer in layers:
        layer.compute_dtype = tf.float64
    yield
    for layer in layers:
        layer.compute_dtype = tf.float32


def keyed_draws(shape, step, part):
    return keyed_uniform(fold_in([1, 2], step, part), shape)


class Ring(Graph):
    """A graph of one's own: one ring, in which every node hears the one before."""

    def __init__(self, nodes):
        self.nodes = nodes

    def edge_shape(self):
        return tf.constant([self.nodes])

    def edge_list(self):
        return np.roll(range(self.nodes), 1), np.arange(self.nodes)

    def message_sums(self, edge_fn, senders, receivers, edges=None, edge_weights=None):
        pairs = tf.roll(senders, 1, axis=0) + receivers
        messages = edge_fn(pairs if edges is None else pairs + edges)
        return messages if edge_weights is None else messages * edge_weights[:, None]

    def degrees(self, edge_weights=None):
        return tf.ones([self.nodes]) if edge_weights is None else edge_weights

    def sum_nodes(self, nodes):
        return tf.reduce_sum(nodes, axis=0, keepdims=True)

    def broadcast_globals_to_nodes(self, globals_):
        return tf.repeat(globals_, self.nodes, axis=0)


@pytest.mark.parametrize("aggregate", ["sum", "max"])
def test_the_network_takes_a_graph_of_ones_own(aggregate):
    sizes = {"edge_size": EDGE, "global_size": GLOBAL}
    network = RecurrentRelationalNetwork(3, 6, **sizes, aggregate=aggregate)
    randomize(network)
    features, edges, globals_ = normal(5, 3), normal(5, EDGE, seed=1), normal(1, GLOBAL, seed=2)
    ring = Ring(5)
    states = network(ring, features, 3, edges, globals_)
    expected = network(SparseGraph(*ring.edge_list(), 5), features, 3, edges, globals_)
    for actual, same in zip(states, expected, strict=True):
        assert_close(actual, same)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("options", ["", "edges", "globals", "edges globals"])
@pytest.mark.parametrize("node_update", ["lstm", None])
def test_the_network_equals_the_plain_formulation_over_3_steps(form, options, node_update):
    graph, pairs, node_graph, real, num_graphs = make_case(form)
    edges = draw_edges(graph, EDGE) if "edges" in options else None
    globals_ = normal(num_graphs, GLOBAL, seed=1) if "globals" in options else None
    features = normal(len(real), 3, seed=2)
    network = RecurrentRelationalNetwork(
        3,
        6,
        num_hidden_layers=1 if options == "edges" else 3,
        edge_size=0 if edges is None else EDGE,
        global_size=0 if globals_ is None else GLOBAL,
        node_update=node_update,
    )
    randomize(network)
    senders, receivers = zip(*pairs, strict=True)
    given = [x for x in tf.nest.flatten([edges, globals_]) if x is not None and tf.size(x) > 0]

    def as_written():
        rows = plain_edges(graph, pairs, node_graph, edges, globals_)
        with products_in_float64(network):  # sums of messages may be next to nothing
            return plain.hidden_states(network, senders, receivers, features, 3, rows)

    sources = [features, *given, *network.variables]
    assert_same(lambda: network(graph, features, 3, edges, globals_), as_written, sources, real, 6)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("options", ["", "edges globals dropout", "no lstm"])
@pytest.mark.parametrize("dtype, tolerance", [(tf.float32, 1e-5), (tf.float64, 1e-6)])
def test_recomputing_changes_neither_states_nor_gradients(form, options, dtype, tolerance):
    graph, _, _, real, num_graphs = make_case(form)
    sizes, inputs = {}, [None, None]
    if "edges globals" in options:
        sizes = {"edge_size": EDGE, "global_size": GLOBAL}
        inputs = [draw_edges(graph, EDGE), normal(num_graphs, GLOBAL, seed=1)]
    dropout = {"edge_keep_probability": 0.6, "uniform": keyed_draws} if "dropout" in options else {}
    # In float32 products round as the order of their sums is; in float64 they do not show it.
    node_update = None if options == "no lstm" else "lstm"
    network = RecurrentRelationalNetwork(
        3, 6, node_update=node_update, compute_dtype=dtype, **sizes
    )
    features = normal(len(real), 3, seed=2)
    randomize(network)

    def states(recompute):
        return network(graph, features, 3, *inputs, recompute=recompute, **dropout)

    given = [x for x in tf.nest.flatten(inputs) if x is not None and tf.size(x) > 0]
    sources = [features, *given, *network.variables]
    assert_same(lambda: states(True), lambda: states(False), sources, real, 6, tolerance)


def test_recomputing_runs_every_step_twice_and_reads_each_variable_once():
    network, graph = RecurrentRelationalNetwork(3, 6), make_case("regular")[0]
    features = normal(12, 3)
    values, operations = {}, {}
    for recompute in (False, True):

        @tf.function(autograph=False)
        def gradients(recompute=recompute):
            with reading_scope(), tf.GradientTape() as tape:
                states = network(graph, features, 4, recompute=recompute)
                loss = tf.reduce_sum(states[-1] ** 2)
            return tape.gradient(loss, network.variables)

        values[recompute] = gradients()
        function = gradients.get_concrete_function()
        operations[recompute] = collections.Counter(o.type for o in function.graph.get_operations())
    for actual, expected in zip(values[True], values[False], strict=True):
        assert_close(actual, expected, 1e-6)
    # 3 for the input; at each of 4 steps 3 for messages and 3 for nodes, and all of them once more.
    assert operations[False]["Relu"] == 3 + 4 * 6
    assert operations[True]["Relu"] == 3 + 2 * 4 * 6
    for counts in operations.values():
        assert counts["ReadVariableOp"] == len(network.variables)


@pytest.mark.parametrize("form", FORMS)
def test_edge_dropout_drops_the_same_messages_in_the_plain_formulation(form):
    graph, pairs, _, real, _ = make_case(form)
    network, features = RecurrentRelationalNetwork(3, 6, num_hidden_layers=1), normal(len(real), 3)
    randomize(network)
    senders, receivers = zip(*pairs, strict=True)
    keep = 0.6

    def as_written():
        x = network.input_fn(features)
        zeros = tf.zeros([len(real), 6])
        hidden, state, states = x, (zeros, zeros), []
        for step in range(3):
            shapes = graph.edge_shape()
            draws = [keyed_draws(shape, step, i) for i, shape in enumerate(tf.nest.flatten(shapes))]
            draws = tf.nest.pack_sequence_as(shapes, draws)
            weights = np.where(by_edge(graph, draws).numpy() < keep, np.float32(1 / keep), 0)
            assert 0 < np.count_nonzero(weights) < len(pairs)
            messages = plain.messages(network.message_fn.mlp, hidden, senders, receivers)
            sums = plain.sum_messages(messages * weights[:, None], receivers, len(real))
            state = plain.update_nodes(network.node_fn, network.lstm, sums, x, state)
            hidden = state[0]
            states.append(hidden)
        return states

    def run():
        return network(graph, features, 3, edge_keep_probability=keep, uniform=keyed_draws)

    assert_same(run, as_written, [features, *network.variables], real, 6)


def test_keep_probability_1_draws_nothing_and_keeps_every_message():
    graph, _, _, real, _ = make_case("sparse")
    network, features = RecurrentRelationalNetwork(3, 6), normal(len(real), 3)

    def fail(*_):
        raise AssertionError("no draws are needed")

    kept = network(graph, features, 2, edge_keep_probability=1.0, uniform=fail)
    for actual, expected in zip(kept, network(graph, features, 2), strict=True):
        np.testing.assert_array_equal(actual, expected)


def test_every_step_and_every_part_of_a_union_asks_for_its_own_draws():
    graph, _, _, real, _ = make_case("union")
    network, asked = RecurrentRelationalNetwork(3, 6), []

    def draw(shape, step, part):
        asked.append((step, part, tuple(shape.numpy().tolist())))
        return tf.zeros(shape)

    network(graph, normal(len(real), 3), 2, edge_keep_probability=0.5, uniform=draw)
    shapes = [(4, 3, 3), (0, 2, 2), (8,), (3, 4, 2)]
    assert asked == [(step, *part) for step in range(2) for part in enumerate(shapes)]


def test_different_steps_get_different_draws():
    graph = FullyConnectedGraph(np.ones([2, 8]))
    network, drawn = RecurrentRelationalNetwork(3, 6), []

    def draw(shape, step, part):
        drawn.append(keyed_uniform(fold_in([0, 0], step), shape).numpy())
        return drawn[-1]

    network(graph, normal(16, 3), 3, edge_keep_probability=0.5, uniform=draw)
    assert [draws.shape for draws in drawn] == [(2, 8, 8)] * 3
    for one, other in [(0, 1), (0, 2), (1, 2)]:
        assert np.mean((drawn[one] < 0.5) != (drawn[other] < 0.5)) > 0.3


def test_permuting_a_sparse_graphs_nodes_and_edges_permutes_the_states():
    graph, *_ = make_case("sparse")
    network = RecurrentRelationalNetwork(3, 6, edge_size=EDGE, global_size=1)
    randomize(network)
    features = normal(7, 3)
    random = np.random.default_rng(0)
    order, edge_order = random.permutation(7), random.permutation(8)
    place = np.argsort(order)  # node order[k] stands at place k
    senders, receivers = (place[x.numpy()][edge_order] for x in (graph.senders, graph.receivers))
    permuted = SparseGraph(senders, receivers, 7, tf.gather(graph.node_graph, order), 2)
    edges, globals_ = normal(8, EDGE, seed=1), normal(2, 1, seed=2)
    expected = network(graph, features, 3, edges, globals_)
    actual = network(
        permuted, tf.gather(features, order), 3, tf.gather(edges, edge_order), globals_
    )
    for a, e in zip(actual, expected, strict=True):
        assert_close(a, tf.gather(e, order))


def test_permuting_a_fully_connected_graphs_nodes_permutes_the_states():
    mask = np.array([[1, 1, 1, 0], [1, 0, 1, 1]], np.float32)
    order = np.array([2, 0, 3, 1])
    network = RecurrentRelationalNetwork(3, 6, edge_size=EDGE)
    randomize(network)
    features, edges = normal(2, 4, 3), normal(2, 4, 4, EDGE, seed=1)

    def states(mask, features, edges):
        rows = network(FullyConnectedGraph(mask), tf.reshape(features, [8, 3]), 3, edges)
        return tf.reshape(rows[-1], [2, 4, 6]).numpy()

    expected = states(mask, features, edges)[:, order]
    turned = tf.gather(tf.gather(edges, order, axis=1), order, axis=2)
    actual = states(mask[:, order], tf.gather(features, order, axis=1), turned)
    assert_close(actual[mask[:, order] > 0], expected[mask[:, order] > 0])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("num_steps", [1, 3])
def test_gradients_reach_every_variable(form, num_steps):
    graph, _, _, real, num_graphs = make_case(form)
    network = RecurrentRelationalNetwork(3, 8, edge_size=EDGE, global_size=GLOBAL)
    randomize(network)
    edges, globals_ = draw_edges(graph, EDGE), normal(num_graphs, GLOBAL)
    with tf.GradientTape() as tape:
        states = network(graph, normal(len(real), 3), num_steps, edges, globals_)
        loss = tf.add_n([tf.reduce_sum(tf.boolean_mask(h, real) ** 2) for h in states])
    for variable, gradient in zip(
        network.variables, tape.gradient(loss, network.variables), strict=True
    ):
        assert gradient is not None, variable.name
        assert np.any(gradient), variable.name


def test_the_same_variables_serve_any_number_of_steps():
    network = RecurrentRelationalNetwork(3, 4, num_hidden_layers=2, edge_size=2, global_size=1)
    expected = {
        "input_fn/linear_0/w": (3, 4),
        "input_fn/linear_0/b": (4,),
        "input_fn/linear_1/w": (4, 4),
        "input_fn/linear_1/b": (4,),
        "input_fn/linear_2/w": (4, 4),
        "input_fn/linear_2/b": (4,),
        "message_fn/linear_0/w": (11, 4),
        "message_fn/linear_0/b": (4,),
        "message_fn/linear_1/w": (4, 4),
        "message_fn/linear_1/b": (4,),
        "message_fn/linear_2/w": (4, 4),
        "message_fn/linear_2/b": (4,),
        "node_fn/linear_0/w": (8, 4),
        "node_fn/linear_0/b": (4,),
        "node_fn/linear_1/w": (4, 4),
        "node_fn/linear_1/b": (4,),
        "node_fn/linear_2/w": (4, 4),
        "node_fn/linear_2/b": (4,),
        "lstm/linear/w": (8, 16),
        "lstm/linear/b": (16,),
    }
    assert names_and_shapes(network) == expected
    graph = SparseGraph([0, 1], [1, 0], 2)
    before = [v.ref() for v in network.variables]
    outputs = {n: network(graph, normal(2, 3), n, normal(2, 2), normal(1, 1)) for n in (1, 5)}
    assert {n: len(states) for n, states in outputs.items()} == {1: 1, 5: 5}
    np.testing.assert_array_equal(outputs[1][0], outputs[5][0])
    assert [v.ref() for v in network.variables] == before
    assert names_and_shapes(network) == expected


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("node_update", ["lstm", None])
def test_segments_one_after_the_other_are_one_run(form, node_update):
    graph, _, _, real, _ = make_case(form)
    network = RecurrentRelationalNetwork(3, 6, node_update=node_update)
    randomize(network)
    features = normal(len(real), 3)
    whole = network(graph, features, 5)
    state, parts = network.initial_state(len(real)), []
    for num_steps in (2, 1, 2):
        hidden, state = network.segment(graph, features, num_steps, state)
        parts += hidden
    for actual, expected in zip(parts, whole, strict=True):
        assert_close(tf.boolean_mask(actual, real), tf.boolean_mask(expected, real), 1e-5)
    np.testing.assert_array_equal(state.hidden, parts[-1])
    assert state.started.numpy().all()


def test_in_a_carried_batch_nodes_that_have_not_started_begin_anew():
    """Two graphs side by side, the second one new: it does what it does alone."""
    network = RecurrentRelationalNetwork(3, 6)
    randomize(network)
    features, ring = normal(8, 3), [[1, 3], [2, 0], [3, 1], [0, 2]]
    both, one = RegularGraph(ring, 2), RegularGraph(ring, 1)
    _, state = network.segment(both, features, 3, network.initial_state(8))
    old = tf.constant([True] * 4 + [False] * 4)
    carried = state._replace(
        hidden=tf.where(old[:, None], state.hidden, 0.0),
        cell=tf.where(old[:, None], state.cell, 0.0),
        started=state.started & old,
    )
    hidden, _ = network.segment(both, features, 2, carried)
    assert_close(hidden[-1][:4], network(one, features[:4], 5)[-1], 1e-5)
    assert_close(hidden[-1][4:], network(one, features[4:], 2)[-1], 1e-5)


def test_gradients_stop_between_segments():
    network = RecurrentRelationalNetwork(3, 6)
    randomize(network)
    graph, features = RegularGraph([[1], [0]], 1), normal(2, 3)
    with tf.GradientTape() as tape:
        tape.watch(features)
        _, state = network.segment(graph, features, 2, None)
        stopped = tf.nest.map_structure(tf.stop_gradient, state)
        hidden, _ = network.segment(graph, tf.stop_gradient(features), 2, stopped)
    assert tape.gradient(hidden, features) is None


@pytest.mark.parametrize(
    "edge_size, global_size, with_edges, with_globals",
    [
        (0, 0, True, False),
        (0, 0, False, True),
        (EDGE, 0, False, False),
        (EDGE, 0, True, True),
        (0, GLOBAL, False, False),
        (0, GLOBAL, True, False),
        (EDGE, GLOBAL, True, False),
    ],
)
def test_edges_and_globals_that_do_not_fit_raise_what_was_expected(
    edge_size, global_size, with_edges, with_globals
):
    graph = SparseGraph([0, 1], [1, 0], 2)
    network = RecurrentRelationalNetwork(3, 4, edge_size=edge_size, global_size=global_size)
    edges = normal(2, EDGE) if with_edges else None
    globals_ = normal(1, GLOBAL) if with_globals else None
    expected = f"made for edge_size={edge_size} and global_size={global_size}, got"
    with pytest.raises(ValueError, match=expected):
        network(graph, normal(2, 3), 1, edges, globals_)


def pair():
    return SparseGraph([0, 1, 1], [1, 1, 0], 2)


def call(
    graph=None, features=(2, 3), edges=(3, EDGE), globals_=(1, GLOBAL), num_steps=1, **options
):
    """A step of a network on shapes, or on values that are no tuples."""
    network = RecurrentRelationalNetwork(3, 6, edge_size=EDGE, global_size=GLOBAL)
    values = (tf.ones(x) if isinstance(x, tuple) else x for x in (features, edges, globals_))
    features, edges, globals_ = values
    return network(graph or pair(), features, num_steps, edges, globals_, **options)


def state_of(nodes, size):
    return RecurrentState(tf.zeros([nodes, size]), tf.zeros([2, 6]), tf.zeros([2], tf.bool))


@pytest.mark.parametrize(
    "wrong, message",
    [
        (
            {"graph": ([0], [1])},
            "Network: graph must be an rrn.Graph, got tuple",
        ),
        (
            {"features": (3, 3)},
            r"features must have .*nodes, input_size\] = \(2, 3\), got \(3, 3",
        ),
        ({"features": (2, 4)}, r"features must have shape .* = \(2, 3\), got \(2, 4\)"),
        ({"features": (1, 2, 3)}, r"features must have shape .* = \(2, 3\), got \(1, 2, 3\)"),
        (
            {"edges": (1, EDGE)},
            r"edges must have .*edge_shape, size\] = \(3, 3\), got \(1, 3",
        ),
        ({"edges": (3, 2)}, r"MessageFunction: edges must have shape .* = \(3, 3\), got \(3, 2\)"),
        ({"globals_": (2, GLOBAL)}, r"globals_ must have shape .* = \(1, 2\), got \(2, 2\)"),
        ({"globals_": (1, 5)}, r"\[graphs, global_size\] = \(1, 2\), got \(1, 5\)"),
        ({"globals_": (2,)}, r"globals_ must have shape .* = \(1, 2\), got \(2,\)"),
        ({"edge_keep_probability": 0.0}, "probability must be above 0 and at most 1, got 0.0"),
        ({"edge_keep_probability": 1.5}, "probability must be above 0 and at most 1, got 1.5"),
        ({"edge_keep_probability": np.nan}, "probability must be above 0 and at most 1, got nan"),
        ({"edge_keep_probability": "0.5"}, "probability must be above 0 and at most 1, got '0.5'"),
        ({"edge_keep_probability": None}, "probability must be above 0 and at most 1, got None"),
        ({"features": None}, "features must be a tensor or an array of numbers, got None"),
        ({"features": np.array([["a"] * 3] * 2)}, "features must be .* of numbers, got strings"),
        ({"features": [[1.0], [1.0, 2.0]]}, r"features must be .* of numbers, got \[\[1.0\]"),
        ({"globals_": np.array([["a", "b"]])}, "globals_ must be .* of numbers, got strings"),
        ({"num_steps": 0}, "Network: num_steps must be an integer of at least 1, got 0"),
        ({"num_steps": 1.5}, "Network: num_steps must be an integer of at least 1, got 1.5"),
        ({"num_steps": None}, "Network: num_steps must be an integer of at least 1, got None"),
        ({"edge_keep_probability": 0.5, "uniform": 3}, "needs uniform, a function .* got 3"),
        (
            {"edge_keep_probability": 0.5, "uniform": lambda shape, *_: None},
            "uniform returns must be a tensor or an array of numbers, got None",
        ),
        ({"edge_keep_probability": 0.5}, r"edge_keep_probability=0.5 needs uniform, .* got None"),
        (
            {"edge_keep_probability": 0.5, "uniform": lambda shape, *_: tf.ones([1])},
            r"uniform returns must have shape \[\*edge_shape\] = \(3,\), got \(1,\)",
        ),
    ],
)
def test_a_wrong_call_is_named_with_what_would_be_right(wrong, message):
    call()
    with pytest.raises(ValueError, match=message):
        call(**wrong)


@pytest.mark.parametrize(
    "edges, message",
    [
        (lambda: tf.ones([6, EDGE]), "edges must be a list .* union's 2 parts, got EagerTensor"),
        (lambda: [tf.ones([3, EDGE])], "edges must have a value .* union's 2 parts, got 1"),
        (
            lambda: [tf.ones([3, EDGE]), tf.ones([1, EDGE])],
            r"edges\[1\] must have shape .* = \(3, 3\), got \(1, 3\)",
        ),
        (
            lambda: [tf.ones([3, EDGE]), None],
            r"edges\[1\] must be a tensor or an array of numbers, got None",
        ),
    ],
)
def test_a_unions_edges_are_a_list_with_the_edges_of_each_part(edges, message):
    union = GraphUnion([pair(), pair()], [2, 2], [1, 1])
    with pytest.raises(ValueError, match=message):
        call(graph=union, features=(4, 3), edges=edges(), globals_=(2, GLOBAL))


@pytest.mark.parametrize("nodes, size", [(3, 6), (2, 5)])
def test_a_state_of_another_network_or_graph_is_named(nodes, size):
    network = RecurrentRelationalNetwork(3, 6)
    with pytest.raises(ValueError, match=rf"state.hidden must have .* = \(2, 6\), got \({nodes}, "):
        network.segment(pair(), tf.ones([2, 3]), 1, state_of(nodes, size))


def test_what_is_no_state_of_the_network_is_named():
    network, state = RecurrentRelationalNetwork(3, 6), state_of(2, 6)
    for wrong, message in (
        (tuple(state), "state must be a RecurrentState, got a tuple"),
        (state._replace(cell=None), "state.cell must be a tensor or an array of numbers, got None"),
        (state._replace(started=tf.zeros([3])), r"state.started must have .* \(2,\), got \(3,\)"),
    ):
        with pytest.raises(ValueError, match=message):
            network.segment(pair(), tf.ones([2, 3]), 1, wrong)


def test_a_probability_that_only_a_run_knows_is_named():
    network = RecurrentRelationalNetwork(3, 6)

    @tf.function(input_signature=[tf.TensorSpec([])])
    def states(probability):
        return network(pair(), tf.ones([2, 3]), 1, edge_keep_probability=probability)

    with pytest.raises(ValueError, match="edge_keep_probability must be above 0 and at most 1"):
        states.get_concrete_function()


def test_what_is_not_known_when_a_function_is_traced_is_not_refused_then():
    network = RecurrentRelationalNetwork(3, 6, edge_size=EDGE)

    @tf.function(input_signature=[tf.TensorSpec([None, None])] * 2, autograph=False)
    def states(features, edges):
        return network(pair(), features, 1, edges)

    states(tf.ones([2, 3]), tf.ones([3, EDGE]))


@pytest.mark.parametrize(
    "wrong, message",
    [
        ({"input_size": 0}, "input_size must be an integer of at least 1, got 0"),
        ({"hidden_size": 0}, "hidden_size must be an integer of at least 1, got 0"),
        ({"hidden_size": 8.0}, "hidden_size must be an integer of at least 1, got 8.0"),
        ({"hidden_size": True}, "hidden_size must be an integer of at least 1, got True"),
        ({"num_hidden_layers": 0}, "num_hidden_layers must be an integer of at least 1, got 0"),
        ({"edge_size": -1}, "MessageFunction: edge_size must be an integer of at least 0, got -1"),
        ({"global_size": -1}, "global_size must be an integer of at least 0, got -1"),
        ({"compute_dtype": "int32"}, "compute_dtype must be a type of floats, .*, got 'int32'"),
        ({"compute_dtype": "float8_e5m2"}, "must be a type of floats, one of float32, .*float8"),
        ({"compute_dtype": "bfloat"}, "compute_dtype must be a type of floats, .*, got 'bfloat'"),
    ],
)
def test_a_network_of_wrong_sizes_or_type_is_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        RecurrentRelationalNetwork(**{"input_size": 3, "hidden_size": 6, **wrong})


@pytest.mark.parametrize("form", FORMS)
def test_bfloat16_is_close_to_float32(form):
    graph, _, _, real, num_graphs = make_case(form)
    networks = [
        RecurrentRelationalNetwork(3, 32, edge_size=EDGE, global_size=GLOBAL, compute_dtype=dtype)
        for dtype in ("float32", "bfloat16")
    ]
    for exact, rounded in zip(*(network.variables for network in networks), strict=True):
        assert exact.dtype == rounded.dtype == tf.float32
        rounded.assign(exact)
    inputs = draw_edges(graph, EDGE), normal(num_graphs, GLOBAL, seed=1)
    states, gradients = [], []
    for network in networks:
        with tf.GradientTape() as tape:
            hidden = network(graph, normal(len(real), 3), 3, *inputs)
            loss = tf.reduce_sum(tf.boolean_mask(hidden[-1], real) ** 2)
        states.append(hidden)
        gradients.append(tape.gradient(loss, network.variables))
    for expected, actual in zip(*states, strict=True):
        expected, actual = expected[real], actual[real]
        assert actual.dtype == tf.float32
        assert 0 < tf.norm(actual - expected) / tf.norm(expected) < 0.03
    for expected, actual in zip(*gradients, strict=True):
        assert actual.dtype == tf.float32
        assert tf.norm(actual - expected) / tf.norm(expected) < 0.1


def test_the_network_may_be_traced_with_sizes_unknown():
    network = RecurrentRelationalNetwork(3, 6)
    randomize(network)

    @tf.function(
        input_signature=[
            tf.TensorSpec([None], tf.int32),
            tf.TensorSpec([None], tf.int32),
            tf.TensorSpec([None, 3]),
        ]
    )
    def states(senders, receivers, features):
        return network(SparseGraph(senders, receivers, tf.shape(features)[0]), features, 2)

    for arguments in (([0, 1], [1, 0], normal(2, 3)), ([0, 1, 3, 3], [1, 2, 0, 3], normal(4, 3))):
        eager = states.python_function(*arguments)
        for actual, expected in zip(states(*arguments), eager, strict=True):
            assert_close(actual, expected)


def test_autograph_takes_a_network_without_a_word(caplog):
    """It warns of what it cannot transform, as of assignments within expressions."""
    network, graph = RecurrentRelationalNetwork(3, 4), SparseGraph([0, 1], [1, 0], 2)

    @tf.function
    def call(features):
        return network(graph, features, 2)[-1]

    call(tf.zeros([2, 3]))
    assert "AutoGraph" not in caplog.text
