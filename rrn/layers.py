"""Dense layers, MLP, embedding and LSTM cell: `tf.Module`s that know no device, file or config.

Initial values are the ones behind the paper's results: Glorot-uniform kernels and embeddings, zero
biases. `compute_dtype` is the type of the matrix products; variables are always float32.
"""

import tensorflow as tf

from rrn.reading import read


def glorot_uniform(shape):
    """Uniform in ±sqrt(6 / (fan_in + fan_out)) for a matrix of `shape` [fan_in, fan_out]."""
    limit = (6.0 / sum(shape)) ** 0.5
    return tf.random.uniform(shape, -limit, limit)


class Linear(tf.Module):
    """x w + b, with w `[input_size, output_size]` and b `[output_size]`."""

    def __init__(self, input_size, output_size, compute_dtype=tf.float32, name="linear"):
        super().__init__(name=name)
        self.compute_dtype = tf.as_dtype(compute_dtype)
        with self.name_scope:
            self.w = tf.Variable(glorot_uniform([input_size, output_size]), name="w")
            self.b = tf.Variable(tf.zeros([output_size]), name="b")

    def __call__(self, x):
        """Maps `[..., input_size]` to `[..., output_size]` in `compute_dtype`."""
        return self.bias_add(self.product(x))

    def product(self, x, first_row=0, num_rows=None):
        """x times `num_rows` rows of w from `first_row` on: the part of x w that x contributes.

        A layer over a concatenation is the sum of such parts, so that each part may be computed where
        it has the fewest rows.
        """
        w = read(self.w, self.compute_dtype)
        if num_rows is not None:
            w = w[first_row : first_row + num_rows]
        x = tf.cast(x, self.compute_dtype)
        if x.shape.rank == 2:
            return tf.matmul(x, w)
        rows = tf.matmul(tf.reshape(x, [-1, x.shape[-1]]), w)
        return tf.reshape(rows, tf.concat([tf.shape(x)[:-1], [w.shape[1]]], 0))

    def bias_add(self, x):
        """x + b; as `tf.nn.bias_add`, which TensorFlow fuses with the product before it."""
        return tf.nn.bias_add(x, read(self.b, x.dtype))


class MLP(tf.Module):
    """ReLU layers of the given sizes, then one linear layer: sizes = [input, hidden ..., output]."""

    def __init__(self, sizes, compute_dtype=tf.float32, name="mlp"):
        super().__init__(name=name)
        with self.name_scope:
            self.layers = [
                Linear(size, next_size, compute_dtype, name=f"linear_{i}")
                for i, (size, next_size) in enumerate(zip(sizes[:-1], sizes[1:], strict=True))
            ]

    def __call__(self, x, after_relu=None):
        """Maps `[..., input]` to `[..., output]`.

        `after_relu(x, i)`, if given, is applied to the i-th hidden layer's output (dropout).
        """
        return self.after_first_layer(self.layers[0](x), after_relu)

    def after_first_layer(self, x, after_relu=None):
        """The rest of the network on what the first layer gave, before its ReLU."""
        for i, layer in enumerate(self.layers[1:]):
            x = tf.nn.relu(x)
            x = layer(after_relu(x, i) if after_relu else x)
        return x


class Embedding(tf.Module):
    """One row of `[vocabulary_size, size]` per id."""

    def __init__(self, vocabulary_size, size, name="embedding"):
        super().__init__(name=name)
        with self.name_scope:
            self.table = tf.Variable(glorot_uniform([vocabulary_size, size]), name="table")

    def __call__(self, ids):
        """Maps integers `[...]` to `[..., size]`; the gradient is sparse (`tf.IndexedSlices`)."""
        return tf.gather(read(self.table), ids)


class LSTMCell(tf.Module):
    """LSTM with one fused kernel w `[input_size + hidden_size, 4 * hidden_size]`, bias b `[4 * hidden_size]`.

    i, j, f, o = split([x, h] w + b)        (in this order)
    c' = σ(f + 1) c + σ(i) tanh(j)          (forget bias 1, added in the forward pass)
    h' = σ(o) tanh(c')

    The products run in `compute_dtype`; gates and state are float32.
    """

    def __init__(self, input_size, hidden_size, compute_dtype=tf.float32, name="lstm"):
        super().__init__(name=name)
        self.hidden_size = hidden_size
        with self.name_scope:
            self.linear = Linear(input_size + hidden_size, 4 * hidden_size, compute_dtype)

    def zero_state(self, num_rows):
        """(h, c), each zeros `[num_rows, hidden_size]`."""
        zeros = tf.zeros([num_rows, self.hidden_size])
        return zeros, zeros

    def __call__(self, x, state):
        """x `[rows, input_size]`, state (h, c) each `[rows, hidden_size]`; returns the new (h, c)."""
        h, c = state
        dtype = self.linear.compute_dtype
        gates = self.linear(tf.concat([tf.cast(x, dtype), tf.cast(h, dtype)], axis=-1))
        i, j, f, o = tf.split(tf.cast(gates, tf.float32), 4, axis=-1)
        c = tf.sigmoid(f + 1.0) * c + tf.sigmoid(i) * tf.tanh(j)
        return tf.sigmoid(o) * tf.tanh(c), c


class SentenceEncoder(tf.Module):
    """The LSTM's hidden output after each sentence's last word."""

    def __init__(self, embedding_size, hidden_size, compute_dtype=tf.float32, name="sentence_encoder"):
        super().__init__(name=name)
        with self.name_scope:
            self.lstm = LSTMCell(embedding_size, hidden_size, compute_dtype)

    def __call__(self, words, lengths):
        """words `[sentences, length, embedding_size]`, lengths `[sentences]`; returns `[sentences, hidden_size]`.

        Words at or after a sentence's length are padding and do not reach the result.
        """
        h, c = self.lstm.zero_state(tf.shape(words)[0])
        for t in range(words.shape[1]):
            inside = (t < lengths)[:, None]
            new_h, new_c = self.lstm(words[:, t], (h, c))
            h, c = tf.where(inside, new_h, h), tf.where(inside, new_c, c)
        return h
