"""The message function and the recurrent relational network (Palm et al. 2018, equations 1-3)."""

from typing import NamedTuple

import tensorflow as tf

from rrn import edge_layers
from rrn.graphs import RegularGraph
from rrn.layers import MLP, LSTMCell
from rrn.reading import read, reading_scope


def dropout_weights(draws, keep_probability):
    """Weights 0 or 1 / keep_probability from uniform draws in [0, 1): the mean weight is 1."""
    return tf.cast(draws < keep_probability, tf.float32) / keep_probability


def edge_dropout(graph, keep_probability, uniform, step):
    """Weights of the graph's edges; `uniform(shape, step, part)` returns draws in [0, 1)."""
    shapes = graph.edge_shape()
    draws = [uniform(shape, step, part) for part, shape in enumerate(tf.nest.flatten(shapes))]
    weights = [dropout_weights(part_draws, keep_probability) for part_draws in draws]
    return tf.nest.pack_sequence_as(shapes, weights)


def recomputed(fn, variables):
    """fn, whose activations are not kept for the backward pass but computed again in it.

    fn: maps nests to tensors; the same at every call. variables: those that fn reads. They are read
    here, once, and are to fn what its arguments are: gradients flow to both, and to nothing else.
    """
    values = [read(variable) for variable in variables]

    def call(*args):
        leaves = tf.nest.flatten(args)
        places = [i for i, leaf in enumerate(leaves) if tf.is_tensor(leaf)]

        @tf.recompute_grad
        def run(values, tensors):
            filled = list(leaves)
            for i, tensor in zip(places, tensors, strict=True):
                filled[i] = tensor
            with reading_scope() as scope:
                for variable, value in zip(variables, values, strict=True):
                    scope.give(variable, value)
                return fn(*tf.nest.pack_sequence_as(args, filled))

        return run(values, [leaves[i] for i in places])

    return call


def _summed_biases(bias, graph, edge_weights=None):
    """degree_j bias `[nodes, size]`."""
    return tf.cast(graph.degrees(edge_weights), bias.dtype)[:, None] * bias


class MessageFunction(tf.Module):
    """m_j = Σ_i f([h_i, h_j, e_ij, g]) with f an MLP; exactly, on as few rows as can be.

    f's first layer is linear in its concatenated input, in the order senders, receivers, edges,
    globals: each part is multiplied where it has the fewest rows (nodes, graphs) and the parts are
    added along the edges. f's last layer is linear: Σ_i (W a_ij + b) = W Σ_i a_ij + degree_j b, so
    the sum comes first. Only the layers between run on edges.
    """

    def __init__(
        self,
        node_size,
        hidden_sizes,
        output_size,
        edge_size=0,
        global_size=0,
        compute_dtype=tf.float32,
        name="message_fn",
    ):
        super().__init__(name=name)
        self.node_size, self.edge_size, self.global_size = node_size, edge_size, global_size
        if not hidden_sizes:
            raise ValueError("MessageFunction needs at least one hidden layer, got hidden_sizes=[]")
        input_size = 2 * node_size + edge_size + global_size
        self.mlp = MLP([input_size, *hidden_sizes, output_size], compute_dtype, name=name)

    def prepare(self, graph, edges=None, globals_=None, then=None):
        """What stays the same at every step: kernels, and the first layer's products with edges and
        globals.

        edges: `[*edge_shape, edge_size]` (a list of such for a union) or None; globals_: `[graphs,
        global_size]` or None; then: a kernel `[output_size, any]` by which the sums of messages are
        to be multiplied, or None.
        """
        if (edges is None) != (self.edge_size == 0) or (globals_ is None) != (
            self.global_size == 0
        ):
            raise ValueError(
                f"MessageFunction was made for edge_size={self.edge_size} and "
                f"global_size={self.global_size}, got edges={edges} and globals_={globals_}"
            )
        first, last = self.mlp.layers[0], self.mlp.layers[-1]
        sizes = [self.node_size, self.node_size, self.edge_size, self.global_size]
        sender_kernel, receiver_kernel, edge_kernel, global_kernel = first.split_kernel(sizes)
        if edges is None:
            edge_kernel = None
        elif not self._takes_relu_sums(graph):
            edges = tf.nest.map_structure(lambda e: first.product(e, edge_kernel), edges)
        constant = None
        if globals_ is not None:
            constant = first.add_bias(first.product(globals_, global_kernel))
            constant = graph.broadcast_globals_to_nodes(constant)
        dtype = last.compute_dtype
        output_kernel, output_bias = (
            (read(last.w, dtype), read(last.b, dtype)) if then is None else last.followed_by(then)
        )
        output = output_kernel, output_bias, _summed_biases(output_bias, graph)
        return sender_kernel, receiver_kernel, edge_kernel, edges, constant, output

    def _takes_relu_sums(self, graph):
        """Whether a ReLU is all that runs on edges, and the graph has a faster way for it."""
        few = self.edge_size <= 4  # features, which are multiplied again for every pair
        small = isinstance(graph, RegularGraph) and graph.has_relu_sums
        return len(self.mlp.layers) == 2 and few and small

    def __call__(self, graph, nodes, prepared, edge_weights=None):
        """nodes `[nodes, node_size]` to the sums of messages `[nodes, output_size]`, times `then`
        if it was given.

        prepared: what `prepare` returned.
        """
        first, *middle, last = self.mlp.layers
        sender_kernel, receiver_kernel, edge_kernel, edges, constant, output = prepared
        output_kernel, output_bias, biases = output
        nodes = tf.cast(nodes, first.compute_dtype)  # once, so that gradients are cast once, too
        senders = first.product(nodes, sender_kernel)
        receivers = first.product(nodes, receiver_kernel)
        receivers = first.add_bias(receivers) if constant is None else receivers + constant
        if self._takes_relu_sums(graph):
            sums = graph.relu_sums(senders, receivers, edges, edge_kernel, edge_weights)
        elif edges is None and edge_weights is None and edge_layers.takes(graph, middle):
            weights = [(read(layer.w), read(layer.b)) for layer in middle]
            sums = edge_layers.message_sums(graph, senders, receivers, weights)
        else:
            hidden_layers = self.mlp.hidden_layers
            sums = graph.message_sums(hidden_layers, senders, receivers, edges, edge_weights)
        if edge_weights is not None:
            biases = _summed_biases(output_bias, graph, edge_weights)
        return last.product(sums, output_kernel) + biases


class RecurrentState(NamedTuple):
    """What a network keeps of its nodes between two segments of steps.

    hidden: `[nodes, hidden_size]`; cell: the LSTM's `[nodes, hidden_size]`, None without LSTM;
    started: booleans `[nodes]`, whether a node has made a step. Where it has not, hidden and cell
    are zero.
    """

    hidden: tf.Tensor
    cell: tf.Tensor | None
    started: tf.Tensor


class RecurrentRelationalNetwork(tf.Module):
    """The network's recurrent core on any graph of `rrn.graphs`.

    x = input_fn(features);  h(0) = x, LSTM state zero; at every step t = 1..T
    m(t) = message_fn(h(t-1));  z(t) = node_fn([m(t), x]);  h(t), c(t) = LSTM(z(t), h(t-1), c(t-1))

    or without LSTM        h(t) = node_fn([m(t), x, h(t-1)])

    The same variables serve every step. The LSTM's h starts at zero while the first messages are
    those of x, as in the paper. Variables are named by their place, `message_fn/linear_0/w`; make
    two networks within two `tf.name_scope`s.
    """

    def __init__(
        self,
        input_size,
        hidden_size,
        num_hidden_layers=3,
        edge_size=0,
        global_size=0,
        lstm=True,
        compute_dtype=tf.float32,
        name="rrn",
    ):
        super().__init__(name=name)
        self.hidden_size = hidden_size
        hidden = [hidden_size] * num_hidden_layers
        self.input_fn = MLP([input_size, *hidden, hidden_size], compute_dtype, name="input_fn")
        self.message_fn = MessageFunction(
            hidden_size, hidden, hidden_size, edge_size, global_size, compute_dtype
        )
        self._node_fn_inputs = [hidden_size] * (2 if lstm else 3)
        sizes = [sum(self._node_fn_inputs), *hidden, hidden_size]
        self.node_fn = MLP(sizes, compute_dtype, name="node_fn")
        self.lstm = LSTMCell(hidden_size, hidden_size, compute_dtype) if lstm else None

    def initial_state(self, num_nodes):
        """The `RecurrentState` of nodes that have made no step."""
        zeros = tf.zeros([num_nodes, self.hidden_size])
        return RecurrentState(
            hidden=zeros,
            cell=zeros if self.lstm else None,
            started=tf.zeros([num_nodes], tf.bool),
        )

    def __call__(self, graph, features, num_steps, edges=None, globals_=None, **options):
        """The hidden states of every step, from the start; see `segment` for the arguments."""
        return self.segment(graph, features, num_steps, None, edges, globals_, **options)[0]

    def segment(
        self,
        graph,
        features,
        num_steps,
        state,
        edges=None,
        globals_=None,
        edge_keep_probability=1.0,
        uniform=None,
        recompute=False,
    ):
        """Some steps from a state: (the hidden states of every step, the state after the last).

        The hidden states are a list of `num_steps` tensors `[nodes, hidden_size]`. Segments one
        after the other, each with the state that the one before returned, make the steps of one
        call; where `tf.stop_gradient` is applied to the states between them, gradients flow through
        one segment alone.

        features: `[nodes, input_size]`; state: a `RecurrentState`, None for `initial_state`;
        edges, globals_: see `MessageFunction.prepare`.
        With edge_keep_probability < 1, a message is dropped with the remaining probability and the
        kept ones are scaled up; `uniform(shape, step, part)` must then return draws in [0, 1), for
        every part of a union.
        recompute: keep only h and c of every step, and compute the rest again in the backward pass.
        """
        if num_steps < 1:
            raise ValueError(f"num_steps must be at least 1, got {num_steps}")
        x = self.input_fn(features)
        first, last = self.node_fn.layers[0], self.node_fn.layers[-1]
        # What x contributes to node_fn is the same at every step; and two linear layers in a row
        # are one.
        message_kernel, x_kernel, *hidden_kernel = first.split_kernel(self._node_fn_inputs)
        constant = first.add_bias(first.product(x, x_kernel))
        prepared = self.message_fn.prepare(graph, edges, globals_, then=message_kernel)
        update_layer = self.lstm.following(last) if self.lstm else hidden_kernel

        def advance(step, hidden, lstm_state, constant, prepared, update_layer):
            weights = None
            if edge_keep_probability < 1.0:
                weights = edge_dropout(graph, edge_keep_probability, uniform, step)
            z = self.message_fn(graph, hidden, prepared, weights) + constant
            if not self.lstm:
                (hidden_kernel,) = update_layer
                z = self.node_fn.hidden_layers(z + first.product(hidden, hidden_kernel))
                return (tf.cast(last(z), tf.float32),)
            z = self.node_fn.hidden_layers(z)
            return self.lstm.advance(z, lstm_state, *update_layer)

        if recompute:
            modules = [m for m in (self.message_fn, self.node_fn, self.lstm) if m]
            advance = recomputed(advance, [v for m in modules for v in m.trainable_variables])
        hidden, lstm_state, states = x, None, []
        if state is not None:
            hidden = tf.where(state.started[:, None], state.hidden, tf.cast(x, tf.float32))
            lstm_state = (state.hidden, state.cell) if self.lstm else None
        for step in range(num_steps):
            lstm_state = advance(step, hidden, lstm_state, constant, prepared, update_layer)
            hidden = lstm_state[0]
            states.append(hidden)
        cell = lstm_state[1] if self.lstm else None
        return states, RecurrentState(hidden, cell, tf.ones(tf.shape(hidden)[:1], tf.bool))
