"""A message function and a node update of one's own, and the same in NumPy."""

import numpy as np
import tensorflow as tf

from rrn import Linear, NodeUpdate


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def lstm_of_numpy(cell, x, h, c):
    """(h', c') of an LSTM's step, in float64."""
    w, b = (v.numpy().astype(np.float64) for v in (cell.linear.w, cell.linear.b))
    i, j, f, o = np.split(np.concatenate([x, h], axis=-1) @ w + b, 4, axis=-1)
    c = sigmoid(f + 1) * c + sigmoid(i) * np.tanh(j)
    return sigmoid(o) * np.tanh(c), c


class Gated(tf.Module):
    """m_ij = σ(gate([h_i, h_j, e_ij, g])) tanh(value(h_i)); with heads, scores by the gate, too."""

    def __init__(self, node_size, output_size, others=0, heads=0, dtype=tf.float32):
        super().__init__()
        self.heads = heads
        self.gate = Linear(2 * node_size + others, output_size + heads, dtype, name="gate")
        self.value = Linear(node_size, output_size, dtype, name="value")

    def __call__(self, senders, receivers, edges, globals_):
        parts = [x for x in (senders, receivers, edges, globals_) if x is not None]
        gates = self.gate(tf.concat(parts, axis=1))
        gates, scores = tf.split(gates, [-1, self.heads], axis=1)
        messages = tf.sigmoid(gates) * tf.tanh(self.value(senders))
        return (messages, scores) if self.heads else messages

    def of_numpy(self, *parts):
        """(the message, the scores) of one edge."""
        w, b, w_value, b_value = (
            variable.numpy().astype(np.float64)
            for layer in (self.gate, self.value)
            for variable in (layer.w, layer.b)
        )
        gates = np.concatenate(parts) @ w + b
        size = len(b_value)
        return sigmoid(gates[:size]) * np.tanh(parts[0] @ w_value + b_value), gates[size:]


class Momentum(NodeUpdate):
    """v' = v / 2 + tanh(linear([m, x, h])), h' = h + v'; the age counts a node's steps.

    The state beside h is a nest: v as two columns of halves, and an integer.
    """

    def __init__(self, message_size, hidden_size, dtype=tf.float32):
        super().__init__(name="momentum")
        self.linear = Linear(message_size + 2 * hidden_size, hidden_size, dtype, name="momentum")

    def initial_state(self, x):
        nodes, size = tf.shape(x)[0], x.shape[1]
        age = tf.zeros([nodes], tf.int32)
        halves = tf.reshape(tf.cast(x, tf.float32), [nodes, 2, size // 2])
        return tf.zeros_like(x), {"age": age, "v": (0.1 * halves,)}

    def __call__(self, messages, x, hidden, cell):
        (halves,) = cell["v"]
        v = tf.reshape(halves, tf.shape(hidden)) / 2.0
        v += tf.tanh(tf.cast(self.linear(tf.concat([messages, x, hidden], axis=1)), tf.float32))
        return hidden + v, {"age": cell["age"] + 1, "v": (tf.reshape(v, tf.shape(halves)),)}

    def of_numpy(self, m, x, h, v):
        """(h, v) of one node after a step."""
        w, b = self.linear.w.numpy(), self.linear.b.numpy()
        v = v / 2 + np.tanh(np.concatenate([m, x, h]) @ w + b)
        return h + v, v
