"""The recurrent network's variables, what is noted of a run, and wrong calls."""

import numpy as np
import pytest
import tensorflow as tf

from rrn import (
    GraphUnion,
    NodeUpdate,
    RecurrentRelationalNetwork,
    RecurrentState,
    RegularGraph,
    SparseGraph,
)
from rrn.nn import plain
from rrn.nn.messages import MessageFunction
from rrn.variables.recorder import recording, tower_scope
from tests.compare import names_and_shapes, normal
from tests.nn.network_cases import EDGE, GLOBAL, SIZE, compiled, make_network, pair
from tests.nn.own_parts import Momentum

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
    assert len(RecurrentRelationalNetwork(3, SIZE, aggregate="max").mlps()) == 3


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
