"""Clipping by the global norm."""

import numpy as np
import pytest
import tensorflow as tf

from rrn.optimizers import clip_by_global_norm


def test_clipping_scales_to_the_norm():
    gradients = [tf.constant([3.0, 0.0]), None, tf.constant([[4.0]])]
    clipped, norm = clip_by_global_norm(gradients, 2.0)
    np.testing.assert_allclose(norm, 5.0)
    np.testing.assert_allclose(clipped[0], [1.2, 0.0], rtol=1e-6)
    assert clipped[1] is None
    np.testing.assert_allclose(clipped[2], [[1.6]], rtol=1e-6)


def test_gradients_within_the_norm_keep_their_bits():
    gradient = tf.constant([0.3, 0.4])
    clipped, _ = clip_by_global_norm([gradient], 0.6)
    np.testing.assert_array_equal(clipped[0], gradient)


def test_no_clipping_at_zero():
    clipped, norm = clip_by_global_norm([tf.constant([30.0, 40.0])], 0.0)
    np.testing.assert_allclose(norm, 50.0)
    np.testing.assert_array_equal(clipped[0], [30.0, 40.0])


@pytest.mark.parametrize("clip_norm", [0.0, 1.0])
def test_the_norm_of_a_sparse_gradient_is_that_of_its_sum(clip_norm):
    sparse = tf.IndexedSlices(
        tf.constant([[1.0], [2.0], [4.0]]), tf.constant([1, 1, 0]), tf.constant([3, 1])
    )
    clipped, norm = clip_by_global_norm([sparse], clip_norm)
    np.testing.assert_allclose(norm, 5.0)  # rows 4 and 1 + 2
    expected = np.array([[4.0], [3.0], [0.0]]) / (5.0 if clip_norm else 1.0)
    np.testing.assert_allclose(tf.convert_to_tensor(clipped[0]), expected, rtol=1e-6)
