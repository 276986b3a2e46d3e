"""Comparisons that several packages' tests share."""

import itertools

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


def mlp_shapes(name, *sizes):
    """Names and shapes of an MLP's variables."""
    layers = enumerate(itertools.pairwise(sizes))
    pairs = [(f"{name}/linear_{i}", shape) for i, shape in layers]
    return {f"{n}/w": s for n, s in pairs} | {f"{n}/b": s[1:] for n, s in pairs}


def normal(*shape, seed=0):
    """Normal numbers of a shape, float32."""
    return tf.constant(np.random.default_rng(seed).normal(size=shape).astype(np.float32))


def value_and_gradients(run, sources, real, output_weights):
    """Of real nodes alone: what padding nodes hold means nothing."""
    with tf.GradientTape() as tape:
        tape.watch(sources)
        output = run()
        rows = [tf.boolean_mask(tf.cast(o, tf.float32), real) for o in tf.nest.flatten(output)]
        loss = tf.add_n([tf.reduce_sum(r * output_weights) for r in rows])
    return rows, tape.gradient(loss, sources)


def assert_same(run, as_written, sources, real, size, tolerance=1e-5):
    """Two formulations agree in every output and in the gradient to every source."""
    output_weights = normal(np.sum(real), size, seed=9)
    outputs, gradients = value_and_gradients(run, sources, real, output_weights)
    plain_outputs, plain_gradients = value_and_gradients(as_written, sources, real, output_weights)
    for actual, expected in zip(outputs, plain_outputs, strict=True):
        assert_close(actual, expected, tolerance)
    for actual, expected in zip(gradients, plain_gradients, strict=True):
        assert expected is not None and actual is not None
        assert_close(actual, expected, tolerance)
