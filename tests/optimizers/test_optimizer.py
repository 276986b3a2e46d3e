"""What all optimizers have in common."""

import numpy as np
import pytest
import tensorflow as tf

from rrn.optimizers import Adam, MovingAverages, Muon, RMSProp


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
