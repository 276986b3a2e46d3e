"""Recurrent relational networks as the paper writes them (Palm, Paquet and Winther, NeurIPS 2018).

Begin here. This page follows the paper's equations word for word, in plain TensorFlow: gather,
concatenate, an MLP on every edge, add up. `rrn.nn.network` computes the same with fewer operations;
the tests compare the two, and the benchmarks time one against the other.

A graph is two lists: the k-th edge runs from node senders[k] to node receivers[k]. Every node j has
an input x_j, a hidden state h_j and the LSTM's cell state c_j; an edge may have features e_ij. At
each step t = 1 ... T, for all nodes at once:

    (1)  message   m_ij(t) = f([h_i(t-1), h_j(t-1), e_ij])      for every edge
    (2)  sum       m_j(t) = Σ_i m_ij(t)                         over the senders i of node j
    (3)  update    z_j(t) = post([m_j(t), x_j])
                   h_j(t), c_j(t) = LSTM(z_j(t), h_j(t-1), c_j(t-1))
    (4)  readout   o_j(t) = r(h_j(t))                           for an answer of every node
                   o(t) = r(Σ_j h_j(t))                         for one answer of a graph
    (5)  loss      the mean over all steps of the cross-entropy of o(t), plus L2

Before the first step x = pre(features), h(0) = x for the messages, and the LSTM's own h and c are
zero. f, post, pre and r are MLPs with ReLU (`rrn.MLP`). The same variables serve every step.

Where products run in bfloat16 (`compute_dtype`), so do messages and their sums, while states stay
in float32. The casts below are for that alone; in float32 they do nothing.
"""

from collections.abc import Callable, Sequence

import tensorflow as tf

from rrn.nn.cells import LSTMCell
from rrn.nn.layers import Embedding
from rrn.nn.messages import MessageFunction
from rrn.nn.network import RecurrentRelationalNetwork
from rrn.nn.node_updates import PostUpdate
from rrn.nn.sentences import SentenceEncoder
from rrn.variables.sharded import known_size

Rows = Callable[[tf.Tensor], tf.Tensor]  # a function on rows, such as an MLP


def messages(
    f: Rows,
    hidden: tf.Tensor,
    senders: tf.Tensor,
    receivers: tf.Tensor,
    edges: tf.Tensor | None = None,
) -> tf.Tensor:
    """Equation 1: m_ij = f([h_i, h_j, e_ij]) `[edges, message_size]`, for every edge from i to j.

    Args:
      hidden: `[nodes, hidden_size]`, the h of the step before.
      senders, receivers: integers `[edges]`.
      edges: the edges' features `[edges, edge_size]`, None without.
    """
    inputs = [tf.gather(hidden, senders), tf.gather(hidden, receivers)]
    return f(tf.concat(inputs if edges is None else [*inputs, edges], axis=-1))


def sum_messages(
    messages: tf.Tensor, receivers: tf.Tensor, num_nodes: int | tf.Tensor
) -> tf.Tensor:
    """Equation 2: m_j = Σ_i m_ij `[nodes, message_size]`, for every node j.

    Args:
      messages: `[edges, message_size]`.
      receivers: integers `[edges]`.
    """
    return tf.math.unsorted_segment_sum(messages, receivers, num_nodes)


def update_nodes(
    post: Rows,
    cell: LSTMCell,
    sums: tf.Tensor,
    x: tf.Tensor,
    state: tuple[tf.Tensor, tf.Tensor],
) -> tuple[tf.Tensor, tf.Tensor]:
    """Equation 3: z = post([m, x]); h', c' = LSTM(z, h, c), for every node.

    Args:
      sums: `[nodes, message_size]`, the sums of messages.
      x: `[nodes, hidden_size]`, the nodes' inputs.
      state: (h, c) of the step before, each `[nodes, hidden_size]`.
    """
    return lstm(cell, post(tf.concat([sums, x], axis=-1)), state)


def update_nodes_without_lstm(
    post: Rows, sums: tf.Tensor, x: tf.Tensor, hidden: tf.Tensor
) -> tf.Tensor:
    """Equation 3 of Pretty-CLEVR, as in the authors' code: h' = post([m, x, h]), for every node.

    The arguments are those of `update_nodes`, without a cell.
    """
    return tf.cast(post(tf.concat([sums, x, hidden], axis=-1)), tf.float32)


def lstm(
    cell: LSTMCell, x: tf.Tensor, state: tuple[tf.Tensor, tf.Tensor]
) -> tuple[tf.Tensor, tf.Tensor]:
    """One step of an LSTM; 1 is added to the forget gate f.

    Args:
      cell: the variables: a linear layer from [x, h] to the gates i, j, f, o.
      x: `[rows, input_size]`.
      state: (h, c), each `[rows, hidden_size]`.
    """
    h, c = state
    gates = cell.linear(tf.concat([x, tf.cast(h, x.dtype)], axis=-1))
    i, j, f, o = tf.split(tf.cast(gates, tf.float32), 4, axis=-1)
    c = tf.sigmoid(f + 1.0) * c + tf.sigmoid(i) * tf.tanh(j)
    return tf.sigmoid(o) * tf.tanh(c), c


def hidden_states(
    network: RecurrentRelationalNetwork,
    senders: tf.Tensor,
    receivers: tf.Tensor,
    features: tf.Tensor,
    num_steps: int,
    edges: tf.Tensor | None = None,
) -> list[tf.Tensor]:
    """Equations 1 to 3 over all steps, with a network's variables.

    Args:
      network: the network, of the paper's parts: its `input_fn` is pre, its `message_fn.mlp` f, its
        `node_fn` post, and its node update the LSTM or None.
      senders, receivers: integers `[edges]`.
      features: `[nodes, input_size]`.
      edges: `[edges, edge_size + global_size]`: the globals of a graph are features of each of its
        edges. None without.

    Returns:
      The hidden states of every step, a list of `num_steps` tensors `[nodes, hidden_size]`.

    Raises:
      ValueError: the network has other parts, which the paper has no equations for.
    """
    post, update = network.node_fn, network.node_update
    papers = isinstance(update, PostUpdate) and update.cell is network.lstm
    f = network.message_fn
    if post is None or not papers or not isinstance(f, MessageFunction) or f.mean:
        raise ValueError(
            "plain.hidden_states: network must have the default message_fn and aggregate, and "
            f'node_update "lstm" or None, got {network.message_fn} and {network.node_update}'
        )
    x = network.input_fn(features)
    if edges is not None:
        edges = tf.cast(edges, x.dtype)
    hidden, states = x, []
    zeros = tf.zeros_like(x, tf.float32)
    state = zeros, zeros
    for _ in range(num_steps):
        hidden = tf.cast(hidden, x.dtype)
        m_ij = messages(f.mlp, hidden, senders, receivers, edges)
        m_j = sum_messages(m_ij, receivers, tf.shape(x)[0])
        if network.lstm:
            state = update_nodes(post, network.lstm, m_j, x, state)
            hidden = state[0]
        else:
            hidden = update_nodes_without_lstm(post, m_j, x, hidden)
        states.append(hidden)
    return states


def node_outputs(r: Rows, hidden: Sequence[tf.Tensor]) -> list[tf.Tensor]:
    """Equation 4 for an answer of every node: o_j = r(h_j), at every step.

    From hidden states `[nodes, hidden_size]` come logits `[nodes, classes]`.
    """
    return [r(h) for h in hidden]


def graph_outputs(
    r: Rows, hidden: Sequence[tf.Tensor], node_graph: tf.Tensor, num_graphs: int | tf.Tensor
) -> list[tf.Tensor]:
    """Equation 4 for one answer of every graph: o = r(Σ_j h_j), at every step.

    Args:
      hidden: for every step `[nodes, hidden_size]`.
      node_graph: integers `[nodes]`, the graph of every node.

    Returns:
      For every step the logits `[graphs, classes]`.
    """
    return [r(tf.math.unsorted_segment_sum(h, node_graph, num_graphs)) for h in hidden]


def loss(
    outputs: Sequence[tf.Tensor],
    answers: tf.Tensor,
    kernels: Sequence[tf.Tensor] = (),
    l2: float = 0.0,
) -> tf.Tensor:
    """Equation 5: the mean over all steps of -log softmax(o)[answer], plus l2 Σ w²/2.

    Args:
      outputs: for every step the logits `[rows, classes]`, of nodes or of graphs.
      answers: the right classes, integers `[rows]`.
    """
    log_p = [tf.gather(tf.nn.log_softmax(o), answers, axis=1, batch_dims=1) for o in outputs]
    squares = [tf.reduce_sum(w**2) / 2.0 for w in kernels]
    return -tf.reduce_mean(log_p) + l2 * sum(squares)


def encoded_sentences(
    encoder: SentenceEncoder, embedding: Embedding, tokens: tf.Tensor, lengths: tf.Tensor
) -> tf.Tensor:
    """Facts and questions of bAbI as vectors: an LSTM's h after each sentence's last word.

    Args:
      tokens: integers `[sentences, length]`, padded.
      lengths: integers `[sentences]`.

    Returns:
      `[sentences, encoding_size]`.
    """
    zeros = tf.zeros([tf.shape(tokens)[0], encoder.lstm.hidden_size])
    h, c = zeros, zeros
    for t in range(known_size(tokens, 1)):
        inside = (t < lengths)[:, None]
        new_h, new_c = lstm(encoder.lstm, embedding(tokens[:, t]), (h, c))
        h, c = tf.where(inside, new_h, h), tf.where(inside, new_c, c)
    return h
