"""Convolutions of images `[batch, height, width, channels]`.

Kernels start uniform in ±sqrt(6 / fan_in) (He et al. 2015), which keeps the size of what passes
through many ReLU layers; biases start at zero. `compute_dtype` is the type of the convolutions and
of their outputs; variables are always float32.
"""

from collections.abc import Sequence

import tensorflow as tf

from rrn.compiling import is_compiling
from rrn.nn.checks import check_shape, check_sizes, float_type
from rrn.nn.layers import bias_add
from rrn.variables.reading import read
from rrn.variables.sharded import known_size


def max_pool(images: tf.Tensor) -> tf.Tensor:
    """Takes the largest of every 2 x 2 pixels, the last ones alone where a size is odd.

    Within XLA it is a maximum over axes, since XLA has no deterministic gradient of pooling. Where
    several of four pixels are the largest, each has a share of the gradient then; elsewhere the
    first has all of it.
    """
    if not is_compiling():
        return tf.nn.max_pool2d(images, 2, 2, "SAME")
    height, width, size = (known_size(images, axis) for axis in (1, 2, 3))
    padding = [[0, 0], [0, height % 2], [0, width % 2], [0, 0]]
    images = tf.pad(images, padding, constant_values=images.dtype.min)
    blocks = [-1, -(-height // 2), 2, -(-width // 2), 2, size]
    return tf.reduce_max(tf.reshape(images, blocks), axis=[2, 4])


class _Convolution(tf.Module):
    """A kernel and a bias; fan_in is the number of inputs that add up to one output."""

    def __init__(self, shape: Sequence[int], fan_in: float, output_size, dtype, name, **sizes):
        super().__init__(name=name)
        check_sizes(f"{type(self).__name__} {name!r}", output_size=output_size, **sizes)
        self.compute_dtype = float_type(f"{type(self).__name__}: compute_dtype", dtype)
        self._input_size, limit = sizes["input_size"], (6.0 / fan_in) ** 0.5
        with self.name_scope:
            self.w = tf.Variable(tf.random.uniform(shape, -limit, limit), name="w")
            self.b = tf.Variable(tf.zeros([output_size]), name="b")

    def __call__(self, x: tf.Tensor) -> tf.Tensor:
        """Convolves images `[batch, height, width, input_size]`; returns `compute_dtype`."""
        name, axes = f"{type(self).__name__} {self.name!r}: x", "[batch, height, width, input_size]"
        check_shape(name, x, axes, [None, None, None, self._input_size])  # others are grouped
        w, b = (read(v, self.compute_dtype) for v in (self.w, self.b))
        return bias_add(self._convolve(tf.cast(x, self.compute_dtype), w), b)

    def _convolve(self, x, w) -> tf.Tensor:
        raise NotImplementedError


class Conv2D(_Convolution):
    """A convolution with bias; zeros surround the image ("SAME" padding).

    Output pixel (y, x) sees kernel_size² pixels around (stride y, stride x) that are `dilation`
    apart. The kernel w is `[kernel_size, kernel_size, input_size, output_size]`, the bias b
    `[output_size]`. Outputs are `[batch, ⌈height / stride⌉, ⌈width / stride⌉, output_size]`. Only
    one of stride and dilation can be above 1.
    """

    def __init__(
        self,
        input_size: int,
        output_size: int,
        kernel_size: int,
        stride: int = 1,
        dilation: int = 1,
        compute_dtype: tf.DType | str = tf.float32,
        name: str = "conv",
    ):
        if stride > 1 and dilation > 1:
            got = f"got stride={stride}, dilation={dilation}"
            raise ValueError(f"Conv2D {name!r}: only one can be above 1, {got}")
        shape = [kernel_size, kernel_size, input_size, output_size]
        sizes = {"input_size": input_size, "kernel_size": kernel_size}
        sizes |= {"stride": stride, "dilation": dilation}
        fan_in = kernel_size**2 * input_size
        super().__init__(shape, fan_in, output_size, compute_dtype, name, **sizes)
        self.stride, self.dilation = stride, dilation

    def _convolve(self, x, w):
        if self.dilation == 1:
            return tf.nn.conv2d(x, w, self.stride, "SAME")
        # atrous_conv2d makes a batch of every dilation-th pixel. tf.nn.conv2d with dilations has no
        # gradient without oneDNN, which is off on CPUs that have no AVX-512.
        return tf.nn.atrous_conv2d(x, w, self.dilation, "SAME")


class ConvTranspose2D(_Convolution):
    """The transpose of a convolution with `stride`: an image `stride` times as high and wide.

    Every input pixel (y, x) adds its multiple of the kernel to the output around
    (stride y, stride x). The kernel w is `[kernel_size, kernel_size, output_size, input_size]`, the
    bias b `[output_size]`. Outputs are `[batch, stride * height, stride * width, output_size]`.
    """

    def __init__(
        self,
        input_size: int,
        output_size: int,
        kernel_size: int,
        stride: int,
        compute_dtype: tf.DType | str = tf.float32,
        name: str = "conv",
    ):
        shape = [kernel_size, kernel_size, output_size, input_size]
        sizes = {"input_size": input_size, "kernel_size": kernel_size, "stride": stride}
        fan_in = kernel_size**2 * input_size / max(stride, 1) ** 2
        super().__init__(shape, fan_in, output_size, compute_dtype, name, **sizes)
        self.stride = stride

    def _convolve(self, x, w):
        batch, height, width, _ = tf.unstack(tf.shape(x))
        shape = tf.stack([batch, self.stride * height, self.stride * width, w.shape[2]])
        return tf.nn.conv2d_transpose(x, w, shape, self.stride, "SAME")
