"""The learning rate of each update."""

import numpy as np
import pytest
import tensorflow as tf

from rrn.config import Constant, Cosine, Exponential, Staircase
from rrn.optimizers import learning_rate


def rates(updates, schedule, num_updates=0):
    updates = [tf.constant(update, tf.int64) for update in updates]
    return [learning_rate(update, 0.2, schedule, num_updates).numpy() for update in updates]


def test_a_constant_rate():
    np.testing.assert_allclose(rates([0, 50, 10**6], Constant()), [0.2] * 3, rtol=1e-6)


def test_linear_warm_up():
    got = rates([0, 1, 2, 3, 4, 99], Constant(warmup_updates=4))
    np.testing.assert_allclose(got, [0.05, 0.1, 0.15, 0.2, 0.2, 0.2], rtol=1e-6)


def test_half_a_cosine_after_the_warm_up():
    updates = [0, 9, 10, 55, 100, 130]
    got = rates(updates, Cosine(warmup_updates=10), 100)
    # in the warm-up 1/10 and 10/10; then 0.2 (1 + cos(π (u - 10) / 90)) / 2; zero from the end on
    np.testing.assert_allclose(got, [0.02, 0.2, 0.2, 0.1, 0.0, 0.0], rtol=1e-5, atol=1e-7)


def test_a_warm_up_as_long_as_training_is_fine():
    got = rates([0, 99], Cosine(warmup_updates=100), 100)
    np.testing.assert_allclose(got, [0.002, 0.2], rtol=1e-5)


def test_an_exponential_decay_after_the_warm_up():
    schedule = Exponential(warmup_updates=2, decay_rate=0.25, decay_updates=20)
    got = rates([0, 1, 2, 12, 22, 32], schedule)
    # 1/2 and 2/2 of 0.2; then halved in every 10 updates, also between the 20
    np.testing.assert_allclose(got, [0.1, 0.2, 0.2, 0.1, 0.05, 0.025], rtol=1e-5)


def test_a_staircase_after_the_warm_up():
    got = rates([0, 999, 1000, 1999, 2000, 7000], Staircase(decay_rate=0.5, decay_updates=1000))
    np.testing.assert_allclose(got, [0.2, 0.2, 0.1, 0.1, 0.05, 0.2 / 2**7], rtol=1e-6)
    schedule = Staircase(warmup_updates=2, decay_rate=0.5, decay_updates=1000)
    np.testing.assert_allclose(rates([0, 2, 1001, 1002], schedule), [0.1, 0.2, 0.2, 0.1], rtol=1e-6)


def test_a_cosine_without_an_end_is_an_error():
    with pytest.raises(ValueError, match="cosine needs num_updates of at least 1, got 0"):
        rates([0], Cosine())
