"""Comparisons that several rooms' tests share."""

import numpy as np
import tensorflow as tf


def assert_close(actual, expected, tolerance=1e-5):
    """All elements differ by at most `tolerance` times the largest magnitude in `expected`."""
    tensors = (tf.convert_to_tensor(x) for x in (actual, expected))  # gradients may be sparse
    actual, expected = (tf.cast(x, tf.float64).numpy() for x in tensors)
    assert actual.shape == expected.shape
    scale = np.abs(expected).max(initial=1e-30)
    np.testing.assert_allclose(actual, expected, rtol=0, atol=tolerance * scale)


def randomize(module, seed=0):
    """Normal values for every variable: initial biases are zero, and zeros hide mistakes.

    Kernels shrink with the square root of their inputs, so that states stay near 1: large ones
    saturate gates, which hides mistakes too, and amplify rounding, which differs between CPUs.
    """
    random = np.random.default_rng(seed)
    for variable in module.variables:
        scale = min(0.5, (2.0 / np.prod(variable.shape[:-1])) ** 0.5)
        variable.assign(scale * random.normal(size=variable.shape))


def names_and_shapes(module):
    """Variable's name -> its shape, in order of creation."""
    return {v.name.removesuffix(":0"): tuple(v.shape) for v in module.variables}
