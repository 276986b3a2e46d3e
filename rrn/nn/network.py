"""The recurrent relational network.

It computes what `rrn.nn.plain` computes, which follows the paper's equations (Palm et al. 2018)
word for word; read that page first. Here it is the same with fewer operations:

- Sums of messages take few operations on edges; see `rrn.nn.messages`.
- Two linear layers in a row are multiplied out once for all steps: the message function's last with
  the first of post, and the last of post with the LSTM's.
- The products with x do not change from step to step, and are computed once.

This is of the default parts; any module may be the message function and the node update.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import tensorflow as tf

from rrn.compiling import is_compiling
from rrn.nn.cells import LSTMCell
from rrn.nn.checks import check_edges, check_shape, check_sizes
from rrn.nn.graphs import EdgeValues, Graph
from rrn.nn.layers import MLP
from rrn.nn.loops import Loop, recomputed
from rrn.nn.messages import make_aggregation
from rrn.nn.node_updates import CELLS, NodeUpdate, PostUpdate, as_state
from rrn.variables.random import dropout_weights
from rrn.variables.reading import checked_reads, reading_scope, values_of
from rrn.variables.recorder import record

NAME = "RecurrentRelationalNetwork"
UNROLLED_STEPS = 8  # at most, within XLA: each step more takes longer to compile

Uniform = Callable[[tf.Tensor, int | tf.Tensor, int], tf.Tensor]


class RecurrentState(NamedTuple):
    """What a network keeps of its nodes between two segments of steps.

    Attributes:
      hidden: h `[nodes, hidden_size]`.
      cell: what the node update keeps beside h, a nest of tensors `[nodes, ...]`. Of the LSTM it is
        the cell state.
      started: booleans `[nodes]`, whether a node has made a step. Where it has not, hidden and cell
        mean nothing.
    """

    hidden: tf.Tensor
    cell: Any
    started: tf.Tensor


class RecurrentRelationalNetwork(tf.Module):
    """The network's recurrent core, on any `rrn.Graph`.

    h(0) = x = input_fn(features), and at every step t = 1 ... T

        m(t)       = message_fn(h(t-1))              the sums of messages
        z(t)       = node_fn([m(t), x])              the paper's post
        h(t), c(t) = LSTM(z(t), h(t-1), c(t-1))

    or, without a recurrent cell,

        h(t)       = node_fn([m(t), x, h(t-1)])

    The same variables serve every step. The LSTM's own h and c start at zero, while the first
    messages are those of x, as in the paper. Variables are named by their place, such as
    `message_fn/linear_0/w`; make two networks within two `tf.name_scope`s.

    Args:
      num_hidden_layers: the number of ReLU layers of input_fn, message_fn and node_fn each.
      node_update: "lstm", "gru" (`rrn.GRUCell`) or None, each after or with an MLP, node_fn; or an
        `rrn.NodeUpdate` instead of both.
      compute_dtype: the type of matrix products and of what runs on edges; states are float32.
      message_fn: None for an MLP; or a module that is called on every edge, see
        `rrn.nn.aggregation.EdgeMessages`; or an `rrn.Aggregation`, which does the whole of it.
      aggregate: what becomes of the messages to a node, "sum", "mean", "max" or "softmax". Sums and
        means of the MLP's messages are faster than all else.
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_hidden_layers: int = 3,
        edge_size: int = 0,
        global_size: int = 0,
        node_update: str | NodeUpdate | None = "lstm",
        compute_dtype: tf.DType | str = tf.float32,
        message_fn: tf.Module | None = None,
        aggregate: str = "sum",
        name: str = "rrn",
    ):
        super().__init__(name=name)
        check_sizes(NAME, hidden_size=hidden_size, num_hidden_layers=num_hidden_layers)
        if not (isinstance(node_update, NodeUpdate) or node_update in (*CELLS, None)):
            right = f"one of {', '.join(map(repr, CELLS))}, None or an rrn.NodeUpdate"
            raise ValueError(f"{NAME}: node_update must be {right}, got {node_update!r}")
        self.input_size, self.hidden_size = input_size, hidden_size
        hidden = [hidden_size] * num_hidden_layers
        self.input_fn = MLP([input_size, *hidden, hidden_size], compute_dtype, name="input_fn")
        self.message_fn = make_aggregation(
            message_fn, aggregate, hidden_size, hidden, edge_size, global_size, compute_dtype
        )
        if not isinstance(node_update, NodeUpdate):
            message_size, cell = self.message_fn.output_size, node_update
            node_update = PostUpdate(message_size, hidden_size, hidden, cell, compute_dtype)
        of_post = isinstance(node_update, PostUpdate)
        self.node_fn = node_update.node_fn if of_post else None
        cell = node_update.cell if of_post else None
        self.lstm = cell if isinstance(cell, LSTMCell) else None
        self.node_update = node_update

    def mlps(self) -> list[MLP]:
        """Lists its MLPs, which a task may regularize."""
        mlps = self.input_fn, self.message_fn.mlp, self.node_fn
        return [mlp for mlp in mlps if mlp is not None]

    def initial_state(self, num_nodes: int | tf.Tensor) -> RecurrentState:
        """Makes the state of nodes that have made no step."""
        state = self._first_state(tf.zeros([num_nodes, self.hidden_size]))
        hidden, cell = tf.nest.map_structure(tf.zeros_like, state)
        return RecurrentState(hidden, cell, started=tf.zeros([num_nodes], tf.bool))

    def __call__(
        self,
        graph: Graph,
        features: tf.Tensor,
        num_steps: int,
        edges: EdgeValues | None = None,
        globals_: tf.Tensor | None = None,
        **options: Any,
    ) -> list[tf.Tensor]:
        """Runs `segment` from the start; returns the hidden states of every step."""
        return self.segment(graph, features, num_steps, None, edges, globals_, **options)[0]

    def segment(
        self,
        graph: Graph,
        features: tf.Tensor,
        num_steps: int,
        state: RecurrentState | None,
        edges: EdgeValues | None = None,
        globals_: tf.Tensor | None = None,
        edge_keep_probability: float = 1.0,
        uniform: Uniform | None = None,
        recompute: bool = False,
    ) -> tuple[list[tf.Tensor], RecurrentState]:
        """Runs some steps from a state, of features `[nodes, input_size]`.

        With `tf.stop_gradient` on the state, gradients flow through this segment alone.

        Args:
          state: where to resume; None for `initial_state`.
          edges: `[*edge_shape, edge_size]`, a list of such for a union; None without.
          globals_: `[graphs, global_size]`; None without.
          edge_keep_probability: the probability of a message to be kept. Those that are kept are
            scaled up by its inverse, the others are dropped.
          uniform: a function (shape, step, part) that returns draws in [0, 1) of the shape, called
            at every step, for every part of a union; needed where messages are dropped.
          recompute: keep h and c of every step alone, and compute the rest again in the backward
            pass: less memory, more time.

        Returns:
          The hidden states of every step, a list of `num_steps` tensors `[nodes, hidden_size]`; and
          the state after the last step.
        """
        check_sizes(NAME, num_steps=num_steps)
        if not isinstance(graph, Graph):
            raise ValueError(f"{NAME}: graph must be an rrn.Graph, got {type(graph).__name__}")
        sizes = [graph.known_sizes().nodes, self.input_size]
        check_shape(f"{NAME}: features", features, "[nodes, input_size]", sizes)
        name, got = f"{NAME}: edge_keep_probability", edge_keep_probability
        if not 0 < got <= 1:
            raise ValueError(f"{name} must be above 0 and at most 1, got {got}")
        drops = got < 1
        if drops and uniform is None:
            right = "a function (shape, step, part) that returns draws in [0, 1)"
            raise ValueError(f"{name}={got} needs uniform, {right}, got None")
        x = self.input_fn(tf.convert_to_tensor(features))
        with checked_reads(NAME):  # the messages' part, the kernel that then multiplies them, x's
            for_nodes, kernel = self.node_update.prepare(tf.cast(x, self.node_update.input_dtype))
            prepared, kernel = self.message_fn.prepare_followed(kernel, graph, edges, globals_)
        constants = prepared, kernel, for_nodes
        hidden, carried = x, self._first_state(x)
        if state is not None:
            hidden, carried = _resumed(graph, state, hidden, carried)
        modules = self.message_fn, self.node_update
        advance = functools.partial(self._step, graph)
        if is_compiling() and num_steps > UNROLLED_STEPS and not drops:
            values = values_of(variable for module in modules for variable in module.variables)
            states, carried = _looped(advance, num_steps, hidden, carried, constants, values)
            return states, _state_after(*carried)
        if recompute:
            advance = recomputed(advance, [v for m in modules for v in m.trainable_variables])
        states = []
        for step in range(num_steps):
            with tf.name_scope(f"step_{step + 1}"):
                weights = None
                if drops:
                    weights = _edge_dropout(graph, edge_keep_probability, uniform, step)
                first = state is None and step == 0
                carried = advance(hidden, carried, constants, weights, first)
                hidden = carried[0]
                record("hidden", hidden)
            states.append(hidden)
        return states, _state_after(*carried)

    def _first_state(self, x):
        """The node update's (h, c) before the first step, of x `[nodes, hidden_size]`."""
        with checked_reads(NAME):
            x = tf.cast(x, self.node_update.input_dtype)
            hidden, cell = self.node_update.initial_state(x)
        return tf.cast(hidden, tf.float32), cell

    def _step(self, graph, hidden, carried, constants, edge_weights=None, first=False):
        """The node update's new (h, c), of the h of the messages and its own (h, c)."""
        prepared, kernel, x = constants
        with checked_reads(NAME):
            hidden = tf.cast(hidden, self.message_fn.input_dtype)
            messages = self.message_fn(graph, hidden, prepared, edge_weights)
            name = f"What the aggregation {type(self.message_fn).__name__} returns"
            check_shape(name, messages, "[nodes, output_size]", [hidden.shape[0], None])
            record("message_sums", messages)
            if kernel is not None:
                messages = tf.matmul(tf.cast(messages, kernel.dtype), kernel)
            messages = tf.cast(messages, self.node_update.input_dtype)
            update = self.node_update.start if first else self.node_update
            hidden, cell = update(messages, x, *carried)
        name = f"What the node update {type(self.node_update).__name__} returns"
        return as_state(name, hidden, cell, carried)


def _looped(advance, num_steps, hidden, carried, constants, values):
    """Many steps as a loop over blocks of a few, which XLA compiles once: (states, (h, c))."""
    block = max(d for d in range(1, UNROLLED_STEPS + 1) if num_steps % d == 0)

    def turn(state, constants):
        (hidden, carried), states = state, []
        constants, given = constants
        with reading_scope(dict(zip(values, given, strict=True))):
            for _ in range(block):
                carried = advance(hidden, carried, constants)
                hidden = carried[0]
                states.append(hidden)
        return (hidden, carried), tf.stack(states)

    loop = Loop(turn, num_steps // block, [block, *hidden.shape])
    begin = tf.cast(hidden, tf.float32), carried
    (_, carried), states = loop(begin, (constants, list(values.values())))
    return tf.unstack(tf.reshape(states, [num_steps, *hidden.shape])), carried


def _resumed(graph, state, x, first):
    """(h of the messages, the node update's (h, c)) with which nodes resume from a state."""
    carried = as_state(f"{NAME}: state", state.hidden, state.cell, first)
    check_shape(f"{NAME}: state.started", state.started, "[nodes]", [graph.known_sizes().nodes])

    def where_started(old, new):
        started = tf.reshape(state.started, [-1] + [1] * (old.shape.rank - 1))
        return tf.where(started, old, new)

    hidden = where_started(carried[0], tf.cast(x, tf.float32))
    return hidden, tf.nest.map_structure(where_started, carried, first)


def _state_after(hidden, cell):
    return RecurrentState(hidden, cell, started=tf.ones(tf.shape(hidden)[:1], tf.bool))


def _edge_dropout(graph, keep_probability, uniform, step):
    """Weights `[*edge_shape]` of the edges at a step: 0, or 1 / keep_probability."""
    shapes = graph.edge_shape()
    draws = [uniform(shape, step, part) for part, shape in enumerate(tf.nest.flatten(shapes))]
    draws = tf.nest.pack_sequence_as(shapes, draws)
    draws = check_edges(f"{NAME}: what uniform returns", graph, draws)
    return tf.nest.map_structure(lambda d: dropout_weights(d, keep_probability), draws)
