"""The recurrent relational network.

It computes what `rrn.plain` computes, which follows the paper's equations (Palm et al. 2018) word
for word; read that page first. Here it is the same with fewer operations:

- `rrn.messages` computes sums of messages with few operations on edges.
- Two linear layers in a row are multiplied out once for all steps: the message function's last with
  the first of post, and the last of post with the LSTM's.
- The products with x do not change from step to step, and are computed once.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import tensorflow as tf

from rrn.checks import check_shape, check_sizes, float_type
from rrn.compiling import is_compiling
from rrn.graphs import EdgeValues, Graph
from rrn.graphs.checks import check_edge_values, check_graph
from rrn.layers import MLP, LSTMCell
from rrn.loops import loop
from rrn.messages import MessageFunction, PreparedMessages
from rrn.noting import note
from rrn.random import dropout_weights
from rrn.reading import reading_scope, values_of
from rrn.recompute import recomputed

UNROLLED_STEPS = 8  # at most, within XLA: each step more takes longer to compile

# Draws in [0, 1) of a shape, for a step and a part of a union: uniform(shape, step, part).
Uniform = Callable[[tf.Tensor, int, int], tf.Tensor]


class RecurrentState(NamedTuple):
    """What a network keeps of its nodes between two segments of steps.

    Attributes:
      hidden: `[nodes, hidden_size]`.
      cell: the LSTM's cell state `[nodes, hidden_size]`, None without LSTM.
      started: booleans `[nodes]`, whether a node has made a step. Where it has not, hidden and cell
        are zero.
    """

    hidden: tf.Tensor
    cell: tf.Tensor | None
    started: tf.Tensor


class _PreparedStep(NamedTuple):
    """What a network computes once for all steps.

    messages: the message function's part.
    input_terms: `[nodes, hidden_size]`, what x contributes to post's first layer, bias included.
    kernels: with LSTM, the kernel and bias of post's last layer and the LSTM multiplied out;
      without, the rows of post's first kernel that multiply h.
    """

    messages: PreparedMessages
    input_terms: tf.Tensor
    kernels: Sequence[tf.Tensor]


class RecurrentRelationalNetwork(tf.Module):
    """The network's recurrent core, on any `rrn.Graph`.

    h(0) = x = input_fn(features), and at every step t = 1 ... T

        m(t)       = message_fn(h(t-1))              the sums of messages
        z(t)       = node_fn([m(t), x])              the paper's post
        h(t), c(t) = LSTM(z(t), h(t-1), c(t-1))

    or, without LSTM,

        h(t)       = node_fn([m(t), x, h(t-1)])

    The same variables serve every step. The LSTM's own h and c start at zero, while the first
    messages are those of x, as in the paper. Variables are named by their place, such as
    `message_fn/linear_0/w`; make two networks within two `tf.name_scope`s.

    Args:
      input_size: the number of a node's features.
      hidden_size: the size of states, messages and all layers.
      num_hidden_layers: the number of ReLU layers of input_fn, message_fn and node_fn each.
      edge_size: the number of an edge's features, 0 without.
      global_size: the number of a graph's globals, 0 without.
      lstm: whether an LSTM updates the nodes.
      compute_dtype: the type of matrix products and of what runs on edges; states are float32.
      name: the module's name.

    Raises:
      ValueError: a size is below 1 (edge_size and global_size: below 0), or compute_dtype is no
        type of floats.
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_hidden_layers: int = 3,
        edge_size: int = 0,
        global_size: int = 0,
        lstm: bool = True,
        compute_dtype: tf.DType | str = tf.float32,
        name: str = "rrn",
    ):
        super().__init__(name=name)
        module = "RecurrentRelationalNetwork"
        sizes = {"input_size": input_size, "hidden_size": hidden_size}
        check_sizes(module, **sizes, num_hidden_layers=num_hidden_layers)
        float_type(f"{module}: compute_dtype", compute_dtype)
        self.input_size, self.hidden_size = input_size, hidden_size
        hidden = [hidden_size] * num_hidden_layers
        self.input_fn = MLP([input_size, *hidden, hidden_size], compute_dtype, name="input_fn")
        self.message_fn = MessageFunction(
            hidden_size, hidden, hidden_size, edge_size, global_size, compute_dtype
        )
        self._node_fn_inputs = [hidden_size] * (2 if lstm else 3)
        sizes = [sum(self._node_fn_inputs), *hidden, hidden_size]
        self.node_fn = MLP(sizes, compute_dtype, name="node_fn")
        self.lstm = LSTMCell(hidden_size, hidden_size, compute_dtype) if lstm else None

    def initial_state(self, num_nodes: int | tf.Tensor) -> RecurrentState:
        """Makes the state of nodes that have made no step.

        Args:
          num_nodes: the number of nodes.

        Returns:
          A state of zeros.
        """
        zeros = tf.zeros([num_nodes, self.hidden_size])
        return RecurrentState(
            hidden=zeros,
            cell=zeros if self.lstm else None,
            started=tf.zeros([num_nodes], tf.bool),
        )

    def __call__(
        self,
        graph: Graph,
        features: tf.Tensor,
        num_steps: int,
        edges: EdgeValues | None = None,
        globals_: tf.Tensor | None = None,
        **options: Any,
    ) -> list[tf.Tensor]:
        """Runs the network from the start.

        Args:
          graph, features, num_steps, edges, globals_: see `segment`.
          **options: edge_keep_probability, uniform and recompute; see `segment`.

        Returns:
          The hidden states of every step, a list of `num_steps` tensors `[nodes, hidden_size]`.

        Raises:
          ValueError: see `segment`.
        """
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
        """Runs some steps from a state.

        Segments one after the other, each from the state that the one before returned, make the
        steps of one call. With `tf.stop_gradient` on the states between them, gradients flow
        through one segment alone.

        Args:
          graph: who sends to whom.
          features: `[nodes, input_size]`.
          num_steps: the number of steps, at least 1.
          state: where to go on; None for `initial_state`.
          edges: `[*edge_shape, edge_size]`, a list of such for a union; None without.
          globals_: `[graphs, global_size]`; None without.
          edge_keep_probability: the probability of a message to be kept. Those that are kept are
            scaled up by its inverse, the others are dropped.
          uniform: a function (shape, step, part) that returns draws in [0, 1) of the shape, needed
            where messages are dropped. It is asked at every step, for every part of a union.
          recompute: keep h and c of every step alone, and compute the rest again in the backward
            pass: less memory, more time.

        Returns:
          The hidden states of every step, a list of `num_steps` tensors `[nodes, hidden_size]`; and
          the state after the last step.

        Raises:
          ValueError: num_steps is no integer of at least 1, a value does not fit the network or the
            graph, or messages are to be dropped without `uniform`.
        """
        check_sizes("RecurrentRelationalNetwork", num_steps=num_steps)
        self._check_values(graph, features, state)
        _check_dropout("RecurrentRelationalNetwork", edge_keep_probability, uniform)
        x = self.input_fn(features)
        prepared = self._prepare(graph, x, edges, globals_)

        def advance(step, hidden, lstm_state, prepared):
            weights = None
            if edge_keep_probability < 1.0:
                weights = edge_dropout(graph, edge_keep_probability, uniform, step)
            return self._advance(graph, hidden, lstm_state, prepared, weights)

        if recompute:
            modules = [m for m in (self.message_fn, self.node_fn, self.lstm) if m]
            advance = recomputed(advance, [v for m in modules for v in m.trainable_variables])
        hidden, lstm_state, states = x, None, []
        if state is not None:
            hidden = tf.where(state.started[:, None], state.hidden, tf.cast(x, tf.float32))
            lstm_state = (state.hidden, state.cell) if self.lstm else None
        if is_compiling() and num_steps > UNROLLED_STEPS and not uniform:
            states, lstm_state = self._loop(advance, num_steps, hidden, lstm_state, prepared)
        else:
            for step in range(num_steps):
                with tf.name_scope(f"step_{step + 1}"):
                    lstm_state = advance(step, hidden, lstm_state, prepared)
                    hidden = lstm_state[0]
                    note("hidden", hidden)
                states.append(hidden)
        cell = lstm_state[1] if self.lstm else None
        started = tf.ones(tf.shape(states[-1])[:1], tf.bool)
        return states, RecurrentState(states[-1], cell, started)

    def _loop(self, advance, num_steps, hidden, lstm_state, prepared):
        """Many steps as a loop over blocks of a few, which XLA compiles once: (states, (h, c))."""
        block = max(d for d in range(1, UNROLLED_STEPS + 1) if num_steps % d == 0)
        modules = [m for m in (self.message_fn, self.node_fn, self.lstm) if m]
        values = values_of(variable for module in modules for variable in module.variables)
        hidden = tf.cast(hidden, tf.float32)
        if self.lstm and lstm_state is None:
            lstm_state = tf.zeros_like(hidden), tf.zeros_like(hidden)

        def turn(state, constants):
            (hidden, lstm_state), states = state, []
            prepared, given = constants
            with reading_scope(dict(zip(values, given, strict=True))):
                for _ in range(block):
                    lstm_state = advance(0, hidden, lstm_state, prepared)
                    hidden = lstm_state[0]
                    states.append(hidden)
            return (hidden, lstm_state), tf.stack(states)

        begin, shape = (hidden, lstm_state or (hidden,)), [block, *hidden.shape]
        constants = prepared, list(values.values())
        (_, lstm_state), states = loop(turn, begin, constants, num_steps // block, shape)
        return tf.unstack(tf.reshape(states, [num_steps, *hidden.shape])), lstm_state

    def _check_values(self, graph, features, state):
        """Refuses features and a state that do not fit the network or the graph."""
        check_graph("RecurrentRelationalNetwork", graph)
        nodes = graph.known_sizes().nodes
        name, axes = "RecurrentRelationalNetwork: features", "[nodes, input_size]"
        check_shape(name, features, axes, [nodes, self.input_size])
        if state is not None:
            self._check_state(state, nodes)

    def _check_state(self, state, nodes):
        if not isinstance(state, RecurrentState):
            got = type(state).__name__
            raise ValueError(
                f"RecurrentRelationalNetwork: state must be a RecurrentState, got a {got}"
            )
        for part in ("hidden", "cell") if self.lstm else ("hidden",):
            name, axes = f"RecurrentRelationalNetwork: state.{part}", "[nodes, hidden_size]"
            check_shape(name, getattr(state, part), axes, [nodes, self.hidden_size])
        name = "RecurrentRelationalNetwork: state.started"
        check_shape(name, state.started, "[nodes]", [nodes])

    def _prepare(self, graph, x, edges, globals_):
        """The `_PreparedStep` of x `[nodes, hidden_size]`."""
        first, last = self.node_fn.layers[0], self.node_fn.layers[-1]
        message_kernel, x_kernel, *hidden_kernel = first.split_kernel(self._node_fn_inputs)
        input_terms = first.add_bias(first.product(x, x_kernel))
        messages = self.message_fn.prepare(graph, edges, globals_, next_kernel=message_kernel)
        kernels = self.lstm.following(last) if self.lstm else hidden_kernel
        return _PreparedStep(messages, input_terms, kernels)

    def _advance(self, graph, hidden, lstm_state, prepared, edge_weights):
        """One step: the new (h, c), or (h,) without LSTM."""
        first, last = self.node_fn.layers[0], self.node_fn.layers[-1]
        messages = self.message_fn(graph, hidden, prepared.messages, edge_weights)
        note("message_sums", messages)
        z = messages + prepared.input_terms
        if self.lstm:
            z = self.node_fn.hidden_layers(z)
            return self.lstm.advance(z, lstm_state, *prepared.kernels)
        (hidden_kernel,) = prepared.kernels
        z = self.node_fn.hidden_layers(z + first.product(hidden, hidden_kernel))
        return (tf.cast(last(z), tf.float32),)


def edge_dropout(
    graph: Graph, keep_probability: float, uniform: Uniform, step: int | tf.Tensor
) -> EdgeValues:
    """Draws which messages are dropped.

    Args:
      graph: who sends to whom.
      keep_probability: the probability of a message to be kept.
      uniform: see `RecurrentRelationalNetwork.segment`.
      step: the step's number, from 0.

    Returns:
      Weights `[*edge_shape]` of the edges: 0, or 1 / keep_probability.

    Raises:
      ValueError: keep_probability is not above 0 and at most 1, or what `uniform` returns has not
        the shape that it was asked for.
    """
    _check_dropout("edge_dropout", keep_probability, uniform)
    shapes, known = graph.edge_shape(), graph.known_sizes().edge_shape
    draws = [uniform(shape, step, part) for part, shape in enumerate(tf.nest.flatten(shapes))]
    values = tf.nest.pack_sequence_as(shapes, draws)
    check_edge_values("edge_dropout: what uniform returns", known, values)
    weights = [dropout_weights(part_draws, keep_probability) for part_draws in draws]
    return tf.nest.pack_sequence_as(shapes, weights)


def _check_dropout(name, keep_probability, uniform):
    """Refuses a wrong probability, and dropping messages without draws."""
    try:
        right = 0 < keep_probability <= 1
    except TypeError:  # no number, or one that only a run knows
        right = False
    if not right:
        raise ValueError(
            f"{name}: edge_keep_probability must be above 0 and at most 1, got {keep_probability!r}"
        )
    if keep_probability < 1 and not callable(uniform):
        raise ValueError(
            f"{name}: edge_keep_probability={keep_probability} needs uniform, a function "
            f"(shape, step, part) that returns draws in [0, 1), got {uniform!r}"
        )
