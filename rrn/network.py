"""The message function and the recurrent relational network.

They compute what `rrn.plain` computes, which follows the paper's equations (Palm et al. 2018) word
for word; read that page first. Here it is the same with fewer operations:

- The first layer of the message function is linear in [h_i, h_j, e_ij]. Each part is multiplied
  where it has the fewest rows (h on nodes), and the products are added along the edges.
- The last layer of the message function is linear, so messages are summed before it:
  Σ_i (W a_ij + b) = W Σ_i a_ij + degree_j b. Only the layers between run on edges.
- Two linear layers in a row are multiplied out once for all steps: the message function's last with
  the first of post, and the last of post with the LSTM's.
- What does not change from step to step is computed once: the products with edge features, with
  globals and with x.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import tensorflow as tf

from rrn.checks import check_shape, check_sizes, float_type
from rrn.graphs import EdgeValues, Graph
from rrn.graphs.checks import check_edge_values, check_edges, check_globals, check_graph
from rrn.layers import MLP, LSTMCell
from rrn.noting import note
from rrn.random import dropout_weights
from rrn.reading import read
from rrn.recompute import recomputed

# Draws in [0, 1) of a shape, for a step and a part of a union: uniform(shape, step, part).
Uniform = Callable[[tf.Tensor, int, int], tf.Tensor]


class PreparedMessages(NamedTuple):
    """What a `MessageFunction` computes once for all steps.

    sender_kernel, receiver_kernel: `[node_size, size]`, the rows of the first layer's kernel that
      multiply h_i and h_j.
    edge_kernel: `[edge_size, size]`, the rows that multiply e_ij; None without edge features.
    edges: `[*edge_shape, size]`, the products of edge features and edge_kernel. Where the graph has
      fused sums, the features themselves. None without edge features.
    global_terms: `[nodes, size]`, the products with globals, and the first layer's bias; None
      without globals.
    output_kernel, output_bias: `[size, output_size]` and `[output_size]`, of the last layer, or of
      the last layer and `next_kernel` multiplied out.
    summed_biases: `[nodes, output_size]`, output_bias times the number of messages.
    """

    sender_kernel: tf.Tensor
    receiver_kernel: tf.Tensor
    edge_kernel: tf.Tensor | None
    edges: EdgeValues | None
    global_terms: tf.Tensor | None
    output_kernel: tf.Tensor
    output_bias: tf.Tensor
    summed_biases: tf.Tensor


class MessageFunction(tf.Module):
    """m_j = Σ_i f([h_i, h_j, e_ij, g]), the sum of the messages to each node.

    f is an MLP. The parts of its input are the sender's state, the receiver's state, the edge's
    features and the globals of the nodes' graph, in this order.

    Args:
      node_size: the size of a node's state.
      hidden_sizes: the sizes of f's ReLU layers, at least one.
      output_size: the size of a message.
      edge_size: the number of an edge's features, 0 without.
      global_size: the number of a graph's globals, 0 without.
      compute_dtype: the type of matrix products and of what runs on edges.
      name: the first part of the variables' names.

    Raises:
      ValueError: there are no hidden layers, a size is below 1 (edge_size and global_size: below
        0), or compute_dtype is no type of floats.
    """

    def __init__(
        self,
        node_size: int,
        hidden_sizes: Sequence[int],
        output_size: int,
        edge_size: int = 0,
        global_size: int = 0,
        compute_dtype: tf.DType | str = tf.float32,
        name: str = "message_fn",
    ):
        super().__init__(name=name)
        self.node_size, self.edge_size, self.global_size = node_size, edge_size, global_size
        if not isinstance(hidden_sizes, Sequence) or not hidden_sizes:
            raise ValueError(
                "MessageFunction: hidden_sizes must be a list of sizes, for at least one hidden "
                f"layer, got {hidden_sizes!r}"
            )
        check_sizes("MessageFunction", node_size=node_size, output_size=output_size)
        check_sizes("MessageFunction", 0, edge_size=edge_size, global_size=global_size)
        input_size = 2 * node_size + edge_size + global_size
        self.mlp = MLP([input_size, *hidden_sizes, output_size], compute_dtype, name=name)

    def prepare(
        self,
        graph: Graph,
        edges: EdgeValues | None = None,
        globals_: tf.Tensor | None = None,
        next_kernel: tf.Tensor | None = None,
    ) -> PreparedMessages:
        """Computes what is the same at every step.

        Args:
          graph: who sends to whom.
          edges: `[*edge_shape, edge_size]`, a list of such for a union; None without.
          globals_: `[graphs, global_size]`; None without.
          next_kernel: `[output_size, next_size]`, a matrix by which the sums of messages are to be
            multiplied; None for no multiplication.

        Returns:
          What calls of the message function take as `prepared`.

        Raises:
          ValueError: edges or globals are missing, are given to a message function without, or do
            not fit the graph.
        """
        self._check_values(graph, edges, globals_)
        first, last = self.mlp.layers[0], self.mlp.layers[-1]
        sizes = [self.node_size, self.node_size, self.edge_size, self.global_size]
        sender_kernel, receiver_kernel, edge_kernel, global_kernel = first.split_kernel(sizes)
        if edges is None:
            edge_kernel = None
        elif self._fused_sums(graph) is None:
            edges = tf.nest.map_structure(lambda e: first.product(e, edge_kernel), edges)
        global_terms = None
        if globals_ is not None:
            global_terms = first.add_bias(first.product(globals_, global_kernel))
            global_terms = graph.broadcast_globals_to_nodes(global_terms)
        if next_kernel is None:
            dtype = last.compute_dtype
            output_kernel, output_bias = read(last.w, dtype), read(last.b, dtype)
        else:
            output_kernel, output_bias = last.followed_by(next_kernel)
        return PreparedMessages(
            sender_kernel,
            receiver_kernel,
            edge_kernel,
            edges,
            global_terms,
            output_kernel,
            output_bias,
            _summed_biases(output_bias, graph),
        )

    def __call__(
        self,
        graph: Graph,
        nodes: tf.Tensor,
        prepared: PreparedMessages,
        edge_weights: EdgeValues | None = None,
    ) -> tf.Tensor:
        """Sums the messages to every node.

        Args:
          graph: who sends to whom.
          nodes: `[nodes, node_size]`, the states h.
          prepared: what `prepare` returned for this graph.
          edge_weights: `[*edge_shape]`, a factor for each message; None for ones.

        Returns:
          `[nodes, output_size]`; times `next_kernel`, `[nodes, next_size]`, if `prepare` was given
          one.

        Raises:
          ValueError: nodes or edge_weights do not fit the graph.
        """
        sizes = [graph.known_sizes().nodes, self.node_size]
        check_shape("MessageFunction: nodes", nodes, "[nodes, node_size]", sizes)
        check_edges("MessageFunction: edge_weights", graph, edge_weights)
        first, last = self.mlp.layers[0], self.mlp.layers[-1]
        nodes = tf.cast(nodes, first.compute_dtype)  # once, so that gradients are cast once, too
        senders = first.product(nodes, prepared.sender_kernel)
        receivers = first.product(nodes, prepared.receiver_kernel)
        if prepared.global_terms is None:
            receivers = first.add_bias(receivers)
        else:
            receivers += prepared.global_terms
        edges, fused_sums = prepared.edges, self._fused_sums(graph)
        if fused_sums is not None:
            sums = fused_sums(senders, receivers, edges, prepared.edge_kernel, edge_weights)
        else:
            on_edges = self.mlp.hidden_layers
            sums = graph.message_sums(on_edges, senders, receivers, edges, edge_weights)
        biases = prepared.summed_biases
        if edge_weights is not None:
            biases = _summed_biases(prepared.output_bias, graph, edge_weights)
        return last.product(sums, prepared.output_kernel) + biases

    def _check_values(self, graph, edges, globals_):
        """Refuses edges and globals that do not fit the message function or the graph."""
        check_graph("MessageFunction", graph)
        if (edges is None, globals_ is None) != (self.edge_size == 0, self.global_size == 0):
            got = ["None" if x is None else "values" for x in (edges, globals_)]
            raise ValueError(
                f"MessageFunction was made for edge_size={self.edge_size} and "
                f"global_size={self.global_size}, got edges={got[0]} and globals_={got[1]}"
            )
        check_edges("MessageFunction: edges", graph, edges, self.edge_size)
        if globals_ is not None:
            check_globals("MessageFunction: globals_", graph, globals_, self.global_size)

    def _fused_sums(self, graph):
        return graph.fused_sums(self.mlp, self.edge_size)


def _summed_biases(bias, graph, edge_weights=None):
    """degree_j bias, `[nodes, size]`."""
    return tf.cast(graph.degrees(edge_weights), bias.dtype)[:, None] * bias


class RecurrentState(NamedTuple):
    """What a network keeps of its nodes between two segments of steps.

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
        **options,
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
        for step in range(num_steps):
            with tf.name_scope(f"step_{step + 1}"):
                lstm_state = advance(step, hidden, lstm_state, prepared)
                hidden = lstm_state[0]
                note("hidden", hidden)
            states.append(hidden)
        cell = lstm_state[1] if self.lstm else None
        return states, RecurrentState(hidden, cell, tf.ones(tf.shape(hidden)[:1], tf.bool))

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
