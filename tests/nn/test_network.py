"""The recurrent network against the plain formulation, for all graphs, aggregates and cells."""

import collections

import numpy as np
import pytest
import tensorflow as tf

import rrn.nn.network
from rrn import (
    Graph,
    GraphUnion,
    NodeUpdate,
    RecurrentRelationalNetwork,
    RecurrentState,
    RegularGraph,
    SparseGraph,
)
from rrn.compiling import run_compiled
from rrn.nn import plain
from rrn.nn.aggregation import AGGREGATES
from rrn.nn.graphs import EdgeEnds, all_others
from rrn.nn.layers import Linear
from rrn.nn.messages import MessageFunction
from rrn.variables.random import fold_in
from rrn.variables.random import uniform as keyed_uniform
from rrn.variables.reading import reading_scope, values_of
from rrn.variables.recorder import recording, tower_scope
from tests.compare import (
    assert_close,
    assert_same,
    names_and_shapes,
    normal,
    randomize,
    value_and_gradients,
)
from tests.nn.graph_cases import FORMS, by_edge, draw_edges, make_case, plain_edges, unite
from tests.nn.own_parts import Gated, Momentum

SIZE, EDGE, GLOBAL = 6, 3, 2
CELLS = ("lstm", "gru", None)
RING = [[1, 3], [2, 0], [3, 1], [0, 2]]


def pair():
    return SparseGraph([0, 1, 1], [1, 1, 0], 2)


def keyed_draws(shape, step, part):
    return keyed_uniform(fold_in([1, 2], step, part), shape)


def make_network(node_update="lstm", aggregate="sum", dtype=tf.float32, **options):
    """A network; "own" is an update and messages of one's own."""
    if node_update == "own":
        others = sum(options.get(size, 0) for size in ("edge_size", "global_size"))
        heads = 2 if aggregate == "softmax" else 0
        options["message_fn"] = Gated(SIZE, SIZE, others, heads, dtype)
        node_update = Momentum(SIZE, SIZE, dtype)
    network = RecurrentRelationalNetwork(
        3, SIZE, node_update=node_update, aggregate=aggregate, compute_dtype=dtype, **options
    )
    randomize(network)
    return network


def given_values(form, options):
    """(graph, pairs, real, the network's sizes, edges, globals, what gives [e_ij, g])."""
    graph, pairs, node_graph, real, num_graphs = make_case(form)
    edges = draw_edges(graph, EDGE) if "edges" in options else None
    globals_ = normal(num_graphs, GLOBAL, seed=1) if "globals" in options else None
    sizes = {"edge_size": EDGE} if "edges" in options else {}
    sizes |= {"global_size": GLOBAL} if "globals" in options else {}

    def rows():
        return plain_edges(graph, pairs, node_graph, edges, globals_)

    return graph, pairs, real, sizes, edges, globals_, rows


def float64_layers(network):
    return [module for module in network.submodules if isinstance(module, Linear)]


def aggregated(aggregate, messages, receivers, num_nodes):
    """m_j of the messages `[edges, size]`; of softmax the last column is the score."""
    if aggregate == "sum":
        return plain.sum_messages(messages, receivers, num_nodes)
    if aggregate == "mean":
        return tf.math.unsorted_segment_mean(messages, receivers, num_nodes)
    if aggregate == "max":
        largest = tf.math.unsorted_segment_max(messages, receivers, num_nodes)
        degrees = tf.math.unsorted_segment_sum(tf.ones_like(messages[:, 0]), receivers, num_nodes)
        return tf.where(degrees[:, None] > 0, largest, 0.0)
    exponents = tf.exp(messages[:, -1:])  # scores are small here
    totals = tf.math.unsorted_segment_sum(exponents, receivers, num_nodes)
    shares = exponents / tf.gather(totals, receivers)
    return plain.sum_messages(shares * messages[:, :-1], receivers, num_nodes)


def as_written(network, aggregate, pairs, features, num_steps, rows=None, weights=None):
    """The paper's equations, with other aggregates and a GRU, in float64 where there are weights.

    `weights` is a function of the step: the edges' weights `[edges, 1]`.
    """
    senders, receivers = zip(*pairs, strict=True)
    messages_of = network.message_fn.mlp or network.message_fn.function.mlp
    cell = network.node_update.cell
    x = network.input_fn(features)
    rows = None if rows is None else tf.cast(rows, x.dtype)
    zeros = tf.zeros_like(x, tf.float32)
    hidden, state, states = x, (zeros, zeros if network.lstm else ()), []
    for step in range(num_steps):
        hidden = tf.cast(hidden, x.dtype)
        messages = plain.messages(messages_of, hidden, senders, receivers, rows)
        if weights is not None:
            messages *= tf.cast(weights(step), messages.dtype)
        sums = aggregated(aggregate, messages, receivers, tf.shape(x)[0])
        if cell is None:
            hidden = plain.update_nodes_without_lstm(network.node_fn, sums, x, hidden)
        else:
            z = network.node_fn(tf.concat([sums, x], axis=1))
            state = plain.lstm(cell, z, state) if network.lstm else cell(z, state)
            hidden = state[0]
        states.append(hidden)
    return states


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("aggregate", AGGREGATES)
@pytest.mark.parametrize(
    "cell, options", [("lstm", "edges globals"), ("gru", ""), (None, "edges"), ("lstm", "globals")]
)
def test_the_network_equals_the_plain_formulation_and_its_gradients(form, aggregate, cell, options):
    graph, pairs, real, sizes, edges, globals_, rows = given_values(form, options)
    layers = 1 if options == "edges" else 2
    network = make_network(cell, aggregate, num_hidden_layers=layers, **sizes)
    features = normal(len(real), 3, seed=2)
    given = [x for x in tf.nest.flatten([edges, globals_]) if x is not None and tf.size(x) > 0]

    def expected():
        for layer in float64_layers(network):  # sums of messages may be next to nothing
            layer.compute_dtype = tf.float64
        states = as_written(network, aggregate, pairs, features, 3, rows())
        for layer in float64_layers(network):
            layer.compute_dtype = tf.float32
        return states

    sources = [features, *given, *network.variables]
    assert_same(lambda: network(graph, features, 3, edges, globals_), expected, sources, real, SIZE)
    if aggregate == "sum" and cell != "gru":  # the page that everyone reads first
        senders, receivers = zip(*pairs, strict=True)
        states = plain.hidden_states(network, senders, receivers, features, 3, rows())
        for actual, right in zip(states, expected(), strict=True):
            assert_close(actual[real], right[real], 1e-4)


def test_own_parts_equal_a_loop_over_edges_nodes_and_steps():
    network, features = make_network("own"), normal(3, 3)
    senders, receivers = [0, 2, 1, 1], [1, 1, 0, 1]  # node 2 has no senders
    actual, state = network.segment(SparseGraph(senders, receivers, 3), features, 3, None)
    x = network.input_fn(features).numpy()
    sent, h, v = x, list(np.zeros_like(x)), list(0.1 * x)  # the first messages are those of x
    for states in actual:
        sums = np.zeros([3, SIZE])
        for i, j in zip(senders, receivers, strict=True):
            sums[j] += network.message_fn.function.of_numpy(sent[i], sent[j])[0]
        nodes = [network.node_update.of_numpy(sums[j], x[j], h[j], v[j]) for j in range(3)]
        h, v = (list(rows) for rows in zip(*nodes, strict=True))
        sent = h
        assert_close(states, h)
    assert_close(state.cell["v"][0], np.reshape(v, [3, 2, SIZE // 2]))
    assert state.cell["age"].numpy().tolist() == [3, 3, 3]


def test_either_part_alone_may_be_of_ones_own():
    features, update = normal(2, 3), Momentum(SIZE, SIZE)
    network = RecurrentRelationalNetwork(3, SIZE, node_update=update)
    assert "node_fn/linear_0/w" not in names_and_shapes(network)
    randomize(network)
    x = network.input_fn(features)
    messages = plain.messages(network.message_fn.mlp, x, *pair().edge_list())
    sums = plain.sum_messages(messages, [1, 1, 0], 2)
    assert_close(network(pair(), features, 1)[0], update(sums, x, *update.initial_state(x))[0])
    network = RecurrentRelationalNetwork(3, SIZE, message_fn=Gated(SIZE, SIZE))
    randomize(network)
    x, zeros = network.input_fn(features), tf.zeros([2, SIZE])
    m = network.message_fn(pair(), x, network.message_fn.prepare(pair()))
    h, _ = plain.update_nodes(network.node_fn, network.lstm, m, x, (zeros, zeros))
    assert_close(network(pair(), features, 1)[0], h)


class Ring(Graph):
    """A graph of one's own: one ring, in which every node receives from the one before."""

    def __init__(self, nodes):
        self.nodes = nodes

    def edge_shape(self):
        return tf.constant([self.nodes])

    def edge_ends(self):
        return EdgeEnds(np.roll(range(self.nodes), 1), np.arange(self.nodes))

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
    network = make_network(aggregate=aggregate, edge_size=EDGE, global_size=GLOBAL)
    features, edges, globals_ = normal(5, 3), normal(5, EDGE, seed=1), normal(1, GLOBAL, seed=2)
    ring = Ring(5)
    states = network(ring, features, 3, edges, globals_)
    expected = network(SparseGraph(*ring.edge_list(), 5), features, 3, edges, globals_)
    for actual, same in zip(states, expected, strict=True):
        assert_close(actual, same)


# Recomputing and dropped messages


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("node_update, aggregate", [("lstm", "sum"), ("own", "softmax")])
@pytest.mark.parametrize("dropout", [False, True])
def test_recomputing_changes_neither_states_nor_gradients(form, node_update, aggregate, dropout):
    graph, _, real, sizes, edges, globals_, _ = given_values(form, "edges globals")
    options = {"edge_keep_probability": 0.6, "uniform": keyed_draws} if dropout else {}
    network, features = make_network(node_update, aggregate, **sizes), normal(len(real), 3)

    def states(recompute):
        return network(graph, features, 3, edges, globals_, recompute=recompute, **options)

    variables = [v for v in network.variables if v.dtype.is_floating]
    sources = [features, globals_, *variables]
    assert_same(lambda: states(True), lambda: states(False), sources, real, SIZE)


def test_recomputing_runs_every_step_twice_and_reads_each_variable_once():
    network, graph = make_network(num_hidden_layers=3), make_case("regular")[0]
    features, operations = normal(12, 3), {}
    for recompute in (False, True):

        @tf.function(autograph=False)
        def gradients(recompute=recompute):
            with reading_scope(), tf.GradientTape() as tape:
                states = network(graph, features, 4, recompute=recompute)
                loss = tf.reduce_sum(states[-1] ** 2)
            return tape.gradient(loss, network.variables)

        function = gradients.get_concrete_function()
        operations[recompute] = collections.Counter(o.type for o in function.graph.get_operations())
    # 3 for the input; at each of 4 steps 3 for messages and 3 for nodes, and all of them once more.
    assert operations[False]["Relu"] == 3 + 4 * 6
    assert operations[True]["Relu"] == 3 + 2 * 4 * 6
    for counts in operations.values():
        assert counts["ReadVariableOp"] == len(network.variables)


def test_the_backward_pass_of_recomputed_steps_drops_the_messages_of_the_forward_pass():
    network, graph, asked = make_network(None), RegularGraph(all_others(6), 1), []

    def uniform(shape, step, part):
        asked.append(tf.random.uniform(shape))
        return asked[-1]

    def gradient(uniform, recompute):
        options = {"edge_keep_probability": 0.5, "uniform": uniform, "recompute": recompute}
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(network(graph, normal(6, 3), 2, **options)[-1])
        return tape.gradient(loss, network.message_fn.mlp.layers[-1].b)

    recomputed = gradient(uniform, True)
    assert len(asked) == 2  # one for each step, none in the backward pass
    assert_close(recomputed, gradient(lambda shape, step, part: asked[step], False))


@pytest.mark.parametrize("form", FORMS)
def test_edge_dropout_drops_the_same_messages_in_the_plain_formulation(form):
    graph, pairs, real, *_ = given_values(form, "")
    network, features, keep = make_network(num_hidden_layers=1), normal(len(real), 3), 0.6

    def weights(step):
        shapes = graph.edge_shape()
        draws = [keyed_draws(shape, step, i) for i, shape in enumerate(tf.nest.flatten(shapes))]
        rows = by_edge(graph, tf.nest.pack_sequence_as(shapes, draws)).numpy()
        kept = np.where(rows < keep, np.float32(1 / keep), 0)[:, None]
        assert 0 < np.count_nonzero(kept) < len(pairs)
        return kept

    assert_same(
        lambda: network(graph, features, 3, edge_keep_probability=keep, uniform=keyed_draws),
        lambda: as_written(network, "sum", pairs, features, 3, weights=weights),
        [features, *network.variables],
        real,
        SIZE,
    )


def test_every_step_and_every_part_of_a_union_asks_for_its_own_draws_and_probability_1_for_none():
    graph, _, _, real, _ = make_case("union")
    network, features, asked = make_network(), normal(len(real), 3), []

    def draw(shape, step, part):
        asked.append((step, part, tuple(shape.numpy().tolist())))
        return tf.zeros(shape)

    kept = network(graph, features, 2, edge_keep_probability=1.0, uniform=draw)
    assert not asked
    np.testing.assert_array_equal(kept, network(graph, features, 2))
    network(graph, features, 2, edge_keep_probability=0.5, uniform=draw)
    shapes = [(4, 3, 3), (0, 2, 2), (8,), (3, 4, 2)]
    assert asked == [(step, *part) for step in range(2) for part in enumerate(shapes)]


# Segments


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("node_update", [*CELLS, "own"])
def test_segments_one_after_the_other_are_one_run(form, node_update):
    graph, _, _, real, _ = make_case(form)
    network, features = make_network(node_update), normal(len(real), 3)
    whole, last = network.segment(graph, features, 4, None)
    state, parts = network.initial_state(len(real)), []
    for num_steps in (1, 3):
        hidden, state = network.segment(graph, features, num_steps, state)
        parts += hidden
    tf.nest.assert_same_structure(state, last)
    for actual, expected in zip(
        [*parts, *tf.nest.flatten(state)], [*whole, *tf.nest.flatten(last)], strict=True
    ):
        assert actual.dtype == expected.dtype
        assert_close(tf.boolean_mask(actual, real), tf.boolean_mask(expected, real))


@pytest.mark.parametrize("node_update", ["lstm", "own"])
def test_nodes_that_have_not_started_start_beside_nodes_that_resume(node_update):
    """Two graphs side by side, the second one new: it does what it does alone."""
    network, features = make_network(node_update), normal(8, 3)
    both, one = RegularGraph(RING, 2), RegularGraph(RING, 1)
    _, state = network.segment(both, features, 3, None)
    started = tf.constant([True] * 4 + [False] * 4)  # values of the others mean nothing
    hidden, state = network.segment(both, features, 2, state._replace(started=started))
    assert_close(hidden[-1][:4], network(one, features[:4], 5)[-1])
    assert_close(hidden[-1][4:], network(one, features[4:], 2)[-1])
    assert state.started.numpy().all()
    if node_update == "own":
        assert state.cell["age"].numpy().tolist() == [5] * 4 + [2] * 4


def test_gradients_stop_between_segments():
    network, graph, features = make_network(), RegularGraph([[1], [0]], 1), normal(2, 3)
    with tf.GradientTape() as tape:
        tape.watch(features)
        _, state = network.segment(graph, features, 2, None)
        stopped = tf.nest.map_structure(tf.stop_gradient, state)
        hidden, _ = network.segment(graph, tf.stop_gradient(features), 2, stopped)
    assert tape.gradient(hidden, features) is None


# Types, tracing, XLA


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "node_update, aggregate", [("lstm", "sum"), *(("own", one) for one in AGGREGATES)]
)
def test_bfloat16_is_close_to_float32(form, node_update, aggregate):
    graph, _, real, sizes, edges, globals_, _ = given_values(form, "edges globals")
    states, gradients = [], []
    for dtype in (tf.float32, tf.bfloat16):
        network = make_network(node_update, aggregate, dtype, **sizes)
        with tf.GradientTape() as tape:
            hidden = network(graph, normal(len(real), 3), 3, edges, globals_)
            loss = tf.reduce_sum(tf.boolean_mask(hidden[-1], real) ** 2)
        states.append(tf.boolean_mask(hidden[-1], real))
        gradients.append(tape.gradient(loss, network.variables))
        assert states[-1].dtype == tf.float32 == gradients[-1][0].dtype
    assert 0 < tf.norm(states[1] - states[0]) / tf.norm(states[0]) < 0.03
    if node_update == "lstm":
        exact, rounded = (tf.concat([tf.reshape(g, [-1]) for g in of], 0) for of in gradients)
        assert tf.norm(rounded - exact) / tf.norm(exact) < 0.1


def gradient_of_a_hub(sends, aggregate="sum", scale=1.0, dtype=tf.float32, rounded=False):
    """The gradient to the features of a node with 1,000 neighbours; `scale` is of the messages."""
    ends = tf.zeros([1000], tf.int32), tf.range(1, 1001)
    graph, features = SparseGraph(*(ends if sends else ends[::-1]), 1001), normal(1001, 4)
    tf.random.set_seed(0)
    network = RecurrentRelationalNetwork(4, 32, aggregate=aggregate, compute_dtype=dtype)
    last = network.message_fn.mlp.layers[-1].w
    last.assign(scale * last)
    for variable in network.variables if rounded else ():
        variable.assign(tf.cast(tf.cast(variable, tf.bfloat16), tf.float32))
    with tf.GradientTape() as tape:
        tape.watch(features)
        loss = tf.reduce_sum(network(graph, features, 2)[-1])
    return tape.gradient(loss, features)[0]


def relative_error(actual, exact):
    return float(tf.norm(actual - exact) / tf.norm(exact))


@pytest.mark.parametrize(
    "sends, aggregate, scale", [(True, "sum", 1.0), (False, "mean", 1.0), (False, "sum", 1e-3)]
)
def test_bfloat16_gradients_of_a_node_with_1000_neighbours_are_within_1_percent(
    sends, aggregate, scale
):
    exact = gradient_of_a_hub(sends, aggregate, scale)
    assert relative_error(gradient_of_a_hub(sends, aggregate, scale, tf.bfloat16), exact) < 0.01


def test_a_large_sum_of_messages_loses_no_more_than_rounded_variables_do():
    """Gates saturate with 1,000 messages as they are, so that small errors count much."""
    exact, rounded = (gradient_of_a_hub(False, rounded=rounded) for rounded in (False, True))
    error = relative_error(gradient_of_a_hub(False, dtype=tf.bfloat16), exact)
    assert error < 1.2 * relative_error(rounded, exact)


def test_one_trace_takes_sparse_graphs_of_all_sizes():
    network, rows = make_network("own", edge_size=EDGE), tf.TensorSpec([None, 3])

    @tf.function(input_signature=[SparseGraph.spec(), rows, rows], autograph=False)
    def states(graph, features, edges):
        return network.segment(graph, features, 2, None, edges)

    for graph in (make_case("sparse")[0], pair(), SparseGraph(*2 * [tf.zeros([0], tf.int32)], 3)):
        given = normal(int(graph.num_nodes), 3), normal(len(graph.senders), EDGE)
        found = states(graph, *given), network.segment(graph, given[0], 2, None, given[1])
        for actual, expected in zip(*map(tf.nest.flatten, found), strict=True):
            assert_close(actual, expected)
    assert states.experimental_get_tracing_count() == 1


def test_sizes_may_be_unknown_when_a_function_is_traced(caplog):
    """And AutoGraph takes it; it warns of what it cannot transform."""
    network, row = make_network(edge_size=EDGE), tf.TensorSpec([None], tf.int32)
    values = tf.TensorSpec([None, None])

    @tf.function(input_signature=[row, row, values, values])
    def states(senders, receivers, features, edges):
        graph = SparseGraph(senders, receivers, tf.shape(features)[0])
        return network(graph, features, 2, edges)

    for senders, receivers, nodes in (([0, 1], [1, 0], 2), ([0, 1, 3, 3], [1, 2, 0, 3], 4)):
        given = senders, receivers, normal(nodes, 3), normal(len(senders), EDGE)
        for actual, expected in zip(states(*given), states.python_function(*given), strict=True):
            assert_close(actual, expected)
    assert "AutoGraph" not in caplog.text


def compiled(network, run):
    """A function by XLA, which is given the values of a network's variables."""

    @tf.function(autograph=False)
    def function():
        values = values_of(v for v in network.variables if v.dtype.is_floating)

        def with_values():
            with reading_scope(dict(values)):
                return run()

        return run_compiled(with_values)

    return function()


@pytest.mark.slow
@pytest.mark.parametrize(
    "form, node_update, num_steps",
    [
        ("union", "own", 4),  # of all forms; 4 are a loop over blocks of 2
        ("sparse", "gru", 4),
        ("regular", "lstm", 4),
    ],
)
def test_xla_changes_neither_states_nor_gradients(form, node_update, num_steps, monkeypatch):
    monkeypatch.setattr(rrn.nn.network, "UNROLLED_STEPS", 2)
    parts = ["fully_connected", "sparse", "regular"]  # XLA has no gradients of an empty one
    graph, _, _, real, num_graphs = (
        unite(map(make_case, parts)) if form == "union" else make_case(form)
    )
    network = make_network(node_update, edge_size=EDGE, global_size=GLOBAL)
    features, weights = normal(len(real), 3), normal(np.sum(real), SIZE, seed=9)
    given = draw_edges(graph, EDGE), normal(num_graphs, GLOBAL)

    def states():
        hidden, state = network.segment(graph, features, num_steps, None, *given)
        return [*hidden, state.hidden]

    def run():
        return value_and_gradients(states, [features, given[1]], real, weights)

    results = compiled(network, run), run()
    for actual, right in zip(*map(tf.nest.flatten, results), strict=True):
        assert_close(actual, right, 1e-4)


# Variables and what is noted of a run


def test_variables_are_named_by_their_parts_and_serve_any_number_of_steps():
    network = RecurrentRelationalNetwork(3, 4, num_hidden_layers=2, edge_size=2, global_size=1)
    inputs = {"input_fn": 3, "message_fn": 11, "node_fn": 8}
    expected = {}
    for part, size in inputs.items():
        for i, rows in enumerate([size, 4, 4]):
            expected |= {f"{part}/linear_{i}/w": (rows, 4), f"{part}/linear_{i}/b": (4,)}
    expected |= {"lstm/linear/w": (8, 16), "lstm/linear/b": (16,)}
    assert names_and_shapes(network) == expected
    graph = SparseGraph([0, 1], [1, 0], 2)
    one, five = (network(graph, normal(2, 3), n, normal(2, 2), normal(1, 1)) for n in (1, 5))
    assert len(one) == 1 and len(five) == 5
    np.testing.assert_array_equal(one[0], five[0])
    assert names_and_shapes(network) == expected


@pytest.mark.parametrize("node_update", ["lstm", "own"])
def test_messages_and_states_of_every_step_are_noted(node_update):
    network = make_network(node_update)
    with recording() as towers, tower_scope("tower 0"):
        network(RegularGraph([[1], [0]], 1), tf.ones([2, 3]), 2)
    names = ["step_1/message_sums", "step_1/hidden", "step_2/message_sums", "step_2/hidden"]
    assert [name for name, _, _ in towers["tower 0"].tensors] == names


def test_the_mean_of_an_mlps_messages_takes_the_fast_way():
    network = RecurrentRelationalNetwork(3, SIZE, aggregate="mean")
    assert isinstance(network.message_fn, MessageFunction) and len(network.mlps()) == 3


class Direct(tf.Module):
    """A message function that reads its variable otherwise than by `read`."""

    def __init__(self):
        super().__init__()
        self.scale = tf.Variable(2.0, name="scale")

    def __call__(self, senders, *_):
        return senders * self.scale


class DirectUpdate(NodeUpdate):
    def __init__(self):
        super().__init__()
        self.scale = tf.Variable(2.0, name="scale")

    def __call__(self, messages, x, hidden, cell):
        return hidden + self.scale * messages, cell


@pytest.mark.parametrize("parts", [{"message_fn": Direct}, {"node_update": DirectUpdate}])
def test_variables_read_directly_train_and_are_refused_where_that_is_not_possible(parts):
    parts = {name: part() for name, part in parts.items()}
    network, features = RecurrentRelationalNetwork(3, SIZE, **parts), normal(2, 3)
    (scale,) = [v for v in network.variables if v.name == "scale:0"]
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(network(pair(), features, 2)[-1])
    assert abs(tape.gradient(loss, scale)) > 0
    message = r"must read its variables with .*reading.read, and read otherwise: scale:0"
    with pytest.raises(ValueError, match=message), tf.GradientTape() as tape:
        tape.gradient(network(pair(), features, 2, recompute=True), scale)
    with pytest.raises(ValueError, match=message):
        compiled(network, lambda: network(pair(), features, 16)[-1])


# Wrong calls


def network_of(**wrong):
    return RecurrentRelationalNetwork(**{"input_size": 3, "hidden_size": SIZE, **wrong})


def call(graph=None, features=(2, 3), edges=(3, EDGE), globals_=(1, GLOBAL), num_steps=1, **more):
    """A step of a network on shapes, or on values that are no tuples."""
    network = RecurrentRelationalNetwork(3, SIZE, edge_size=EDGE, global_size=GLOBAL)
    values = (tf.ones(x) if isinstance(x, tuple) else x for x in (features, edges, globals_))
    features, edges, globals_ = values
    return network(graph or pair(), features, num_steps, edges, globals_, **more)


def call_union(edges):
    union = GraphUnion([pair(), pair()], [2, 2], [1, 1])
    return call(union, (4, 3), edges, (2, GLOBAL))


def resume(**wrong):
    network = RecurrentRelationalNetwork(3, SIZE)
    state = {"hidden": [2, SIZE], "cell": [2, SIZE], "started": [2], **wrong}
    return network.segment(
        pair(), tf.ones([2, 3]), 1, RecurrentState(**{k: tf.zeros(v) for k, v in state.items()})
    )


class Gives(NodeUpdate):
    """Returns what it is given, and starts with a number of each node."""

    def __init__(self, *result):
        super().__init__()
        self.result = result

    def initial_state(self, x):
        return x, tf.zeros([tf.shape(x)[0]])

    def __call__(self, messages, x, hidden, cell):
        return tuple(tf.ones(shape) for shape in self.result)


def given_by_an_update(*result):
    return network_of(node_update=Gives(*result))(pair(), tf.ones([2, 3]), 1)


DROP = {"edge_keep_probability": 0.5}


@pytest.mark.parametrize(
    "wrong, message",
    [
        (lambda: network_of(hidden_size=8.0), "hidden_size must be an integer .* 1, got 8.0"),
        (lambda: network_of(input_size=0), "input_size must be an integer of at least 1, got 0"),
        (lambda: network_of(num_hidden_layers=0), "num_hidden_layers must be .* 1, got 0"),
        (lambda: network_of(edge_size=-1), "edge_size must be an integer of at least 0, got -1"),
        (lambda: network_of(compute_dtype="int32"), "compute_dtype must be .*, got 'int32'"),
        (lambda: network_of(node_update="rnn"), "node_update must be one of 'lstm', .*got 'rnn'"),
        (lambda: network_of(node_update=Momentum), "node_update must be one of 'lstm'"),
        (lambda: call(graph=([0], [1])), "graph must be an rrn.Graph, got tuple"),
        (lambda: call(features=(3, 3)), r"features must .*input_size\] = \(2, 3\), got \(3, 3\)"),
        (lambda: call(features=(2, 4)), r"features must .* = \(2, 3\), got \(2, 4\)"),
        (lambda: call(features=None), "features must be a tensor or an array of .*, got None"),
        (lambda: call(features=[[1.0], [1.0, 2.0]]), r"features must be .* got \[\[1.0\]"),
        (lambda: call(edges=(1, EDGE)), r"edges must .*edge_shape, size\] = \(3, 3\), got \(1, 3"),
        (lambda: call(edges=None), "edge_size=3 and global_size=2, got edges=None"),
        (lambda: call(globals_=(2, GLOBAL)), r"globals_ must .* = \(1, 2\), got \(2, 2\)"),
        (lambda: call(globals_=None), "edge_size=3 .* got edges=values and globals_=None"),
        (lambda: call_union(tf.ones([6, EDGE])), "edges must be a list .* 2 parts, got EagerT"),
        (lambda: call_union([tf.ones([3, EDGE])]), "edges must be a list .* 2 parts, got 1"),
        (lambda: call_union([tf.ones([3, 3]), tf.ones([1, 3])]), r"edges\[1\] must have .* got"),
        (lambda: call(num_steps=0), "num_steps must be an integer of at least 1, got 0"),
        (lambda: call(num_steps=1.5), "num_steps must be an integer of at least 1, got 1.5"),
        (lambda: call(edge_keep_probability=0.0), "must be above 0 and at most 1, got 0.0"),
        (lambda: call(edge_keep_probability=np.nan), "must be above 0 and at most 1, got nan"),
        (lambda: call(**DROP), "edge_keep_probability=0.5 needs uniform"),
        (
            lambda: call(**DROP, uniform=lambda *_: tf.ones([1])),
            r"uniform returns must have shape \[\*edge_shape\] = \(3,\), got \(1,\)",
        ),
        (lambda: resume(hidden=[3, SIZE]), r"state: hidden must have .* \(2, 6\), got \(3, 6\)"),
        (lambda: resume(cell=[2, 5]), r"state: cell must have .* \(2, 6\), got \(2, 5\)"),
        (lambda: resume(started=[3]), r"state.started must have .* \(2,\), got \(3,\)"),
        (lambda: given_by_an_update([2, 5], [2]), r"update Gives returns: hidden must .*\(2, 5\)"),
        (lambda: given_by_an_update([2, 6], [3]), r"returns: cell must have .* = \(2,\), got"),
    ],
)
def test_a_wrong_call_is_named_with_what_would_be_right(wrong, message):
    with pytest.raises(ValueError, match=message):
        wrong()


@pytest.mark.parametrize(
    "options", [{"node_update": "gru"}, {"aggregate": "mean"}, {"aggregate": "max"}]
)
def test_the_plain_formulation_refuses_parts_that_the_paper_has_not(options):
    with pytest.raises(ValueError, match=r"plain.hidden_states: network must have the default"):
        plain.hidden_states(network_of(**options), [0, 1], [1, 0], tf.ones([2, 3]), 1)
