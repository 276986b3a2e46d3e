"""Networks with parts of one's own: what holds for the default's parts holds for them."""

import keras
import numpy as np
import pytest
import tensorflow as tf

import rrn.nn.network
from rrn import (
    MLP,
    Linear,
    NodeUpdate,
    RecurrentRelationalNetwork,
    RecurrentState,
    RegularGraph,
    SparseGraph,
)
from rrn.compiling import run_compiled
from rrn.keras import ModuleLayer
from rrn.nn import plain
from rrn.nn.aggregation import AGGREGATES
from rrn.training.step import Trainer
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
from tests.helpers import CPUS, LineTask, line_batches, line_config, towers_of
from tests.nn.graph_cases import FORMS, draw_edges, make_case, unite
from tests.nn.own_parts import Gated, Momentum

SIZE, EDGE, GLOBAL = 6, 3, 2


def pair():
    return SparseGraph([0, 1, 1], [1, 1, 0], 2)


def keyed_draws(shape, step, part):
    return keyed_uniform(fold_in([1, 2], step, part), shape)


def make_network(aggregate="softmax", dtype=tf.float32, node_update=None, others=0, **options):
    """A network with parts of one's own; with a node update "lstm" or "gru", only the messages."""
    message_fn = Gated(SIZE, SIZE, others, 2 if aggregate == "softmax" else 0, dtype)
    network = RecurrentRelationalNetwork(
        3,
        SIZE,
        message_fn=message_fn,
        aggregate=aggregate,
        node_update=node_update or Momentum(SIZE, SIZE, dtype),
        compute_dtype=dtype,
        **options,
    )
    randomize(network)
    return network


def test_own_parts_equal_a_loop_over_edges_nodes_and_steps():
    network, features = make_network("sum"), normal(3, 3)
    senders, receivers = [0, 2, 1, 1], [1, 1, 0, 1]  # node 2 hears nobody
    actual, state = network.segment(SparseGraph(senders, receivers, 3), features, 3, None)
    x = network.input_fn(features).numpy()
    heard, h, v = x, list(np.zeros_like(x)), list(0.1 * x)  # the first messages are those of x
    for states in actual:
        sums = np.zeros([3, SIZE])
        for i, j in zip(senders, receivers, strict=True):
            sums[j] += network.message_fn.function.of_numpy(heard[i], heard[j])[0]
        nodes = [network.node_update.of_numpy(sums[j], x[j], h[j], v[j]) for j in range(3)]
        h, v = (list(rows) for rows in zip(*nodes, strict=True))
        heard = h
        assert_close(states, h)
    assert_close(state.cell["v"][0], np.reshape(v, [3, 2, SIZE // 2]))
    assert state.cell["age"].numpy().tolist() == [3, 3, 3]


def test_a_gru_equals_a_loop_over_steps():
    network, features = RecurrentRelationalNetwork(3, SIZE, 1, node_update="gru"), normal(2, 3)
    randomize(network)
    cell = network.node_update.cell
    x = network.input_fn(features)
    hidden, state = x, (tf.zeros([2, SIZE]), ())
    for actual in network(pair(), features, 3):
        messages = plain.messages(network.message_fn.mlp, hidden, *pair().edge_list())
        sums = plain.sum_messages(messages, [1, 1, 0], 2)
        state = cell(network.node_fn(tf.concat([sums, x], axis=1)), state)
        hidden = state[0]
        assert_close(actual, hidden)
    assert network.segment(pair(), features, 1, None)[1].cell == ()


@pytest.mark.parametrize("node_update", ["lstm", "gru", "own"])
@pytest.mark.parametrize("aggregate", AGGREGATES)
def test_gradients_reach_every_variable(aggregate, node_update):
    graph, _, _, real, num_graphs = make_case("union")
    given = draw_edges(graph, EDGE), normal(num_graphs, GLOBAL)
    network = make_network(
        aggregate,
        node_update=None if node_update == "own" else node_update,
        others=EDGE + GLOBAL,
        edge_size=EDGE,
        global_size=GLOBAL,
    )
    with tf.GradientTape() as tape:
        states = network(graph, normal(len(real), 3), 3, *given)
        loss = tf.add_n([tf.reduce_sum(tf.boolean_mask(h, real) ** 2) for h in states])
    for variable, gradient in zip(
        network.variables, tape.gradient(loss, network.variables), strict=True
    ):
        assert gradient is not None and np.any(gradient), variable.name


@pytest.mark.parametrize("aggregate", AGGREGATES)
def test_permuting_nodes_and_edges_permutes_the_states(aggregate):
    graph, *_ = make_case("sparse")
    network = make_network(aggregate, others=EDGE, edge_size=EDGE)
    random = np.random.default_rng(0)
    order, edge_order = random.permutation(7), random.permutation(8)
    place = np.argsort(order)  # node order[k] stands at place k
    senders, receivers = (place[x.numpy()][edge_order] for x in (graph.senders, graph.receivers))
    features, edges = normal(7, 3), normal(8, EDGE, seed=1)
    expected = network(graph, features, 3, edges)
    permuted = SparseGraph(senders, receivers, 7)
    actual = network(permuted, tf.gather(features, order), 3, tf.gather(edges, edge_order))
    for a, e in zip(actual, expected, strict=True):
        assert_close(a, tf.gather(e, order))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("node_update", ["own", "gru"])
def test_segments_one_after_the_other_are_one_run(form, node_update):
    graph, _, _, real, _ = make_case(form)
    network = make_network(node_update=None if node_update == "own" else node_update)
    features = normal(len(real), 3)
    whole, last = network.segment(graph, features, 5, None)
    state, parts = network.initial_state(len(real)), []
    for num_steps in (2, 1, 2):
        hidden, state = network.segment(graph, features, num_steps, state)
        parts += hidden
    for actual, expected in zip(parts, whole, strict=True):
        assert_close(tf.boolean_mask(actual, real), tf.boolean_mask(expected, real))
    tf.nest.assert_same_structure(state, last)
    for actual, expected in zip(*map(tf.nest.flatten, (state, last)), strict=True):
        assert actual.dtype == expected.dtype
        assert_close(tf.boolean_mask(actual, real), tf.boolean_mask(expected, real))


def test_in_a_carried_batch_nodes_that_have_not_started_begin_anew():
    network, features, ring = make_network(), normal(8, 3), [[1, 3], [2, 0], [3, 1], [0, 2]]
    both, one = RegularGraph(ring, 2), RegularGraph(ring, 1)
    _, state = network.segment(both, features, 3, None)
    started = tf.constant([True] * 4 + [False] * 4)  # what stands where not means nothing
    hidden, state = network.segment(both, features, 2, state._replace(started=started))
    assert_close(hidden[-1][:4], network(one, features[:4], 5)[-1])
    assert_close(hidden[-1][4:], network(one, features[4:], 2)[-1])
    assert state.cell["age"].numpy().tolist() == [5] * 4 + [2] * 4


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("aggregate", ["max", "softmax"])
def test_recomputing_changes_neither_states_nor_gradients(form, aggregate):
    graph, _, _, real, _ = make_case(form)
    network = make_network(aggregate, others=EDGE, edge_size=EDGE)
    features, edges = normal(len(real), 3), draw_edges(graph, EDGE)

    def states(recompute):
        dropout = {"edge_keep_probability": 0.6, "uniform": keyed_draws}
        return network(graph, features, 3, edges, recompute=recompute, **dropout)

    sources = [features, *network.variables]
    assert_same(lambda: states(True), lambda: states(False), sources, real, SIZE)


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("num_steps", [2, 4])  # 4 are a loop over blocks of 2
@pytest.mark.parametrize("node_update", ["own", "gru"])
def test_xla_changes_neither_states_nor_gradients(form, num_steps, node_update, monkeypatch):
    monkeypatch.setattr(rrn.nn.network, "UNROLLED_STEPS", 2)
    parts = ["fully_connected", "sparse", "regular"]  # XLA has no gradients of an empty one
    case = unite(map(make_case, parts)) if form == "union" else make_case(form)
    graph, _, _, real, num_graphs = case
    network = make_network(
        node_update=None if node_update == "own" else node_update,
        others=EDGE + GLOBAL,
        edge_size=EDGE,
        global_size=GLOBAL,
    )
    features = normal(len(real), 3)
    given = draw_edges(graph, EDGE), normal(num_graphs, GLOBAL)
    weights = normal(np.sum(real), SIZE, seed=9)

    def states():
        hidden, state = network.segment(graph, features, num_steps, None, *given)
        return [*hidden, state.hidden]

    def run():
        return value_and_gradients(states, [features, given[1]], real, weights)

    @tf.function(autograph=False)
    def compiled():
        variables = [v for v in network.variables if v.dtype.is_floating]
        values = values_of(variables)

        def with_values():
            with reading_scope(dict(values)):
                return run()

        return run_compiled(with_values)

    expected, gradients = run()
    found, compiled_gradients = compiled()
    for actual, right in zip(found, expected, strict=True):
        assert_close(actual, right, 1e-4)
    for actual, right in zip(compiled_gradients, gradients, strict=True):
        assert_close(actual, right, 1e-4)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("aggregate", AGGREGATES)
def test_bfloat16_is_close_to_float32(form, aggregate):
    graph, _, _, real, _ = make_case(form)
    states = []
    for dtype in (tf.float32, tf.bfloat16):
        network = make_network(aggregate, dtype, others=EDGE, edge_size=EDGE)
        hidden, state = network.segment(
            graph, normal(len(real), 3), 3, None, draw_edges(graph, EDGE)
        )
        assert {h.dtype for h in hidden} == {tf.float32} == {state.cell["v"][0].dtype}
        states.append(tf.boolean_mask(hidden[-1], real))
    assert 0 < tf.norm(states[1] - states[0]) / tf.norm(states[0]) < 0.03


def test_an_own_update_hears_the_fast_sums_and_own_messages_reach_post():
    """Either part alone may be of one's own."""
    update = Momentum(SIZE, SIZE)
    network = RecurrentRelationalNetwork(3, SIZE, node_update=update)
    assert "node_fn/linear_0/w" not in names_and_shapes(network)
    general = RecurrentRelationalNetwork(3, SIZE, node_update="lstm", aggregate="mean")
    both = RecurrentRelationalNetwork(3, SIZE, node_update=update, aggregate="sum")
    randomize(network)
    for to, from_ in zip(both.variables, network.variables, strict=True):
        to.assign(from_)
    x, features = network.input_fn(normal(2, 3)), normal(2, 3)
    sums = plain.sum_messages(
        plain.messages(network.message_fn.mlp, x, *pair().edge_list()), [1, 1, 0], 2
    )
    expected, _ = update(sums, x, *update.initial_state(x))
    assert_close(network(pair(), features, 1)[0], expected)
    # A mean of one's own, post and LSTM, as they are written.
    randomize(general)
    x = general.input_fn(features)
    m = general.message_fn(pair(), x, general.message_fn.prepare(pair()))
    zeros = tf.zeros([2, SIZE])
    h, _ = plain.update_nodes(general.node_fn, general.lstm, m, x, (zeros, zeros))
    assert_close(general(pair(), features, 1)[0], h)


class GraphTask(LineTask):
    """y is a line of the sum over four nodes that hear each other; the parts are one's own."""

    def __init__(self):
        super().__init__()
        self.network.rrn = RecurrentRelationalNetwork(
            2,
            SIZE,
            1,
            message_fn=Gated(SIZE, SIZE),
            aggregate="mean",
            node_update=Momentum(SIZE, SIZE),
        )
        self.network.linear = Linear(SIZE, 1, name="network_linear")

    def loss(self, encodings, batch, random, training):
        examples = batch["y"].shape[0]
        graph = RegularGraph([[1, 2], [2, 3], [3, 0], [0, 1]], examples)
        features = encodings["h"][:, None] * tf.constant([[1.0], [2.0], [3.0], [-1.0]])
        hidden = self.network.rrn(graph, tf.reshape(features, [-1, 2]), 4)
        line = self.network.linear(graph.sum_nodes(hidden[-1]))[:, 0]
        loss = (line + batch["noise"] - batch["y"]) ** 2
        return {"loss": loss}, {"loss": loss}


def five_updates(devices, compiled=False):
    """The variables after updates on the devices, each of which has its part of the examples."""
    tf.random.set_seed(0)
    task, size = GraphTask(), 6 // len(devices)
    places = [range(i * size, (i + 1) * size) for i in range(len(devices))]
    inputs = [line_batches(task, [[(u + p) % 12 for p in own] for u in range(5)]) for own in places]
    specs = [dataset.element_spec for dataset in inputs]
    trainer = Trainer(task, line_config(), towers_of(task, devices, compiled), specs)
    for batches in zip(*inputs, strict=True):
        trainer.update_once(batches)
    return [variable.numpy() for variable in trainer.model_variables]


@pytest.mark.slow
def test_several_devices_equal_one_and_compiled_towers_those_that_are_not(monkeypatch):
    monkeypatch.setattr(rrn.nn.network, "UNROLLED_STEPS", 2)
    expected = five_updates(CPUS[:1])
    assert len(expected) == len(GraphTask().network.variables) + 3
    for devices, compiled in ((CPUS[:3], False), (CPUS[1:], True)):
        for actual, right in zip(five_updates(devices, compiled), expected, strict=True):
            np.testing.assert_allclose(actual, right, rtol=0, atol=2e-5)


def test_own_parts_note_what_the_default_notes():
    network = make_network()
    with recording() as towers, tower_scope("tower 0"):
        network(RegularGraph([[1], [0]], 1), tf.ones([2, 3]), 2)
    names = [name for name, _, _ in towers["tower 0"].tensors]
    assert names == ["step_1/hidden", "step_2/hidden"]


def test_one_trace_takes_sparse_graphs_of_all_sizes():
    network = make_network(others=EDGE, edge_size=EDGE)
    rows = tf.TensorSpec([None, 3])

    @tf.function(input_signature=[SparseGraph.spec(), rows, rows], autograph=False)
    def states(graph, features, edges):
        return network.segment(graph, features, 2, None, edges)

    for graph in (make_case("sparse")[0], pair(), SparseGraph(*2 * [tf.zeros([0], tf.int32)], 3)):
        given = normal(int(graph.num_nodes), 3), normal(len(graph.senders), EDGE)
        found = states(graph, *given), network.segment(graph, given[0], 2, None, given[1])
        for actual, expected in zip(*map(tf.nest.flatten, found), strict=True):
            assert_close(actual, expected)
    assert states.experimental_get_tracing_count() == 1


# Variables that are read by another way than rrn.variables.reading.read


class Direct(tf.Module):
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
    message = r"Direct.* must read its variables with .*reading.read, and read otherwise: scale:0"
    with pytest.raises(ValueError, match=message), tf.GradientTape() as tape:
        tape.gradient(network(pair(), features, 2, recompute=True), scale)

    @tf.function(autograph=False)
    def compiled():
        return run_compiled(lambda: network(pair(), features, 16)[-1])

    with pytest.raises(ValueError, match=message):
        compiled()


# Keras


class OwnNetwork(tf.Module):
    """What `ModuleLayer` can make again: a class that makes the parts and the network."""

    def __init__(self, size, compute_dtype=tf.float32):
        super().__init__()
        self.rrn = RecurrentRelationalNetwork(
            3,
            size,
            message_fn=Gated(size, size, dtype=compute_dtype),
            node_update=Momentum(size, size, compute_dtype),
            compute_dtype=compute_dtype,
        )

    def __call__(self, graph, features):
        return self.rrn(graph, features, 2)[-1]


def test_a_keras_layer_has_parts_of_ones_own_by_a_class_that_makes_them():
    layer = ModuleLayer(OwnNetwork, {"size": SIZE})
    with tf.GradientTape() as tape:
        states = layer(graph=pair(), features=normal(2, 3))
        loss = tf.reduce_sum(states**2)
    weights = [weight.value for weight in layer.trainable_weights]
    assert len(weights) == len(OwnNetwork(SIZE).variables)
    assert all(np.any(gradient) for gradient in tape.gradient(loss, weights)[-4:])
    with keras.saving.custom_object_scope({"OwnNetwork": OwnNetwork}):
        copy = ModuleLayer.from_config(layer.get_config())
    copy.set_weights(layer.get_weights())
    np.testing.assert_array_equal(copy(graph=pair(), features=normal(2, 3)), states)
    sizes = {"input_size": 3, "hidden_size": SIZE}
    with pytest.raises(ValueError, match="saved as JSON, got a module for message_fn, a Gated"):
        ModuleLayer(RecurrentRelationalNetwork, {**sizes, "message_fn": Gated(SIZE, SIZE)})
    gru = ModuleLayer(RecurrentRelationalNetwork, {**sizes, "node_update": "gru"})
    assert gru(graph=pair(), features=normal(2, 3), num_steps=1)[0].shape == (2, SIZE)


# Wrong parts and states


class Gives(NodeUpdate):
    """Returns what it is given, and begins with a number of each node."""

    def __init__(self, result):
        super().__init__()
        self.result = result

    def initial_state(self, x):
        return x, tf.zeros([tf.shape(x)[0]])

    def __call__(self, messages, x, hidden, cell):
        return self.result


@pytest.mark.parametrize(
    "result, message",
    [
        (None, r"node update Gives returns must be a pair \(hidden, cell\), got a NoneType"),
        ((np.ones([2, 5]), np.ones(2)), r"returns: hidden must .* = \(2, 6\), got \(2, 5\)"),
        ((np.ones([2, 6]), np.ones(3)), r"returns: cell must have .* = \(2,\), got \(3,\)"),
        ((np.ones([2, 6]), ()), "cell must hold what initial_state .* gives, 1 tensors, got 0"),
        ((np.ones([2, 6]), None), "cell must be a tensor or an array of numbers, got None"),
    ],
)
def test_an_update_that_returns_something_else_is_named(result, message):
    network = RecurrentRelationalNetwork(3, SIZE, node_update=Gives(result))
    with pytest.raises(ValueError, match=message):
        network(pair(), tf.ones([2, 3]), 1)


def test_a_state_of_another_update_is_named():
    network, features = make_network(), tf.ones([2, 3])
    state = RecurrentRelationalNetwork(3, SIZE).initial_state(2)
    with pytest.raises(ValueError, match=r"state.cell must hold .* 2 tensors, got 1"):
        network.segment(pair(), features, 1, state)
    wrong = network.initial_state(2)
    wrong = RecurrentState(wrong.hidden, {**wrong.cell, "age": tf.zeros([3])}, wrong.started)
    with pytest.raises(ValueError, match=r"state.cell\[0\] must .*nodes, ...\] = \(2,\), got \(3,"):
        network.segment(pair(), features, 1, wrong)


@pytest.mark.parametrize("wrong", ["rnn", True, Momentum, lambda: MLP([3, 3])])
def test_a_node_update_that_is_none_is_refused(wrong):
    message = "node_update must be one of 'lstm', 'gru', None or an rrn.NodeUpdate, got "
    with pytest.raises(ValueError, match=message):
        RecurrentRelationalNetwork(3, SIZE, node_update=wrong)


def test_an_update_without_call_says_so():
    network = RecurrentRelationalNetwork(3, SIZE, node_update=NodeUpdate())
    with pytest.raises(NotImplementedError, match="NodeUpdate has no __call__"):
        network(pair(), tf.ones([2, 3]), 1)


@pytest.mark.parametrize(
    "options",
    [
        lambda: {"node_update": "gru"},
        lambda: {"aggregate": "mean"},
        lambda: {"node_update": Momentum(6, 6)},
    ],
)
def test_the_plain_formulation_refuses_parts_that_the_paper_has_not(options):
    network = RecurrentRelationalNetwork(3, SIZE, **options())
    with pytest.raises(ValueError, match=r"plain.hidden_states: network must have the default"):
        plain.hidden_states(network, [0, 1], [1, 0], tf.ones([2, 3]), 1)
