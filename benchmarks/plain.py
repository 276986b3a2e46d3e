"""The plain formulation of message passing: gather, concatenate, MLP on every edge, scatter-add.

What the equations say, word for word: the oracle of the tests and the baseline of the benchmarks.
"""

import tensorflow as tf

from rrn.graphs import FullyConnectedGraph, GraphUnion, RegularGraph, SparseGraph


def edge_list(graph):
    """(senders, receivers), integers `[edges]`: a graph's edges, one by one."""
    if isinstance(graph, SparseGraph):
        return graph.senders, graph.receivers
    if isinstance(graph, RegularGraph):
        nodes, k = graph.neighbours.shape
        first = tf.range(graph.batch)[:, None, None] * nodes
        senders = tf.cast(graph.neighbours, tf.int32)
        receivers = tf.broadcast_to(tf.range(nodes)[:, None], [nodes, k])
        return tf.reshape(first + senders, [-1]), tf.reshape(first + receivers, [-1])
    if isinstance(graph, FullyConnectedGraph):
        nodes = tf.shape(graph.mask)[1]
        real = graph.mask > 0
        pairs = tf.where(real[:, :, None] & real[:, None, :])
        place, sender, receiver = tf.unstack(tf.cast(pairs, tf.int32), axis=1)
        return place * nodes + sender, place * nodes + receiver
    assert isinstance(graph, GraphUnion)
    firsts = tf.cumsum(graph.part_nodes, exclusive=True)
    lists = [edge_list(part) for part in graph.parts]
    return [
        tf.concat([edges[i] + firsts[part] for part, edges in enumerate(lists)], 0) for i in (0, 1)
    ]


def plain_messages(mlp, senders, receivers, nodes, edges=None, edge_weights=None):
    """m_j = Σ_i w_ij f([h_i, h_j, e_ij]); nodes `[nodes, size]`, the others `[edges, ...]`."""
    inputs = [tf.gather(nodes, senders), tf.gather(nodes, receivers)]
    messages = mlp(tf.concat(inputs if edges is None else [*inputs, edges], axis=-1))
    if edge_weights is not None:
        messages *= tf.cast(edge_weights, messages.dtype)[:, None]
    return tf.math.unsorted_segment_sum(messages, receivers, tf.shape(nodes)[0])


def plain_network(rrn, senders, receivers, features, num_steps, edges=None):
    """`rrn.RecurrentRelationalNetwork`'s hidden states of every step, as the paper writes them.

    edges: `[edges, edge_size + global_size]`: a graph's globals are a feature of each of its edges.
    """
    x = rrn.input_fn(features)
    if edges is not None:
        edges = tf.cast(edges, x.dtype)
    hidden, state, states = x, (tf.zeros_like(x, tf.float32),) * 2, []
    for _ in range(num_steps):
        hidden = tf.cast(hidden, x.dtype)
        messages = plain_messages(rrn.message_fn.mlp, senders, receivers, hidden, edges)
        if rrn.lstm:
            z = rrn.node_fn(tf.concat([messages, x], axis=-1))
            state = plain_lstm(rrn.lstm, z, state)
            hidden = state[0]
        else:
            hidden = tf.cast(rrn.node_fn(tf.concat([messages, x, hidden], axis=-1)), tf.float32)
        states.append(hidden)
    return states


def plain_lstm(cell, x, state):
    """`rrn.LSTMCell` on the concatenation [x, h]."""
    h, c = state
    x = tf.cast(x, cell.linear.compute_dtype)
    gates = cell.linear(tf.concat([x, tf.cast(h, x.dtype)], axis=-1))
    i, j, f, o = tf.split(tf.cast(gates, tf.float32), 4, axis=-1)
    c = tf.sigmoid(f + 1.0) * c + tf.sigmoid(i) * tf.tanh(j)
    return tf.sigmoid(o) * tf.tanh(c), c


def plain_encoder(encoder, embedding, tokens, lengths):
    """`rrn.SentenceEncoder` as a loop over the words of padded sentences, `[sentences, length]`."""
    zeros = tf.zeros([tf.shape(tokens)[0], encoder.lstm.hidden_size])
    h, c = zeros, zeros
    for t in range(tokens.shape[1]):
        inside = (t < lengths)[:, None]
        new_h, new_c = plain_lstm(encoder.lstm, embedding(tokens[:, t]), (h, c))
        h, c = tf.where(inside, new_h, h), tf.where(inside, new_c, c)
    return h
