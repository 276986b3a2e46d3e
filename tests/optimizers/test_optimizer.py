"""What all optimizers have in common, and clipping."""

import numpy as np
import pytest
import tensorflow as tf

from rrn.optimizers import Adam, MovingAverages, Muon, RMSProp, clip_by_global_norm


@pytest.mark.parametrize("create", [Adam, RMSProp, Muon])
def test_no_gradient_leaves_value_and_slots_as_they_are(create):
    variables = [tf.Variable(tf.ones(shape)) for shape in ([2], [2, 1], [3])]
    gradients = [2.0 * variable for variable in variables]
    optimizer = create(variables)
    optimizer.apply(gradients, 0.1, 0)
    kept = [*variables[:2], *(v for v in optimizer.variables if v.shape in ([2], [2, 1]))]
    before = [tensor.numpy() for tensor in kept]
    moved = variables[2].numpy()
    optimizer.apply([None, None, gradients[2]], 0.1, 1)
    assert len(kept) >= 5
    for tensor, value in zip(kept, before, strict=True):
        np.testing.assert_array_equal(tensor, value)
    assert (variables[2].numpy() != moved).all()


def test_slots_stand_beside_their_variables_and_are_not_trainable():
    with tf.device("CPU:2"):
        variable = tf.Variable(tf.ones([2]), name="w")
    adam, averages = Adam([variable]), MovingAverages([variable], 0.9)
    rmsprop = RMSProp([variable])
    slots = [adam.m[0], adam.v[0], averages.averages[0], rmsprop.s[0], rmsprop.m[0]]
    assert [slot.device for slot in slots] == 5 * [variable.device]
    names = [slot.name for slot in slots]
    assert names == ["w/m:0", "w/v:0", "w/average:0", "w/s:0", "w/m:0"]
    assert not any(slot.trainable for slot in slots)


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


@pytest.mark.parametrize("clip_norm", [0.0, 1.0])
def test_the_norm_of_a_sparse_gradient_is_that_of_its_sum(clip_norm):
    sparse = tf.IndexedSlices(
        tf.constant([[1.0], [2.0], [4.0]]), tf.constant([1, 1, 0]), tf.constant([3, 1])
    )
    clipped, norm = clip_by_global_norm([sparse], clip_norm)
    np.testing.assert_allclose(norm, 5.0)  # rows 4 and 1 + 2
    expected = np.array([[4.0], [3.0], [0.0]]) / (5.0 if clip_norm else 1.0)
    np.testing.assert_allclose(tf.convert_to_tensor(clipped[0]), expected, rtol=1e-6)
