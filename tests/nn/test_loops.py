"""The loop for XLA: the turns and gradients of the unrolled formulation."""

import numpy as np
import pytest
import tensorflow as tf

from rrn.nn.loops import Loop

SIZE = 3


def turn(state, constants):
    """A turn whose state, constants and output all reach what comes later."""
    h, (c,) = state
    weights, _, number = constants
    h = tf.tanh(h @ weights["w"] + tf.cast(weights["b"], tf.float32) * tf.cast(number, tf.float32))
    return (h, [c + h]), tf.stack([h, 2.0 * c])


def run(turns, compiled):
    """(outputs and last state, gradients) by the loop if compiled, else unrolled."""
    random = np.random.default_rng(0)
    values = [random.normal(size=s) for s in ([4, SIZE], [4, SIZE], [SIZE, SIZE], [SIZE])]
    h, c, w, b = (tf.constant(value, tf.float32) for value in values)
    b = tf.cast(b, tf.bfloat16)
    constants = {"w": w, "b": b}, None, tf.constant(2)

    def losses():
        with tf.GradientTape() as tape:
            tape.watch([h, c, w, b])
            state = h, [c]
            if compiled:
                state, outputs = Loop(turn, turns, [2, 4, SIZE])(state, constants)
            else:
                outputs = []
                for _ in range(turns):
                    state, output = turn(state, constants)
                    outputs.append(output)
                outputs = tf.stack(outputs)
            weights = tf.reshape(tf.range(1.0, 1.0 + outputs.shape.num_elements()), outputs.shape)
            last = tf.reduce_sum(state[0] ** 2) + tf.reduce_sum(tf.sin(state[1][0]))
            loss = last + tf.reduce_sum(outputs * weights) / 100.0
        return (outputs, *tf.nest.flatten(state)), tape.gradient(loss, [h, c, w, b])

    return tf.function(losses, jit_compile=compiled, autograph=False)()


@pytest.mark.parametrize("turns", [1, 5])
def test_outputs_and_gradients_are_those_of_the_unrolled_turns(turns):
    expected, expected_gradients = run(turns, compiled=False)
    found, gradients = run(turns, compiled=True)
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)
    for ours, theirs in zip(gradients, expected_gradients, strict=True):
        assert ours.dtype == theirs.dtype
        tolerance = 2e-2 if ours.dtype == tf.bfloat16 else 1e-5
        ours, theirs = (tf.cast(g, tf.float32) for g in (ours, theirs))
        np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)


def test_what_nothing_reaches_has_a_gradient_of_zero():
    @tf.function(jit_compile=True, autograph=False)
    def gradient():
        x, unused = tf.ones([2]), tf.ones([3])
        with tf.GradientTape() as tape:
            tape.watch([x, unused])
            state, _ = Loop(lambda h, _: (2.0 * h, h), 3, [2])(x, [unused])
        return tape.gradient(state, [x, unused])

    to_x, to_unused = gradient()
    np.testing.assert_array_equal(to_x, [8.0, 8.0])
    np.testing.assert_array_equal(to_unused, [0.0, 0.0, 0.0])
