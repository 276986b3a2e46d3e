"""Recurrent cells: LSTM and GRU.

Products run in `compute_dtype`; gates and states are float32. Initial values are those of
`rrn.nn.layers`.
"""

from collections.abc import Sequence

import tensorflow as tf

from rrn.nn.checks import check_shape, check_sizes, shape_of
from rrn.nn.layers import Linear, bias_add
from rrn.variables.reading import read


class LSTMCell(tf.Module):
    """LSTM with one kernel w `[input_size + hidden_size, 4 * hidden_size]` and a bias b.

    Raises:
      ValueError: a size is below 1, or compute_dtype is no type of floats.
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        compute_dtype: tf.DType | str = tf.float32,
        name: str = "lstm",
    ):
        super().__init__(name=name)
        check_sizes(f"LSTMCell {name!r}", input_size=input_size, hidden_size=hidden_size)
        self.input_size, self.hidden_size = input_size, hidden_size
        with self.name_scope:
            self.linear = Linear(input_size + hidden_size, 4 * hidden_size, compute_dtype)

    def __call__(
        self, x: tf.Tensor, state: Sequence[tf.Tensor] | None = None
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Makes one step.

        Args:
          x: `[rows, input_size]`.
          state: (h, c), each `[rows, hidden_size]`; None for zeros, which take fewer operations.

        Returns:
          The new (h, c), of the same shapes.

        Raises:
          ValueError: x or a state has another shape, or state is no pair.
        """
        name, rows = f"LSTMCell {self.name!r}", shape_of(x)[0]
        check_shape(f"{name}: x", x, "[rows, input_size]", [None, self.input_size])
        if state is not None:
            if not isinstance(state, (list, tuple)) or len(state) != 2:
                got = type(state).__name__
                raise ValueError(f"{name}: state must be a pair of tensors, (h, c), got a {got}")
            for part, given in zip("hc", state, strict=True):
                axes = "[rows, hidden_size]"
                check_shape(f"{name}: {part}", given, axes, [rows, self.hidden_size])
        dtype = self.linear.compute_dtype
        return self.advance(x, state, read(self.linear.w, dtype), read(self.linear.b, dtype))

    def following(self, layer: Linear) -> tuple[tf.Tensor, tf.Tensor]:
        """Multiplies out a linear layer without activation and the cell that follows it.

        Returns:
          (kernel, bias) for `advance`, which then takes the layer's input in place of its output:
          `[layer's input_size + hidden_size, 4 * hidden_size]` and `[4 * hidden_size]`.
        """
        w_x, w_h = self.linear.split_kernel([-1, self.hidden_size])
        w, b = layer.followed_by(w_x)
        return tf.concat([w, w_h], axis=0), b + read(self.linear.b, b.dtype)

    def advance(
        self,
        x: tf.Tensor,
        state: Sequence[tf.Tensor] | None,
        kernel: tf.Tensor,
        bias: tf.Tensor,
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Makes one step with another kernel and bias in place of the cell's own.

        Args:
          x: `[rows, size]`.
          state: (h, c), each `[rows, hidden_size]`; None for zeros.
          kernel: `[size + hidden_size, 4 * hidden_size]`.
          bias: `[4 * hidden_size]`.

        Returns:
          The new (h, c), of the same shapes.
        """
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


class GRUCell(tf.Module):
    """GRU (Cho et al. 2014) whose reset gate multiplies a product with h, as cuDNN computes it.

    With W `[input_size, 3 * hidden_size]`, V `[hidden_size, 3 * hidden_size]` and biases b, d:

        r_x, u_x, n_x = split(x W + b)
        r_h, u_h, n_h = split(h V + d)
        r, u = σ(r_x + r_h), σ(u_x + u_h)       the reset and the update gate
        h' = u h + (1 - u) tanh(n_x + r n_h)

    It is called as an `LSTMCell` is. Its state is (h, ()): it keeps nothing beside h.

    Raises:
      ValueError: a size is below 1, or compute_dtype is no type of floats.
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        compute_dtype: tf.DType | str = tf.float32,
        name: str = "gru",
    ):
        super().__init__(name=name)
        check_sizes(f"GRUCell {name!r}", input_size=input_size, hidden_size=hidden_size)
        self.input_size, self.hidden_size = input_size, hidden_size
        with self.name_scope:
            self.input = Linear(input_size, 3 * hidden_size, compute_dtype, name="input")
            self.hidden = Linear(hidden_size, 3 * hidden_size, compute_dtype, name="hidden")

    def __call__(
        self, x: tf.Tensor, state: tuple[tf.Tensor, tuple[()]] | None = None
    ) -> tuple[tf.Tensor, tuple[()]]:
        """Makes one step.

        Args:
          x: `[rows, input_size]`.
          state: (h, ()), with h `[rows, hidden_size]`; None for zeros, which take fewer operations.

        Raises:
          ValueError: x or h has another shape, or state is no pair.
        """
        name, rows = f"GRUCell {self.name!r}", shape_of(x)[0]
        check_shape(f"{name}: x", x, "[rows, input_size]", [None, self.input_size])
        if state is not None:
            if not isinstance(state, (list, tuple)) or len(state) != 2:
                got = type(state).__name__
                raise ValueError(f"{name}: state must be a pair, (h, ()), got a {got}")
            check_shape(f"{name}: h", state[0], "[rows, hidden_size]", [rows, self.hidden_size])
        dtype = self.input.compute_dtype
        return self.advance(x, state, read(self.input.w, dtype), read(self.input.b, dtype))

    def following(self, layer: Linear) -> tuple[tf.Tensor, tf.Tensor]:
        """Multiplies out a linear layer without activation and the cell that follows it.

        It is as `LSTMCell.following`, with kernel and bias `[layer's input_size, 3 * hidden_size]`
        and `[3 * hidden_size]`.
        """
        w, b = layer.followed_by(read(self.input.w))
        return w, b + read(self.input.b, b.dtype)

    def advance(
        self,
        x: tf.Tensor,
        state: tuple[tf.Tensor, tuple[()]] | None,
        kernel: tf.Tensor,
        bias: tf.Tensor,
    ) -> tuple[tf.Tensor, tuple[()]]:
        """Makes one step with another kernel and bias in place of W and b.

        Args:
          x: `[rows, size]`.
          state: (h, ()), with h `[rows, hidden_size]`; None for zeros.
          kernel: `[size, 3 * hidden_size]`.
          bias: `[3 * hidden_size]`.
        """
        of_x = tf.cast(bias_add(self.input.product(x, kernel), bias), tf.float32)
        of_h = read(self.hidden.b) if state is None else self.hidden(state[0])
        r_x, u_x, n_x = tf.split(of_x, 3, axis=-1)
        r_h, u_h, n_h = tf.split(tf.cast(of_h, tf.float32), 3, axis=-1)
        u = tf.sigmoid(u_x + u_h)
        h = (1.0 - u) * tf.tanh(n_x + tf.sigmoid(r_x + r_h) * n_h)
        return (h if state is None else h + u * state[0]), ()
