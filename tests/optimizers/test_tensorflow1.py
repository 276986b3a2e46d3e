"""Adam and RMSProp against NumPy and Keras."""

import math

import numpy as np
import pytest
import tensorflow as tf

from rrn.optimizers import Adam, RMSProp


def numpy_adam(value, gradients, rates, beta_1=0.9, beta_2=0.999, epsilon=1e-8):
    """TensorFlow 1's formula in float64."""
    w = np.asarray(value, np.float64)
    m, v = np.zeros_like(w), np.zeros_like(w)
    for t, (g, rate) in enumerate(zip(gradients, rates, strict=True), 1):
        rate_t = rate * math.sqrt(1 - beta_2**t) / (1 - beta_1**t)
        m = beta_1 * m + (1 - beta_1) * g
        v = beta_2 * v + (1 - beta_2) * g * g
        w = w - rate_t * m / (np.sqrt(v) + epsilon)
    return w, m, v


def test_adam_is_tensorflow_1s_for_dense_and_sparse_gradients():
    rng = np.random.default_rng(0)
    variables = [tf.Variable(rng.normal(size=[4, 3]), dtype=tf.float32) for _ in range(2)]
    initial = [variable.numpy() for variable in variables]
    adam = Adam(variables)
    gradients, rates = ([], []), 0.01 * (1 + np.arange(20))
    for update, rate in enumerate(rates):
        # Tiny gradients too, where it matters that ε is added to the uncorrected sqrt(v).
        dense = rng.normal(size=[4, 3]).astype(np.float32) * np.float32(10.0 ** rng.integers(-9, 1))
        values = rng.normal(size=[3, 3]).astype(np.float32)
        sparse = tf.IndexedSlices(values, tf.constant([2, 0, 2]), tf.constant([4, 3]))
        summed = np.zeros([4, 3])
        np.add.at(summed, [2, 0, 2], values)
        gradients[0].append(dense.astype(np.float64))
        gradients[1].append(summed)
        adam.apply([tf.constant(dense), sparse], tf.constant(rate, tf.float32), tf.constant(update))
    for i, variable in enumerate(variables):
        w, m, v = numpy_adam(initial[i], gradients[i], rates)
        np.testing.assert_allclose(variable, w, rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(adam.m[i], m, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(adam.v[i], v, rtol=1e-5, atol=1e-6)


def test_the_first_update_of_adam_by_hand():
    variable = tf.Variable([1.0, 1.0, 1.0])
    Adam([variable]).apply([tf.constant([2.0, -3e-7, 0.0])], tf.constant(0.1), tf.constant(0))
    # rate_1 = 0.1 sqrt(0.001) / 0.1 = 0.0316228; m = 0.1 g; sqrt(v) = 0.0316228 |g|, so the step is
    # 0.1 g / (|g| + 1e-8 / 0.0316228) = 0.1 g / (|g| + 3.16e-7)
    np.testing.assert_allclose(variable, [0.9, 1 + 0.1 * 3 / 6.16228, 1.0], rtol=1e-5)


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
