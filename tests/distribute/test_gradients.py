"""Averaging the towers' gradients."""

import numpy as np
import pytest
import tensorflow as tf

from rrn.distribute.gradients import average_gradients


def slices(values, indices, rows=4):
    return tf.IndexedSlices(
        tf.constant(values, tf.float32), tf.constant(indices), tf.constant([rows, 2])
    )


@pytest.mark.parametrize(
    ("gradients", "examples", "average"),
    [
        ([[1.0, 2.0], [5.0, -2.0]], [3, 1], [2.0, 1.0]),  # 3/4 [1, 2] + 1/4 [5, -2]
        ([[1.0], [2.0], [6.0]], [5, 5, 5], [3.0]),
        ([[0.1, 0.7]], [7], [0.1, 0.7]),
        ([[1.0, 2.0], [7.0, 14.0]], [3, 0], [1.0, 2.0]),
    ],
)
def test_dense_gradients_are_weighted_by_examples(gradients, examples, average):
    (found,) = average_gradients([[tf.constant(gradient)] for gradient in gradients], examples)
    np.testing.assert_allclose(found, average, rtol=1e-6)


def test_sparse_gradients_stay_sparse_and_add_up_duplicated_rows():
    one = slices([[1.0, 2.0], [3.0, 4.0]], [2, 2])
    two = slices([[8.0, 0.0], [4.0, 4.0]], [0, 2])
    (average,) = average_gradients([[one], [two]], [1, 3])
    assert isinstance(average, tf.IndexedSlices)
    # row 0: 3/4 [8, 0]; row 2: 1/4 [1 + 3, 2 + 4] + 3/4 [4, 4]
    np.testing.assert_allclose(
        tf.convert_to_tensor(average), [[6.0, 0.0], [0.0, 0.0], [4.0, 4.5], [0.0, 0.0]]
    )


def test_sparse_beside_dense_is_dense():
    dense = tf.ones([4, 2])
    (average,) = average_gradients([[slices([[2.0, 2.0]], [1])], [dense]], [1, 1])
    assert isinstance(average, tf.Tensor)
    np.testing.assert_allclose(average, [[0.5, 0.5], [1.5, 1.5], [0.5, 0.5], [0.5, 0.5]])


def test_none_counts_as_zero_unless_all_towers_have_it():
    one = [None, None, slices([[4.0, 4.0]], [3])]
    nothing, dense, sparse = average_gradients([one, [None, tf.constant([8.0]), None]], [3, 1])
    assert nothing is None
    np.testing.assert_allclose(dense, [2.0])  # 1/4 8
    assert isinstance(sparse, tf.IndexedSlices)
    np.testing.assert_allclose(tf.convert_to_tensor(sparse)[3], [3.0, 3.0])  # 3/4 4


def test_weights_may_be_tensors_known_only_when_the_graph_runs():
    @tf.function(input_signature=[tf.TensorSpec([2], tf.int32)])
    def average(counts):
        towers = [[tf.constant(1.0)], [tf.constant(4.0)]]
        return average_gradients(towers, tf.unstack(counts))

    np.testing.assert_allclose(average(tf.constant([2, 1]))[0], 2.0, rtol=1e-6)


def test_towers_with_different_numbers_of_gradients_are_refused():
    with pytest.raises(ValueError, match="argument 2 is longer"):
        average_gradients([[tf.constant(1.0)], [tf.constant(1.0), None]], [1, 1])
