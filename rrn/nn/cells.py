"""Recurrent cells: LSTM and GRU. Matrix products run in `compute_dtype`, all else in float32."""

from typing import Any

import tensorflow as tf

from rrn.nn.checks import check_shape
from rrn.nn.layers import Linear, affine, bias_add, custom_gradient
from rrn.variables.reading import read


class Cell(tf.Module):
    """A recurrent cell: what LSTM and GRU have in common."""

    def __init__(self, input_size: int, hidden_size: int, name: str):
        super().__init__(name=name)
        self.input_size, self.hidden_size = input_size, hidden_size

    def __call__(self, x: tf.Tensor, state: Any = None) -> tuple[tf.Tensor, Any]:
        """Makes one step, from x `[rows, input_size]`; returns the new (h, c).

        Args:
          state: (h, c), each `[rows, hidden_size]`; None for zeros, which take fewer operations.
        """
        x = tf.convert_to_tensor(x)
        for part in tf.nest.flatten(state) if state is not None else []:
            sizes = [x.shape[0], self.hidden_size]
            check_shape(f"{type(self).__name__}: state", part, "[rows, hidden_size]", sizes)
        layer = self.of_x
        w, b = (read(variable, layer.compute_dtype) for variable in (layer.w, layer.b))
        return self.advance(x, state, w, b)

    @property
    def of_x(self) -> Linear:
        """The layer that takes x."""
        raise NotImplementedError

    def following(self, layer: Linear) -> tuple[tf.Tensor, tf.Tensor]:
        """Multiplies out a linear layer without activation and the cell that follows it.

        With the (kernel, bias) that it returns, `advance` takes the layer's input as x.
        """
        raise NotImplementedError

    def advance(
        self, x: tf.Tensor, state: Any, kernel: tf.Tensor, bias: tf.Tensor
    ) -> tuple[tf.Tensor, Any]:
        """Makes one step as `__call__`, with another kernel and bias for x `[rows, size]`."""
        raise NotImplementedError


class LSTMCell(Cell):
    """LSTM with one kernel w `[input_size + hidden_size, 4 * hidden_size]` and a bias b.

    i, j, f, o = split([x, h] w + b)
    c' = σ(f + 1) c + σ(i) tanh(j)
    h' = σ(o) tanh(c')
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        compute_dtype: tf.DType | str = tf.float32,
        name: str = "lstm",
    ):
        super().__init__(input_size, hidden_size, name)
        with self.name_scope:
            self.linear = Linear(input_size + hidden_size, 4 * hidden_size, compute_dtype)

    @property
    def of_x(self) -> Linear:
        return self.linear

    def following(self, layer: Linear) -> tuple[tf.Tensor, tf.Tensor]:
        w_x, w_h = self.linear.split_kernel([-1, self.hidden_size])
        w, b = layer.followed_by(w_x)
        return tf.concat([w, w_h], axis=0), b + read(self.linear.b, b.dtype)

    def advance(self, x, state, kernel, bias) -> tuple[tf.Tensor, tf.Tensor]:
        rows = [kernel if state else kernel[: -self.hidden_size], bias[None]]
        h, c = ([state[0]], [tf.cast(state[1], tf.float32)]) if state else ([], [])
        return _from_gates(affine([x, *h], tf.concat(rows, axis=0)), *c)


# With TensorFlow's own gradients, an unrolled cell would take three times as many operations to
# trace: where a number of rows is not known, they compute shapes.
@custom_gradient
def _from_gates(gates, *cell):
    """(h', c') of i, j, f, o `[rows, 4 * hidden_size]` and, but at the first step, c."""
    i, j, f, o = [tf.cast(gate, tf.float32) for gate in tf.split(gates, 4, axis=-1)]
    i, j, f, o = tf.sigmoid(i), tf.tanh(j), tf.sigmoid(f + 1.0), tf.sigmoid(o)
    after = i * j + f * cell[0] if cell else i * j
    tanh = tf.tanh(after)

    def gradient(dh, dc):
        dc += tf.raw_ops.TanhGrad(y=tanh, dy=dh * o)
        d_gates = [
            tf.raw_ops.SigmoidGrad(y=i, dy=dc * j),
            tf.raw_ops.TanhGrad(y=j, dy=dc * i),
            tf.raw_ops.SigmoidGrad(y=f, dy=dc * cell[0]) if cell else tf.zeros_like(f),
            tf.raw_ops.SigmoidGrad(y=o, dy=dh * tanh),
        ]
        d_gates = tf.cast(tf.concat(d_gates, axis=-1), gates.dtype)
        return (d_gates, dc * f) if cell else d_gates

    return (o * tanh, after), gradient


class GRUCell(Cell):
    """GRU (Cho et al. 2014) whose reset gate multiplies a product with h, as cuDNN computes it.

    With W `[input_size, 3 * hidden_size]`, V `[hidden_size, 3 * hidden_size]` and biases b, d:

        r_x, u_x, n_x = split(x W + b)
        r_h, u_h, n_h = split(h V + d)
        r, u = σ(r_x + r_h), σ(u_x + u_h)       the reset and the update gate
        h' = u h + (1 - u) tanh(n_x + r n_h)

    Its state is (h, ()): it keeps nothing beside h.
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        compute_dtype: tf.DType | str = tf.float32,
        name: str = "gru",
    ):
        super().__init__(input_size, hidden_size, name)
        with self.name_scope:
            self.input = Linear(input_size, 3 * hidden_size, compute_dtype, name="input")
            self.hidden = Linear(hidden_size, 3 * hidden_size, compute_dtype, name="hidden")

    @property
    def of_x(self) -> Linear:
        return self.input

    def following(self, layer: Linear) -> tuple[tf.Tensor, tf.Tensor]:
        w, b = layer.followed_by(read(self.input.w))
        return w, b + read(self.input.b, b.dtype)

    def advance(self, x, state, kernel, bias) -> tuple[tf.Tensor, tuple]:
        of_x = tf.cast(bias_add(self.input.product(x, kernel), bias), tf.float32)
        of_h = read(self.hidden.b) if state is None else self.hidden(state[0])
        r_x, u_x, n_x = tf.split(of_x, 3, axis=-1)
        r_h, u_h, n_h = tf.split(tf.cast(of_h, tf.float32), 3, axis=-1)
        u = tf.sigmoid(u_x + u_h)
        h = (1.0 - u) * tf.tanh(n_x + tf.sigmoid(r_x + r_h) * n_h)
        return (h if state is None else h + u * state[0]), ()
