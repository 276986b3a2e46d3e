"""Dense layers, MLP, embedding and LSTM cell: `tf.Module`s that know no device, file or config.

Initial values are the ones behind the paper's results: Glorot-uniform kernels and embeddings, zero
biases. `compute_dtype` is the type of the matrix products; variables are always float32.
"""

import itertools

import tensorflow as tf

from rrn.reading import read

SUM_PARTS = 64  # of many rows that are summed: all cores work, and on what a cache holds


def glorot_uniform(shape):
    """Uniform in ±sqrt(6 / (fan_in + fan_out)) for a matrix of `shape` [fan_in, fan_out]."""
    limit = (6.0 / sum(shape)) ** 0.5
    return tf.random.uniform(shape, -limit, limit)


@tf.custom_gradient
def bias_add(x, b):
    """x + b for x `[rows, size]`, b `[size]`; TensorFlow fuses it with the product before and the
    ReLU after.

    The gradient is `tf.reduce_sum`: TensorFlow's own, BiasAddGrad, adds up in bfloat16 where its
    input is bfloat16 (4,096 ones give 256), and is half as fast there.
    """

    def gradient(dy):
        db = dy
        if dy.shape[0] and dy.shape[0] % SUM_PARTS == 0:
            db = tf.reduce_sum(tf.reshape(dy, [SUM_PARTS, -1, dy.shape[1]]), axis=1)
        return dy, tf.reduce_sum(db, axis=0)

    return tf.nn.bias_add(x, b), gradient


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
        return self.add_bias(self.product(x, read(self.w, self.compute_dtype)))

    def product(self, x, w):
        """x `[..., size]` times w, some or all rows of the kernel (see `split_kernel`)."""
        x = tf.cast(x, self.compute_dtype)
        if x.shape.rank == 2:
            return tf.matmul(x, w)
        rows = tf.matmul(tf.reshape(x, [-1, x.shape[-1]]), w)
        return tf.reshape(rows, tf.concat([tf.shape(x)[:-1], [w.shape[1]]], 0))

    def split_kernel(self, sizes):
        """The kernel's rows in parts of `sizes`.

        A layer over a concatenation is the sum of the products with such parts, so that each input
        may be multiplied where it has the fewest rows.
        """
        return tf.split(read(self.w, self.compute_dtype), sizes)

    def followed_by(self, kernel):
        """(w kernel, b kernel): this layer and a product with `kernel` after it, as one layer."""
        w, b = read(self.w), read(self.b)[None]
        kernel = tf.cast(kernel, tf.float32)
        folded = tf.matmul(w, kernel), tf.matmul(b, kernel)[0]
        return [tf.cast(part, self.compute_dtype) for part in folded]

    def add_bias(self, x):
        """x `[..., output_size]` + b."""
        b = read(self.b, x.dtype)
        return bias_add(x, b) if x.shape.rank == 2 else x + b


class MLP(tf.Module):
    """ReLU layers of the given sizes, then a linear one: sizes = [input, hidden ..., output]."""

    def __init__(self, sizes, compute_dtype=tf.float32, name="mlp"):
        super().__init__(name=name)
        with self.name_scope:
            self.layers = [
                Linear(size, next_size, compute_dtype, name=f"linear_{i}")
                for i, (size, next_size) in enumerate(itertools.pairwise(sizes))
            ]

    def __call__(self, x, after_relu=None):
        """Maps `[..., input]` to `[..., output]`.

        `after_relu(x, i)`, if given, is applied to the i-th hidden layer's output (dropout).
        """
        first, *rest = self.layers
        x = first(x)
        return rest[-1](self.hidden_layers(x, after_relu)) if rest else x

    def hidden_layers(self, x, after_relu=None):
        """From what the first layer gives, before its ReLU, to the last layer's input."""
        for i, layer in enumerate([None, *self.layers[1:-1]]):
            x = tf.nn.relu(x if layer is None else layer(x))
            x = after_relu(x, i) if after_relu else x
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
    """LSTM with one kernel w `[input_size + hidden_size, 4 * hidden_size]` and a bias b.

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

    def __call__(self, x, state=None):
        """x `[rows, input_size]`, state (h, c) each `[rows, hidden_size]`, None for zeros;
        returns the new (h, c).
        """
        dtype = self.linear.compute_dtype
        return self.advance(x, state, read(self.linear.w, dtype), read(self.linear.b, dtype))

    def following(self, layer):
        """(kernel, bias) with which `advance` takes the input of `layer`, a linear layer without
        activation, for its output.
        """
        w_x, w_h = self.linear.split_kernel([-1, self.hidden_size])
        w, b = layer.followed_by(w_x)
        return tf.concat([w, w_h], axis=0), b + read(self.linear.b, b.dtype)

    def advance(self, x, state, kernel, bias):
        """As the cell itself, with another kernel and bias in place of its own."""
        if state is None:
            kernel = kernel[: -self.hidden_size]
        else:
            x = tf.concat([tf.cast(part, kernel.dtype) for part in (x, state[0])], axis=1)
        gates = bias_add(self.linear.product(x, kernel), bias)
        i, j, f, o = [tf.cast(gate, tf.float32) for gate in tf.split(gates, 4, axis=-1)]
        c = tf.sigmoid(i) * tf.tanh(j)
        if state is not None:
            c += tf.sigmoid(f + 1.0) * state[1]
        return tf.sigmoid(o) * tf.tanh(c), c
