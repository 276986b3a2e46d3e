"""Convolutions: `tf.Module`s that know no device, file or config.

Images are `[batch, height, width, channels]`. Kernels start uniform in ±sqrt(6 / fan_in) (He et al.
2015), which keeps the size of what passes through many ReLU layers; biases start at zero.
`compute_dtype` is the type of the convolutions; variables are always float32.
"""

import tensorflow as tf

from rrn.reading import read


def he_uniform(shape, fan_in):
    """Uniform in ±sqrt(6 / fan_in); fan_in: how many inputs add up to one output."""
    limit = (6.0 / fan_in) ** 0.5
    return tf.random.uniform(shape, -limit, limit)


@tf.custom_gradient
def bias_add(x, b):
    """x + b for x `[batch, height, width, size]`, b `[size]`; see `rrn.layers.bias_add`."""

    def gradient(dy):
        return dy, tf.reduce_sum(dy, axis=[0, 1, 2])

    return tf.nn.bias_add(x, b), gradient


class Conv2D(tf.Module):
    """Kernel w `[kernel_size, kernel_size, input_size, output_size]`, bias b `[output_size]`.

    Output pixel (y, x) sees the kernel_size² pixels around (stride y, stride x) that are `dilation`
    apart, zeros where the image ends ("SAME" padding).

    Raises:
      ValueError: stride and dilation are both above 1.
    """

    def __init__(
        self,
        input_size,
        output_size,
        kernel_size,
        stride=1,
        dilation=1,
        compute_dtype=tf.float32,
        name="conv",
    ):
        super().__init__(name=name)
        if stride > 1 and dilation > 1:
            raise ValueError(f"only one can be above 1, got stride={stride}, dilation={dilation}")
        self.stride, self.dilation = stride, dilation
        self.compute_dtype = tf.as_dtype(compute_dtype)
        fan_in = kernel_size**2 * input_size
        shape = [kernel_size, kernel_size, input_size, output_size]
        with self.name_scope:
            self.w = tf.Variable(he_uniform(shape, fan_in), name="w")
            self.b = tf.Variable(tf.zeros([output_size]), name="b")

    def __call__(self, x):
        """`[batch, height, width, input_size]` to `[batch, ⌈height / stride⌉, ⌈width / stride⌉,
        output_size]`, in `compute_dtype`.
        """
        w, b = (read(v, self.compute_dtype) for v in (self.w, self.b))
        x = tf.cast(x, self.compute_dtype)
        if self.dilation == 1:
            return bias_add(tf.nn.conv2d(x, w, self.stride, "SAME"), b)
        # By batches of every dilation-th pixel: without oneDNN, which is off on CPUs that have no
        # AVX-512, tf.nn.conv2d has no gradient with dilations.
        return bias_add(tf.nn.atrous_conv2d(x, w, self.dilation, "SAME"), b)


class ConvTranspose2D(tf.Module):
    """The transpose of a convolution with `stride`: an image `stride` times as high and wide.

    Kernel w `[kernel_size, kernel_size, output_size, input_size]`, bias b `[output_size]`. Every
    input pixel adds its multiple of the kernel to the output around (stride y, stride x).
    """

    def __init__(
        self, input_size, output_size, kernel_size, stride, compute_dtype=tf.float32, name="conv"
    ):
        super().__init__(name=name)
        self.stride = stride
        self.compute_dtype = tf.as_dtype(compute_dtype)
        fan_in = kernel_size**2 * input_size / stride**2
        shape = [kernel_size, kernel_size, output_size, input_size]
        with self.name_scope:
            self.w = tf.Variable(he_uniform(shape, fan_in), name="w")
            self.b = tf.Variable(tf.zeros([output_size]), name="b")

    def __call__(self, x):
        """`[batch, height, width, input_size]` to `[batch, stride * height, stride * width,
        output_size]`, in `compute_dtype`.
        """
        w, b = (read(v, self.compute_dtype) for v in (self.w, self.b))
        x = tf.cast(x, self.compute_dtype)
        batch, height, width, _ = tf.unstack(tf.shape(x))
        shape = [batch, self.stride * height, self.stride * width, self.w.shape[2]]
        return bias_add(tf.nn.conv2d_transpose(x, w, shape, self.stride, "SAME"), b)
