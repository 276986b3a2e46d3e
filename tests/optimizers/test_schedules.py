"""The learning rate of each update."""

import numpy as np
import pytest
import tensorflow as tf

from rrn.optimizers import learning_rate


def rates(updates, **fields):
    return [learning_rate(tf.constant(u, tf.int64), base=0.2, **fields).numpy() for u in updates]


def test_a_constant_rate():
    np.testing.assert_allclose(rates([0, 50, 10**6]), [0.2] * 3, rtol=1e-6)


def test_linear_warm_up():
    expected = [0.05, 0.1, 0.15, 0.2, 0.2, 0.2]
    np.testing.assert_allclose(rates([0, 1, 2, 3, 4, 99], warmup_updates=4), expected, rtol=1e-6)


def test_half_a_cosine_after_the_warm_up():
    updates = [0, 9, 10, 55, 100, 130]
    got = rates(updates, warmup_updates=10, num_updates=100, decay="cosine")
    # in the warm-up 1/10 and 10/10; then 0.2 (1 + cos(π (u - 10) / 90)) / 2; zero from the end on
    np.testing.assert_allclose(got, [0.02, 0.2, 0.2, 0.1, 0.0, 0.0], rtol=1e-5, atol=1e-7)


def test_a_warm_up_as_long_as_training_is_fine():
    got = rates([0, 99], warmup_updates=100, num_updates=100, decay="cosine")
    np.testing.assert_allclose(got, [0.002, 0.2], rtol=1e-5)


def test_an_exponential_decay_after_the_warm_up():
    fields = {"decay": "exponential", "decay_rate": 0.25, "decay_updates": 20}
    got = rates([0, 1, 2, 12, 22, 32], warmup_updates=2, **fields)
    # 1/2 and 2/2 of 0.2; then halved in every 10 updates, also between the 20
    np.testing.assert_allclose(got, [0.1, 0.2, 0.2, 0.1, 0.05, 0.025], rtol=1e-5)


def test_a_staircase_after_the_warm_up():
    fields = {"decay": "staircase", "decay_rate": 0.5, "decay_updates": 1000}
    got = rates([0, 999, 1000, 1999, 2000, 7000], **fields)
    np.testing.assert_allclose(got, [0.2, 0.2, 0.1, 0.1, 0.05, 0.2 / 2**7], rtol=1e-6)
    got = rates([0, 2, 1001, 1002], warmup_updates=2, **fields)
    np.testing.assert_allclose(got, [0.1, 0.2, 0.2, 0.1], rtol=1e-6)


def test_decays_that_do_not_fit_are_errors():
    with pytest.raises(ValueError, match="constant, cosine, exponential, staircase, got 'linear'"):
        rates([0], decay="linear")
    with pytest.raises(ValueError, match="cosine needs num_updates of at least 1, got 0"):
        rates([0], decay="cosine")
    for numbers in ((0.0, 10), (1.5, 10), (0.9, 0)):
        fields = dict(zip(("decay_rate", "decay_updates"), numbers, strict=True))
        for decay in ("exponential", "staircase"):
            with pytest.raises(ValueError, match=f"{decay} needs .* got {numbers[0]} and"):
                rates([0], decay=decay, **fields)
