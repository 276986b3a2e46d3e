"""A variable is read once per scope, and gradients flow through what the scope keeps."""

import contextlib
import threading

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.distribute.sharded_variable import ShardedVariable as PartitionedVariable

from rrn import MLP
from rrn.variables.reading import read, reading_scope


def test_a_scope_reads_a_variable_once_casts_it_once_and_counts_it():
    a, b = tf.Variable([1.0, 2.0]), tf.Variable([3.0])
    with reading_scope() as scope:
        half, first = read(a, tf.bfloat16), read(a)
        assert half.dtype == tf.bfloat16 and read(a, "bfloat16") is half
        assert read(a) is first and read(a, tf.float32) is first
        assert read(b) is not first
    assert scope.counts == {a.ref(): 1, b.ref(): 1}
    np.testing.assert_array_equal(first, [1, 2])


def test_outside_a_scope_every_read_is_new():
    a = tf.Variable(1.0)
    before = read(a)
    a.assign(2.0)
    assert (float(before), float(read(a))) == (1, 2)
    with reading_scope():
        assert float(read(a)) == 2
        a.assign(3.0)
        assert float(read(a)) == 2
    assert float(read(a)) == 3


def test_nested_scopes_keep_their_own_reads_and_the_outer_one_returns():
    a = tf.Variable(1.0)
    with reading_scope() as outer:
        first = read(a)
        with reading_scope() as inner:
            assert read(a) is not first
        assert read(a) is first
        with pytest.raises(KeyError), reading_scope():
            raise KeyError
        assert read(a) is first
    assert inner.counts == outer.counts == {a.ref(): 1}


def test_a_scope_serves_its_own_thread_alone():
    a, seen = tf.Variable(1.0), []
    with reading_scope() as scope:
        first = read(a)
        thread = threading.Thread(target=lambda: seen.append(read(a) is first))
        thread.start()
        thread.join()
    assert seen == [False]
    assert scope.counts == {a.ref(): 1}


@pytest.mark.parametrize("dtype", [None, tf.bfloat16])
def test_gradients_flow_through_reads_that_are_kept_and_cast(dtype):
    a = tf.Variable([2.0, 3.0])
    with tf.GradientTape() as tape, reading_scope():
        square = read(a, dtype) * read(a, dtype)
        total = tf.reduce_sum(tf.cast(square, tf.float32) + read(a))
    gradient = tape.gradient(total, a)
    assert gradient.dtype == tf.float32
    np.testing.assert_array_equal(gradient, [5, 7])  # 2 a + 1


def test_modules_under_tensorflows_own_partitioners_are_read_whole():
    def cut(next_creator, initial_value, **options):
        value = initial_value() if callable(initial_value) else initial_value
        if value.shape[0] < 2:
            return next_creator(initial_value=value, **options)
        parts = tf.split(value, [1, value.shape[0] - 1])
        return PartitionedVariable([next_creator(initial_value=part) for part in parts])

    results, x = [], tf.ones([2, 3])
    for scope in (contextlib.nullcontext(), tf.variable_creator_scope(cut)):
        tf.random.set_seed(0)
        with scope:
            mlp = MLP([3, 4, 2])
        with tf.GradientTape() as tape, reading_scope():
            loss = tf.reduce_sum(mlp(x) ** 2)
        gradients = tape.gradient(loss, mlp.trainable_variables)
        assert all(gradient is not None for gradient in gradients)
        results.append((loss, len(gradients)))
    assert results[0][0] == results[1][0] and results[1][1] == 2 * results[0][1]
