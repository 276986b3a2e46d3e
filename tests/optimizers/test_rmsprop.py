"""RMSProp against NumPy and Keras."""

import numpy as np
import pytest
import tensorflow as tf

from rrn.optimizers import RMSProp


def numpy_rmsprop(value, gradients, rates, rho=0.9, momentum=0.0, epsilon=1e-10):
    """TensorFlow 1's formula in float64."""
    w = np.asarray(value, np.float64)
    s, m = np.ones_like(w), np.zeros_like(w)
    for g, rate in zip(gradients, rates, strict=True):
        s = rho * s + (1 - rho) * g * g
        m = momentum * m + rate * g / np.sqrt(s + epsilon)
        w = w - m
    return w, s, m


@pytest.mark.parametrize("fields", [{}, {"momentum": 0.7, "rho": 0.6, "epsilon": 0.01}])
def test_rmsprop_is_tensorflow_1s(fields):
    rng = np.random.default_rng(0)
    variable = tf.Variable(rng.normal(size=[4, 3]), dtype=tf.float32)
    initial, rates = variable.numpy(), 0.01 * (1 + np.arange(20))
    optimizer = RMSProp([variable], **fields)
    gradients = np.float32(rng.normal(size=[20, 4, 3]) * 10.0 ** rng.integers(-2, 1, [20, 1, 1]))
    for update, (gradient, rate) in enumerate(zip(gradients, rates, strict=True)):
        optimizer.apply([tf.constant(gradient)], tf.constant(rate, tf.float32), update)
    w, s, m = numpy_rmsprop(initial, np.float64(gradients), rates, **fields)
    np.testing.assert_allclose(variable, w, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(optimizer.s[0], s, rtol=1e-5)
    np.testing.assert_allclose(optimizer.m[0], m, rtol=1e-4, atol=1e-6)


def test_rmsprop_from_zero_is_keras_without_momentum():
    """Keras starts s at 0 and adds ε to it within the root, too."""
    ours, theirs = (tf.Variable([[0.5, -1.0], [2.0, 3.0]]) for _ in range(2))
    optimizer = RMSProp([ours], epsilon=1e-3)
    optimizer.s[0].assign(tf.zeros([2, 2]))
    keras = tf.keras.optimizers.RMSprop(0.1, rho=0.9, epsilon=1e-3)
    sparse = tf.IndexedSlices(tf.constant([[1.0, 2.0]]), tf.constant([1]), tf.constant([2, 2]))
    for gradient in (tf.constant([[1.0, -2.0], [3.0, 1e-3]]), tf.convert_to_tensor(sparse)):
        optimizer.apply([gradient], tf.constant(0.1), 0)
        keras.apply_gradients([(gradient, theirs)])
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)
    before = ours.numpy()
    optimizer.apply([sparse], tf.constant(0.1), 0)  # a sparse gradient is one with zeros
    np.testing.assert_array_equal(ours[0], before[0])
    assert (ours[1].numpy() != before[1]).all()
