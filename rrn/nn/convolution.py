"""Convolutions: `tf.Module`s that know no device, file or config.

Images are `[batch, height, width, channels]`. Kernels start uniform in ±sqrt(6 / fan_in) (He et al.
2015), which keeps the size of what passes through many ReLU layers; biases start at zero.
`compute_dtype` is the type of the convolutions and of their outputs; variables are always float32.
A call raises a ValueError where its input has another shape than it should.
"""

from collections.abc import Sequence

import tensorflow as tf

from rrn.compiling import is_compiling
from rrn.nn.checks import check_shape, check_sizes, float_type
from rrn.nn.gradients import Gradient, custom_gradient
from rrn.variables.reading import read
from rrn.variables.shapes import known_size

IMAGES = "[batch, height, width, input_size]"


def he_uniform(shape: Sequence[int], fan_in: float) -> tf.Tensor:
    """Draws the initial values of a kernel, uniform in ±sqrt(6 / fan_in).

    Args:
      fan_in: the number of inputs that add up to one output.
    """
    limit = (6.0 / fan_in) ** 0.5
    return tf.random.uniform(shape, -limit, limit)


@custom_gradient
def bias_add(x: tf.Tensor, b: tf.Tensor) -> tuple[tf.Tensor, Gradient]:
    """Computes x + b over the last axis.

    The gradient is `tf.reduce_sum`, for the reasons of `rrn.nn.layers.bias_add`.
    """

    def gradient(dy):
        return dy, tf.reduce_sum(dy, axis=[0, 1, 2])

    return tf.nn.bias_add(x, b), gradient


def max_pool(images: tf.Tensor) -> tf.Tensor:
    """Takes the largest of every 2 x 2 pixels, the last ones alone where a size is odd.

    Within XLA it is a maximum over axes, since XLA has no deterministic gradient of pooling. Where
    several of four pixels are the largest, each has a share of the gradient then, and elsewhere the
    first has all of it. Of pixels that a ReLU has set to zero, none goes on.

    Args:
      images: `[batch, height, width, size]`.

    Returns:
      `[batch, ceil(height / 2), ceil(width / 2), size]`.
    """
    if not is_compiling():
        return tf.nn.max_pool2d(images, 2, 2, "SAME")
    height, width, size = (known_size(images, axis) for axis in (1, 2, 3))
    padding = [[0, 0], [0, height % 2], [0, width % 2], [0, 0]]
    images = tf.pad(images, padding, constant_values=images.dtype.min)
    blocks = [-1, -(-height // 2), 2, -(-width // 2), 2, size]
    return tf.reduce_max(tf.reshape(images, blocks), axis=[2, 4])


class Conv2D(tf.Module):
    """A convolution with bias; zeros surround the image ("SAME" padding).

    Output pixel (y, x) sees kernel_size² pixels around (stride y, stride x) that are `dilation`
    apart. The kernel w is `[kernel_size, kernel_size, input_size, output_size]`, the bias b
    `[output_size]`.

    Args:
      stride: how far apart in the input two neighbouring output pixels are.
      dilation: how far apart in the input two neighbouring elements of the kernel are.

    Raises:
      ValueError: a size, stride or dilation is below 1, or stride and dilation are both above 1;
        compute_dtype is no type of floats.
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
        super().__init__(name=name)
        check_sizes(
            f"Conv2D {name!r}",
            input_size=input_size,
            output_size=output_size,
            kernel_size=kernel_size,
            stride=stride,
            dilation=dilation,
        )
        if stride > 1 and dilation > 1:
            raise ValueError(
                f"Conv2D {name!r}: only one can be above 1, got stride={stride}, "
                f"dilation={dilation}"
            )
        self.stride, self.dilation = stride, dilation
        self.compute_dtype = float_type(f"Conv2D {name!r}: compute_dtype", compute_dtype)
        fan_in = kernel_size**2 * input_size
        shape = [kernel_size, kernel_size, input_size, output_size]
        with self.name_scope:
            self.w = tf.Variable(he_uniform(shape, fan_in), name="w")
            self.b = tf.Variable(tf.zeros([output_size]), name="b")

    def __call__(self, x: tf.Tensor) -> tf.Tensor:
        """Convolves images.

        Args:
          x: `[batch, height, width, input_size]`.

        Returns:
          `[batch, ⌈height / stride⌉, ⌈width / stride⌉, output_size]`, in `compute_dtype`.
        """
        check_shape(f"Conv2D {self.name!r}: x", x, IMAGES, [None, None, None, self.w.shape[2]])
        w, b = (read(v, self.compute_dtype) for v in (self.w, self.b))
        x = tf.cast(x, self.compute_dtype)
        if self.dilation == 1:
            return bias_add(tf.nn.conv2d(x, w, self.stride, "SAME"), b)
        # atrous_conv2d makes a batch of every dilation-th pixel. tf.nn.conv2d with dilations has no
        # gradient without oneDNN, which is off on CPUs that have no AVX-512.
        return bias_add(tf.nn.atrous_conv2d(x, w, self.dilation, "SAME"), b)


class ConvTranspose2D(tf.Module):
    """The transpose of a convolution with `stride`: an image `stride` times as high and wide.

    Every input pixel (y, x) adds its multiple of the kernel to the output around
    (stride y, stride x). The kernel w is `[kernel_size, kernel_size, output_size, input_size]`, the
    bias b `[output_size]`.

    Args:
      stride: how far apart in the output two neighbouring input pixels are.

    Raises:
      ValueError: a size or stride is below 1, or compute_dtype is no type of floats.
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
        super().__init__(name=name)
        check_sizes(
            f"ConvTranspose2D {name!r}",
            input_size=input_size,
            output_size=output_size,
            kernel_size=kernel_size,
            stride=stride,
        )
        self.stride = stride
        self.compute_dtype = float_type(f"ConvTranspose2D {name!r}: compute_dtype", compute_dtype)
        fan_in = kernel_size**2 * input_size / stride**2
        shape = [kernel_size, kernel_size, output_size, input_size]
        with self.name_scope:
            self.w = tf.Variable(he_uniform(shape, fan_in), name="w")
            self.b = tf.Variable(tf.zeros([output_size]), name="b")

    def __call__(self, x: tf.Tensor) -> tf.Tensor:
        """Enlarges images.

        Args:
          x: `[batch, height, width, input_size]`.

        Returns:
          `[batch, stride * height, stride * width, output_size]`, in `compute_dtype`.
        """
        check_shape(
            f"ConvTranspose2D {self.name!r}: x", x, IMAGES, [None, None, None, self.w.shape[3]]
        )
        w, b = (read(v, self.compute_dtype) for v in (self.w, self.b))
        x = tf.cast(x, self.compute_dtype)
        batch, height, width, _ = tf.unstack(tf.shape(x))
        shape = tf.stack([batch, self.stride * height, self.stride * width, self.w.shape[2]])
        return bias_add(tf.nn.conv2d_transpose(x, w, shape, self.stride, "SAME"), b)
