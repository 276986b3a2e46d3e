"""The recurrent relational network.

It computes what `rrn.nn.plain` computes, which follows the paper's equations (Palm et al. 2018)
word for word; read that page first. Here it is the same with fewer operations:

- `rrn.nn.messages` computes sums of messages with few operations on edges.
- Two linear layers in a row are multiplied out once for all steps: the message function's last with
  the first of post, and the last of post with the LSTM's.
- The products with x do not change from step to step, and are computed once.

The network is open: any module may be the message function (`rrn.nn.aggregation`) and the node
update (`rrn.nn.node_updates`). What stands above is of the default parts.
"""

import contextlib
from collections.abc import Callable
from typing import Any, NamedTuple

import tensorflow as tf

from rrn.compiling import is_compiling
from rrn.nn.aggregation import EdgeMessages
from rrn.nn.checks import check_shape, check_sizes, float_type
from rrn.nn.graphs import EdgeValues, Graph
from rrn.nn.graphs.checks import check_edge_values, check_graph
from rrn.nn.layers import MLP
from rrn.nn.loops import loop
from rrn.nn.messages import MessageFunction, make_aggregation
from rrn.nn.node_updates import CELLS, NodeUpdate, PostUpdate, as_state
from rrn.nn.recompute import recomputed
from rrn.variables.random import dropout_weights
from rrn.variables.reading import checked_reads, reading_scope, values_of
from rrn.variables.recorder import record

UNROLLED_STEPS = 8  # at most, within XLA: each step more takes longer to compile

# Draws in [0, 1) of a shape, for a step and a part of a union: uniform(shape, step, part).
Uniform = Callable[[tf.Tensor, int | tf.Tensor, int], tf.Tensor]


class RecurrentState(NamedTuple):
    """What a network keeps of its nodes between two segments of steps.

    Attributes:
      hidden: `[nodes, hidden_size]`.
      cell: what the node update keeps beside h. Of the LSTM it is the cell state
        `[nodes, hidden_size]`; of the GRU and without a cell (), nothing; of an update of one's own
        any nest of tensors `[nodes, ...]`.
      started: booleans `[nodes]`, whether a node has made a step. Where it has not, hidden and cell
        mean nothing.
    """

    hidden: tf.Tensor
    cell: Any
    started: tf.Tensor


class _PreparedStep(NamedTuple):
    """What a network computes once for all steps.

    messages: the message function's part.
    kernel: what is left to multiply messages by before the node update takes them, None for
      nothing.
    x: the node update's part.
    """

    messages: Any
    kernel: tf.Tensor | None
    x: Any


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
      hidden_size: the size of states, messages and all layers.
      num_hidden_layers: the number of ReLU layers of input_fn, message_fn and node_fn each.
      node_update: "lstm", "gru" (`rrn.GRUCell`) or None, each after or with an MLP, node_fn; or an
        `rrn.NodeUpdate` of one's own in the place of both.
      compute_dtype: the type of matrix products and of what runs on edges; states are float32.
      message_fn: None for an MLP; or a module of one's own that is called on every edge, see
        `rrn.nn.aggregation.EdgeMessages`; or an `rrn.Aggregation`, which does the whole of it.
      aggregate: what becomes of the messages to a node, "sum", "mean", "max" or "softmax". Sums of
        the MLP's messages are the fast way; everything else takes the general path, see
        `rrn.nn.aggregation.EdgeMessages`.

    Raises:
      ValueError: a size is below 1 (edge_size and global_size: below 0), compute_dtype is no type
        of floats, or a part is none that is named above.
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
        module = "RecurrentRelationalNetwork"
        sizes = {"input_size": input_size, "hidden_size": hidden_size}
        check_sizes(module, **sizes, num_hidden_layers=num_hidden_layers)
        float_type(f"{module}: compute_dtype", compute_dtype)
        if not (isinstance(node_update, NodeUpdate) or node_update in (*CELLS, None)):
            cells = ", ".join(map(repr, CELLS))
            raise ValueError(
                f"{module}: node_update must be one of {cells}, None or an rrn.NodeUpdate, got "
                f"{node_update!r}"
            )
        self.input_size, self.hidden_size = input_size, hidden_size
        hidden = [hidden_size] * num_hidden_layers
        self.input_fn = MLP([input_size, *hidden, hidden_size], compute_dtype, name="input_fn")
        self.message_fn = make_aggregation(
            message_fn, aggregate, hidden_size, hidden, edge_size, global_size, compute_dtype
        )
        self.node_fn = self.lstm = None
        if not isinstance(node_update, NodeUpdate):
            message_size, cell = self.message_fn.output_size, node_update
            node_update = PostUpdate(message_size, hidden_size, hidden, cell, compute_dtype)
            self.node_fn = node_update.node_fn
            self.lstm = node_update.cell if cell == "lstm" else None
        self.node_update = node_update

    def mlps(self) -> list[MLP]:
        """Lists the MLPs among its parts, whose kernels a task may keep small.

        Returns:
          Those of its inputs, of its messages and of its nodes; one of the user's own is none.
        """
        message_fn = self.message_fn
        of_messages = message_fn.mlp if isinstance(message_fn, MessageFunction) else None
        return [mlp for mlp in (self.input_fn, of_messages, self.node_fn) if mlp is not None]

    def initial_state(self, num_nodes: int | tf.Tensor) -> RecurrentState:
        """Makes the state of nodes that have made no step, of zeros."""
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
        """Runs the network from the start; arguments and errors are those of `segment`.

        Returns:
          The hidden states of every step, a list of `num_steps` tensors `[nodes, hidden_size]`.
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
        """Runs some steps from a state, of features `[nodes, input_size]`.

        Segments one after the other, each from the state that the one before returned, make the
        steps of one call. With `tf.stop_gradient` on the states between them, gradients flow
        through one segment alone.

        Args:
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
        features = self._checked(graph, features)
        _check_dropout("RecurrentRelationalNetwork", edge_keep_probability, uniform)
        x = self.input_fn(features)
        prepared = self._prepare(graph, x, edges, globals_)
        hidden, first = x, self._first_state(x)
        carried = first
        if state is not None:
            hidden, carried = self._go_on(graph, state, x, first)

        def advance(step, hidden, carried, prepared):
            weights = None
            if edge_keep_probability < 1.0:
                assert uniform is not None  # see `_check_dropout`
                weights = edge_dropout(graph, edge_keep_probability, uniform, step)
            begins = state is None and step == 0
            messages = self._messages(graph, hidden, prepared, weights)
            return self._update(messages, prepared.x, carried, begins)

        if recompute:
            modules = self.message_fn, self.node_update
            advance = recomputed(advance, [v for m in modules for v in m.trainable_variables])
        states = []
        if is_compiling() and num_steps > UNROLLED_STEPS and not uniform:
            states, carried = self._loop(advance, num_steps, hidden, carried, prepared)
        else:
            for step in range(num_steps):
                with tf.name_scope(f"step_{step + 1}"):
                    carried = advance(step, hidden, carried, prepared)
                    hidden = carried[0]
                    record("hidden", hidden)
                states.append(hidden)
        started = tf.ones(tf.shape(states[-1])[:1], tf.bool)
        hidden, cell = carried
        return states, RecurrentState(hidden, cell, started)

    def _loop(self, advance, num_steps, hidden, carried, prepared):
        """Many steps as a loop over blocks of a few, which XLA compiles once: (states, (h, c))."""
        block = max(d for d in range(1, UNROLLED_STEPS + 1) if num_steps % d == 0)
        modules = self.message_fn, self.node_update
        values = values_of(variable for module in modules for variable in module.variables)

        def turn(state, constants):
            (hidden, carried), states = state, []
            prepared, given = constants
            with reading_scope(dict(zip(values, given, strict=True))):
                for _ in range(block):
                    carried = advance(None, hidden, carried, prepared)
                    hidden = carried[0]
                    states.append(hidden)
            return (hidden, carried), tf.stack(states)

        begin, shape = (tf.cast(hidden, tf.float32), carried), [block, *hidden.shape]
        constants = prepared, list(values.values())
        (_, carried), states = loop(turn, begin, constants, num_steps // block, shape)
        return tf.unstack(tf.reshape(states, [num_steps, *hidden.shape])), carried

    def _checked(self, graph, features):
        """Features as a tensor; refuses those that do not fit the network or the graph."""
        check_graph("RecurrentRelationalNetwork", graph)
        name, axes = "RecurrentRelationalNetwork: features", "[nodes, input_size]"
        check_shape(name, features, axes, [graph.known_sizes().nodes, self.input_size])
        return tf.convert_to_tensor(features)

    def _first_state(self, x):
        """The node update's (h, c) before the first step, of x `[nodes, hidden_size]`."""
        with _reads_of(self.node_update):
            hidden, cell = self.node_update.initial_state(self._for_update(x))
        return tf.cast(hidden, tf.float32), cell

    def _go_on(self, graph, state, x, first):
        """(h of the messages, the node update's (h, c)) with which nodes go on from a state."""
        name, nodes = "RecurrentRelationalNetwork: state", graph.known_sizes().nodes
        if not isinstance(state, RecurrentState):
            got = type(state).__name__
            raise ValueError(f"{name} must be a RecurrentState, got a {got}")
        carried = as_state(f"{name}.", state.hidden, state.cell, first)
        check_shape(f"{name}.started", state.started, "[nodes]", [nodes])

        def where_started(old, new):
            started = tf.reshape(state.started, [-1] + [1] * (old.shape.rank - 1))
            return tf.where(started, old, new)

        hidden = where_started(carried[0], tf.cast(x, tf.float32))
        return hidden, tf.nest.map_structure(where_started, carried, first)

    def _prepare(self, graph, x, edges, globals_):
        """The `_PreparedStep` of x `[nodes, hidden_size]`."""
        with _reads_of(self.node_update):
            of_x, kernel = self.node_update.prepare(self._for_update(x))
        if isinstance(self.message_fn, MessageFunction):  # multiplies its last layer out with it
            messages = self.message_fn.prepare(graph, edges, globals_, kernel)
            return _PreparedStep(messages, None, of_x)
        with _reads_of(self.message_fn):
            messages = self.message_fn.prepare(graph, edges, globals_)
        return _PreparedStep(messages, kernel, of_x)

    def _messages(self, graph, hidden, prepared, edge_weights):
        """What every node hears, as the node update takes it."""
        fast = isinstance(self.message_fn, MessageFunction)
        hidden = hidden if fast else tf.cast(hidden, tf.float32)
        with _reads_of(self.message_fn):
            messages = self.message_fn(graph, hidden, prepared.messages, edge_weights)
        if not fast:
            name = f"What the aggregation {type(self.message_fn).__name__} returns"
            sizes = [hidden.shape[0], self.message_fn.output_size]
            check_shape(name, messages, "[nodes, output_size]", sizes)
        if prepared.kernel is not None:
            messages = tf.matmul(tf.cast(messages, prepared.kernel.dtype), prepared.kernel)
        return messages

    def _for_update(self, rows):
        """Rows as the node update takes them; one of the user's is given float32 alone."""
        return rows if isinstance(self.node_update, PostUpdate) else tf.cast(rows, tf.float32)

    def _update(self, messages, x, carried, begins):
        """The node update's new (h, c)."""
        update = self.node_update
        advance = update.start if begins else update
        if isinstance(update, PostUpdate):
            return advance(messages, x, *carried)
        with _reads_of(update):
            made = advance(self._for_update(messages), x, *carried)
        name = f"What the node update {type(update).__name__} returns"
        if not isinstance(made, tuple) or len(made) != 2:
            got = type(made).__name__
            raise ValueError(f"{name} must be a pair (hidden, cell), got a {got}")
        return as_state(f"{name}: ", *made, carried)


def _reads_of(part):
    """A scope for what a part does: those of a user's have their reads checked."""
    if isinstance(part, (MessageFunction, EdgeMessages, PostUpdate)):
        return contextlib.nullcontext()
    return checked_reads(type(part).__name__)


def edge_dropout(
    graph: Graph, keep_probability: float, uniform: Uniform, step: int | tf.Tensor
) -> EdgeValues:
    """Draws which messages are dropped.

    Args:
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
