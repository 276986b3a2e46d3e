"""Convolutions against sums over shifted images."""

import numpy as np
import pytest
import tensorflow as tf

from rrn.compiling import xla
from rrn.nn.convolution import Conv2D, ConvTranspose2D, max_pool
from tests.compare import assert_close, names_and_shapes, normal, randomize


def plain_conv(x, w, stride=1, dilation=1):
    """Σ over the kernel's taps (i, j) of the image, padded and shifted, times w[i, j]."""
    pads, outputs = [[0, 0]], []
    for n in x.shape[1:3]:
        outputs.append(-(-n // stride))
        reach = (outputs[-1] - 1) * stride + (w.shape[0] - 1) * dilation + 1
        before = max(reach - n, 0) // 2  # TensorFlow's "SAME": one more after than before
        pads.append([before, max(reach - n, 0) - before])
    x = tf.pad(x, [*pads, [0, 0]])
    total = 0.0
    for i in range(w.shape[0]):
        for j in range(w.shape[1]):
            rows = slice(i * dilation, i * dilation + (outputs[0] - 1) * stride + 1, stride)
            columns = slice(j * dilation, j * dilation + (outputs[1] - 1) * stride + 1, stride)
            total += tf.einsum("bhwi,io->bhwo", x[:, rows, columns], w[i, j])
    return total


def gradients(function, x, variables):
    """The output, and the gradients of a weighted sum of it, of x and of the variables."""
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = function(x)
        weights = tf.reshape(tf.sin(tf.range(tf.size(y), dtype=tf.float32)), tf.shape(y))
        loss = tf.reduce_sum(weights * tf.cast(y, tf.float32))
    return [y, *tape.gradient(loss, [x, *variables])]


@pytest.mark.parametrize(
    ("size", "kernel_size", "stride", "dilation"),
    [((7, 6), 3, 1, 1), ((7, 6), 5, 2, 1), ((8, 8), 3, 2, 1), ((9, 7), 3, 1, 4), ((4, 4), 3, 1, 8)],
)
def test_conv_and_its_gradients_are_the_plain_ones(size, kernel_size, stride, dilation):
    conv = Conv2D(3, 4, kernel_size, stride, dilation)
    randomize(conv)
    x = tf.random.normal([2, *size, 3])
    ours = gradients(conv, x, [conv.w, conv.b])
    plain = gradients(lambda x: plain_conv(x, conv.w, stride, dilation) + conv.b, x, conv.variables)
    by_name = dict(zip(["y", "x", *(v.name for v in conv.variables)], plain, strict=True))
    assert ours[0].shape == (2, -(-size[0] // stride), -(-size[1] // stride), 4)
    for name, value in zip(["y", "x", "conv/w:0", "conv/b:0"], ours, strict=True):
        assert_close(value, by_name[name])


@pytest.mark.parametrize(("kernel_size", "stride"), [(4, 2), (3, 2), (3, 1)])
def test_conv_transpose_is_the_transpose(kernel_size, stride):
    layer = ConvTranspose2D(3, 2, kernel_size, stride)
    randomize(layer)
    x, large = tf.random.normal([2, 5, 4, 3]), tf.zeros([2, 5 * stride, 4 * stride, 2])
    with tf.GradientTape() as tape:  # the transpose of a linear function is its gradient
        tape.watch(large)
        product = tf.reduce_sum(x * plain_conv(large, layer.w, stride))
    assert_close(layer(x), tape.gradient(product, large) + layer.b)
    _, *ours = gradients(layer, x, [layer.w, layer.b])
    assert [g.shape for g in ours] == [x.shape, layer.w.shape, layer.b.shape]


def test_bfloat16_convolves_in_bfloat16_and_adds_up_gradients_exactly():
    x = tf.random.normal([1, 64, 64, 2])
    for layer in (
        Conv2D(2, 3, 3, compute_dtype="bfloat16"),
        ConvTranspose2D(2, 3, 4, 2, "bfloat16"),
    ):
        with tf.GradientTape() as tape:
            y = layer(x)
            loss = tf.reduce_sum(tf.cast(y, tf.float32))
        assert y.dtype == tf.bfloat16
        gradient = tape.gradient(loss, layer.b)
        assert gradient.dtype == layer.w.dtype == tf.float32
        np.testing.assert_array_equal(gradient, [y.shape[1] * y.shape[2]] * 3)
        layer.compute_dtype = tf.float32
        assert_close(y, layer(x), 0.02)


def test_names_shapes_and_initial_values():
    conv, transpose = Conv2D(3, 64, 5, name="a"), ConvTranspose2D(64, 32, 4, 2, name="b")
    assert names_and_shapes(conv) == {"a/b": (64,), "a/w": (5, 5, 3, 64)}
    assert names_and_shapes(transpose) == {"b/b": (32,), "b/w": (4, 4, 32, 64)}
    for layer, fan_in in ((conv, 75), (transpose, 4 * 64)):  # 4 of 16 taps meet in a pixel
        w, limit = layer.w.numpy(), np.sqrt(6 / fan_in)
        assert 0.98 * limit < np.abs(w).max() <= limit
        assert w.std() == pytest.approx(limit / np.sqrt(3), rel=0.03)
        assert not layer.b.numpy().any()


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: Conv2D(0, 4, 3), "Conv2D 'conv': input_size must be .* at least 1, got 0"),
        (lambda: Conv2D(3, 4, 3, 2, 4), "only one can be above 1, got stride=2, dilation=4"),
        (lambda: ConvTranspose2D(3, 4, 3, 0), "ConvTranspose2D 'conv': stride must be .* got 0"),
        (lambda: Conv2D(3, 4, 3, compute_dtype="int8"), "Conv2D: compute_dtype must be"),
        (lambda: Conv2D(3, 4, 3)(tf.ones([5, 5, 3])), r"x must have .* 3\), got \(5, 5, 3\)"),
        (lambda: Conv2D(3, 4, 3)(tf.ones([2, 5, 5, 6])), r"x must have .* 3\), got \(2, 5, 5, 6\)"),
        (lambda: ConvTranspose2D(3, 4, 3, 2)(tf.ones([2, 5, 5, 4])), r"x must have .* 3\), got"),
    ],
)
def test_a_wrong_size_type_or_shape_is_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("height, width", [(4, 6), (5, 7), (1, 2)])
def test_pooling_and_its_gradient_are_the_same_within_xla(height, width):
    images = tf.nn.relu(normal(2, height, width, 3))  # zeros are often the largest of four
    upstream = normal(2, -(-height // 2), -(-width // 2), 3, seed=1)

    def pooled():
        with tf.GradientTape() as tape:
            tape.watch(images)
            result = max_pool(tf.nn.relu(images))
        return result, tape.gradient(result, images, upstream)

    for plain, compiled in zip(pooled(), xla(pooled)(), strict=True):
        np.testing.assert_allclose(compiled, plain, atol=1e-6)
