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
