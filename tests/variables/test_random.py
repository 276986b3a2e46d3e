"""Draws depend on seed, update and example alone."""

import numpy as np
import pytest
import tensorflow as tf

from rrn.variables.random import ExampleRandom, dropout_weights, fold_in, uniform


@pytest.mark.parametrize("shape", [[], [3], [2, 3]])
def test_an_examples_draws_do_not_depend_on_which_rows_are_asked_for(shape):
    whole = ExampleRandom([1, 2], tf.range(8), 8).uniform(shape, 4)
    assert whole.shape == (8, *shape)
    for rows in ([0, 1, 2, 3], [4, 5, 6, 7], [6, 1], [5], [2, 2]):
        part = ExampleRandom([1, 2], rows, 8).uniform(shape, 4)
        np.testing.assert_array_equal(part, whole.numpy()[rows])


def test_the_draws_are_the_same_on_every_device_and_traced():
    def draw(seed, rows):
        return ExampleRandom(fold_in(seed, 7), rows, 8).uniform([3], 1)

    args = tf.constant([1, 2]), tf.constant([5, 0])
    draws = [tf.function(draw)(*args)]
    for device in tf.config.list_logical_devices():
        with tf.device(device.name):
            draws.append(draw(*args))
    assert len(draws) >= 5
    for other in draws[1:]:
        np.testing.assert_array_equal(other, draws[0])


def test_salts_updates_seeds_and_examples_give_different_draws():
    def draw(seed, update, *salt):
        random = ExampleRandom(fold_in([seed, 0], update), tf.range(6), 6)
        return random.uniform([4], *salt).numpy()

    salts = [(), (0,), (1,), (0, 1), (1, 0)]
    different = [draw(seed, update, *s) for seed in (0, 1) for update in (0, 1) for s in salts]
    values = np.concatenate([draws.reshape(-1) for draws in different])
    assert len(np.unique(values)) == values.size


def test_folding_in_is_done_number_by_number():
    np.testing.assert_array_equal(fold_in([3, 4], 5, 6), fold_in(fold_in([3, 4], 5), 6))
    np.testing.assert_array_equal(fold_in([3, 4]), [3, 4])
    np.testing.assert_array_equal(
        fold_in([3, 4], tf.constant(5)), fold_in([3, 4], tf.constant(5, tf.int64))
    )


def test_example_random_draws_are_uniform_in_0_1():
    draws = ExampleRandom([1, 2], tf.range(100), 100).uniform([1000]).numpy()
    assert draws.dtype == np.float32
    assert set(uniform([1, 2], [1000], 3, 7, tf.int32).numpy()) == {3, 4, 5, 6}
    assert draws.min() >= 0 and draws.max() < 1
    counts = np.bincount((draws.reshape(-1) * 10).astype(int), minlength=10)
    expected = draws.size / 10
    assert ((counts - expected) ** 2 / expected).sum() < 33.7  # chi-square, 9 degrees, p = 1e-4


@pytest.mark.parametrize("keep", [0.2, 0.5, 0.9])
def test_dropout_weights_are_0_or_scaled_up_and_their_mean_is_1(keep):
    weights = dropout_weights(uniform([0, 0], [100_000]), keep).numpy()
    np.testing.assert_allclose(np.unique(weights), [0, 1 / keep], rtol=1e-6)
    deviation = np.sqrt((1 - keep) / keep / weights.size)
    assert abs(weights.mean() - 1) < 5 * deviation
    assert dropout_weights(tf.constant([0.0, 0.999999]), 1.0).numpy().tolist() == [1, 1]


@pytest.mark.parametrize("shape", [[], [3], [4, 2], [0], [301]])
def test_each_examples_own_draws_are_those_of_its_seed(shape):
    """As TensorFlow draws them for one seed at a time."""
    seed, rows = tf.constant([-3, 2**31 - 1]), [5, 0, 7, -1, 2**40]
    expected = [uniform(fold_in(seed, 4, row), shape) for row in rows]
    np.testing.assert_array_equal(ExampleRandom(seed, rows).uniform(shape, 4), expected)
