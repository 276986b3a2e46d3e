"""Dense layers, MLP and embedding.

Initial values are the ones behind the paper's results: Glorot-uniform kernels and embeddings, zero
biases. `compute_dtype` is the type of the matrix products; variables are always float32.
"""

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from rrn.compiling import is_compiling
from rrn.hardware import has_amx
from rrn.nn.checks import check_sizes, float_type
from rrn.variables.reading import read
from rrn.variables.sharded import known_size

SUM_PARTS = 64  # in which rows are summed: all cores work, each on what its cache holds


def glorot_uniform(shape: Sequence[int]) -> tf.Tensor:
    """Draws initial values `[fan_in, fan_out]`, uniform in ±sqrt(6 / (fan_in + fan_out))."""
    limit = (6.0 / sum(shape)) ** 0.5
    return tf.random.uniform(shape, -limit, limit)


def custom_gradient(function: Callable) -> Callable[..., Any]:
    """Is `tf.custom_gradient`, whose stub does not say what the decorated function returns."""
    return tf.custom_gradient(function)


@custom_gradient
def bias_add(x: tf.Tensor, b: tf.Tensor):
    """Computes x + b, `[..., size]`; TensorFlow fuses a product before it and a ReLU after it."""
    return tf.nn.bias_add(x, b), lambda dy: (dy, bias_gradient(dy))


def bias_gradient(dy: tf.Tensor) -> tf.Tensor:
    """Sums dy `[..., size]` to `[size]`, by `tf.reduce_sum`.

    TensorFlow's own gradient of a bias, BiasAddGrad, adds up in bfloat16 where its input is
    bfloat16 (4,096 ones give 256), and takes twice as long there.
    """
    parts, shape = dy, tuple(dy.shape)
    if len(shape) == 2 and shape[0] and shape[0] % SUM_PARTS == 0:
        parts = tf.reduce_sum(tf.reshape(dy, [SUM_PARTS, -1, shape[1]]), axis=1)
    return tf.reduce_sum(parts, axis=list(range(len(shape) - 1)))


def dense(x: tf.Tensor, w: tf.Tensor, b: tf.Tensor, relu: bool = False) -> tf.Tensor:
    """Computes x w + b of x `[rows, size]`, with `relu` its positive part.

    With AMX it is a convolution of one pixel in graphs: in bfloat16, oneDNN's products with a bias
    do not use AMX, and its convolutions do. They take 0.1 to 0.5 of the time.
    """
    if _for_gpu() or tf.executing_eagerly() or x.dtype != tf.bfloat16 or not has_amx():
        x = bias_add(tf.matmul(x, w), b)
        return tf.nn.relu(x) if relu else x

    @custom_gradient
    def convolution(x, w, b):
        y = tf.nn.bias_add(tf.nn.conv2d(x[None, None], w[None, None], 1, "VALID"), b)
        y = tf.nn.relu(y) if relu else y
        y = tf.reshape(y, [tf.shape(x)[0], b.shape[0]])  # of no rows it would have x's columns

        def gradient(dy):
            dy = tf.raw_ops.ReluGrad(gradients=dy, features=y) if relu else dy
            dx = tf.matmul(dy, w, transpose_b=True)
            return dx, tf.matmul(x, dy, transpose_a=True), bias_gradient(dy)

        return y, gradient

    return convolution(x, w, b)


def _for_gpu():
    return is_compiling() or bool(tf.config.list_logical_devices("GPU"))


def affine(inputs: Sequence[tf.Tensor], kernel: tf.Tensor) -> tf.Tensor:
    """Computes [*inputs, 1] kernel, of inputs `[rows, size]`; the kernel's last row is the bias.

    On a CPU the column of ones costs less than oneDNN's addition of a bias in bfloat16 to many
    columns, and much less than the sum over rows which is its gradient.
    """
    inputs = [tf.cast(x, kernel.dtype) for x in inputs]
    if _for_gpu():  # whose products want sizes that are multiples of 8
        return bias_add(tf.matmul(tf.concat(inputs, axis=1), kernel[:-1]), kernel[-1])

    @custom_gradient
    def product(kernel, *inputs):
        x = tf.concat([*inputs, tf.ones_like(inputs[0][:, :1])], axis=1)

        def gradient(dy):
            dx = tf.matmul(dy, kernel[:-1], transpose_b=True)
            to_inputs = tf.split(dx, [each.shape[1] for each in inputs], axis=1)
            return tf.matmul(x, dy, transpose_a=True), *to_inputs

        return tf.matmul(x, kernel), gradient

    return product(kernel, *inputs)


def gather(rows: tf.Tensor, indices: tf.Tensor) -> tf.Tensor:
    """Is `tf.gather` with a gradient that is added up in float32, not in bfloat16."""
    float_type = rows.dtype in (tf.float32, tf.float64)
    return tf.gather(rows, indices) if float_type else gather_with_dense_gradient(rows, indices)


def gather_with_dense_gradient(rows: tf.Tensor, indices: tf.Tensor) -> tf.Tensor:
    """Is `tf.gather` with a gradient that is a tensor, added up in float32 at least."""
    wide = rows.dtype if rows.dtype == tf.float64 else tf.float32

    @custom_gradient
    def gather_rows(rows):
        def gradient(dy):
            number = tf.unstack(tf.shape(rows))[0]  # fewer operations than tf.shape(rows)[0]
            sums = tf.math.unsorted_segment_sum(tf.cast(dy, wide), indices, number)
            return tf.cast(sums, rows.dtype)

        return tf.gather(rows, indices), gradient

    return gather_rows(rows)


class Linear(tf.Module):
    """y = x w + b, with w `[input_size, output_size]` and b `[output_size]`."""

    def __init__(
        self,
        input_size: int,
        output_size: int,
        compute_dtype: tf.DType | str = tf.float32,
        name: str = "linear",
    ):
        super().__init__(name=name)
        check_sizes(f"Linear {name!r}", input_size=input_size, output_size=output_size)
        self.compute_dtype = float_type(f"Linear {name!r}: compute_dtype", compute_dtype)
        with self.name_scope:
            self.w = tf.Variable(glorot_uniform([input_size, output_size]), name="w")
            self.b = tf.Variable(tf.zeros([output_size]), name="b")

    def __call__(self, x: tf.Tensor, relu: bool = False) -> tf.Tensor:
        """Computes x w + b, with `relu` its positive part, in `compute_dtype`.

        x is `[..., input_size]`, the result `[..., output_size]`.
        """
        w, b = (read(variable, self.compute_dtype) for variable in (self.w, self.b))
        function = functools.partial(dense, w=w, b=b, relu=relu)
        return _by_rows(function, tf.cast(x, self.compute_dtype))

    def product(self, x: tf.Tensor, w: tf.Tensor) -> tf.Tensor:
        """Multiplies x `[..., size]` with some or all rows of the kernel.

        w is `[size, output_size]`, in `compute_dtype` as the result; see `split_kernel`.
        """
        return _by_rows(functools.partial(tf.matmul, b=w), tf.cast(x, self.compute_dtype))

    def add_bias(self, x: tf.Tensor) -> tf.Tensor:
        """Computes x + b of x `[..., output_size]`, in x's type."""
        b = read(self.b, x.dtype)
        return bias_add(x, b) if x.shape.rank == 2 else x + b

    def split_kernel(self, sizes: Sequence[int]) -> list[tf.Tensor]:
        """Splits the kernel by rows: a kernel `[size, output_size]` in `compute_dtype` for each.

        A layer over a concatenation of inputs is the sum of the inputs' products with such parts of
        the kernel. So each input may be multiplied where it has the fewest rows.
        """
        return tf.split(read(self.w, self.compute_dtype), sizes)

    def followed_by(self, kernel: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Returns w kernel and b kernel, of a kernel `[output_size, next_size]` after this layer.

        They are multiplied in float32 and cast to `compute_dtype`.
        """
        w, b, dtype = read(self.w), read(self.b)[None], self.compute_dtype
        kernel = tf.cast(kernel, tf.float32)
        return tf.cast(tf.matmul(w, kernel), dtype), tf.cast(tf.matmul(b, kernel)[0], dtype)


def _by_rows(function, x):
    """Applies a function of rows `[n, size]` to x `[..., size]`."""
    if x.shape.rank == 2:
        return function(x)
    rows = function(tf.reshape(x, [-1, x.shape[-1]]))
    return tf.reshape(rows, tf.concat([tf.shape(x)[:-1], [known_size(rows, 1)]], 0))


class MLP(tf.Module):
    """ReLU layers, then a linear one: from the first of `sizes` to the last."""

    def __init__(
        self, sizes: Sequence[int], compute_dtype: tf.DType | str = tf.float32, name: str = "mlp"
    ):
        super().__init__(name=name)
        if len(sizes) < 2:
            raise ValueError(f"MLP {name!r}: sizes must be [input, ..., output], got {sizes}")
        with self.name_scope:
            self.layers = [
                Linear(size, next_size, compute_dtype, name=f"linear_{i}")
                for i, (size, next_size) in enumerate(itertools.pairwise(sizes))
            ]

    def __call__(
        self, x: tf.Tensor, after_relu: Callable[[tf.Tensor, int], tf.Tensor] | None = None
    ) -> tf.Tensor:
        """Applies all layers: `[..., input]` to `[..., output]`, in `compute_dtype`.

        Args:
          after_relu: a function (x, i) that is applied to the output of the i-th ReLU layer, from
            0, as for dropout.
        """
        first, *rest = self.layers
        x = first(x)
        return rest[-1](self.hidden_layers(x, after_relu)) if rest else x

    def hidden_layers(
        self, x: tf.Tensor, after_relu: Callable[[tf.Tensor, int], tf.Tensor] | None = None
    ) -> tf.Tensor:
        """Applies all between the first layer, which gives x `[..., size]`, and the last layer."""
        for i, layer in enumerate([None, *self.layers[1:-1]]):
            x = tf.nn.relu(x) if layer is None else layer(x, relu=True)
            x = after_relu(x, i) if after_relu else x
        return x


class Embedding(tf.Module):
    """A table `[vocabulary_size, size]` with a row for each id."""

    def __init__(self, vocabulary_size: int, size: int, name: str = "embedding"):
        super().__init__(name=name)
        check_sizes(f"Embedding {name!r}", vocabulary_size=vocabulary_size, size=size)
        with self.name_scope:
            self.table = tf.Variable(glorot_uniform([vocabulary_size, size]), name="table")

    def __call__(self, ids: tf.Tensor) -> tf.Tensor:
        """Looks up the rows of ids, integers `[...]`: `[..., size]`; the gradient is sparse."""
        return tf.gather(read(self.table), ids)
