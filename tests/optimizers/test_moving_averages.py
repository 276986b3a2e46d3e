"""Moving averages of variables."""

import numpy as np
import pytest
import tensorflow as tf

from rrn.optimizers import MovingAverages


def test_averages_follow_the_variable():
    variable = tf.Variable([1.0, 2.0])
    averages = MovingAverages([variable], 0.75)
    np.testing.assert_array_equal(averages.averages[0], [1.0, 2.0])
    variable.assign([5.0, 2.0])
    averages.update()
    averages.update()
    # 3/4 1 + 1/4 5 = 2; 3/4 2 + 1/4 5 = 2.75
    np.testing.assert_allclose(averages.averages[0], [2.75, 2.0])


def test_in_place_swaps_and_restores_exactly_also_after_an_error():
    rng = np.random.default_rng(0)
    variables = [tf.Variable(rng.normal(size=[50]), dtype=tf.float32) for _ in range(2)]
    averages = MovingAverages(variables, 0.9)
    for variable in variables:
        variable.assign_add(rng.normal(size=[50]).astype(np.float32))
    averages.update()
    values = [variable.numpy() for variable in variables]
    means = [average.numpy() for average in averages.averages]
    with averages.in_place():
        for variable, mean in zip(variables, means, strict=True):
            np.testing.assert_array_equal(variable, mean)
    with pytest.raises(KeyError), averages.in_place():
        raise KeyError
    for variable, value in zip(variables, values, strict=True):
        np.testing.assert_array_equal(variable, value)
    for average, mean in zip(averages.averages, means, strict=True):
        np.testing.assert_array_equal(average, mean)
