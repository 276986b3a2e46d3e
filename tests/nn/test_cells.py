"""LSTM and GRU against loops in NumPy."""

import numpy as np
import pytest
import tensorflow as tf

from rrn import GRUCell, Linear, LSTMCell
from tests.compare import assert_close, names_and_shapes, normal, randomize
from tests.nn.own_parts import lstm_of_numpy, sigmoid

CELLS = LSTMCell, GRUCell


def gru_of_numpy(cell, x, h, _):
    """Row by row, with a matrix for each gate."""
    parts = cell.input.w, cell.hidden.w, cell.input.b, cell.hidden.b
    w, v, b, d = (np.split(p.numpy().astype(np.float64), 3, axis=-1) for p in parts)
    rows = []
    for x_row, h_row in zip(x, h, strict=True):
        r, u = (sigmoid(x_row @ w[i] + b[i] + h_row @ v[i] + d[i]) for i in range(2))
        n = np.tanh(x_row @ w[2] + b[2] + r * (h_row @ v[2] + d[2]))
        rows.append(u * h_row + (1 - u) * n)
    return np.stack(rows), ()


OF_NUMPY = {LSTMCell: lstm_of_numpy, GRUCell: gru_of_numpy}


def state_of(cell_class, rows, size):
    h, c = normal(rows, size, seed=2), normal(rows, size, seed=3)
    return h, c if cell_class is LSTMCell else ()


@pytest.mark.parametrize("cell_class", CELLS)
def test_a_cell_equals_a_numpy_loop_over_several_steps(cell_class):
    cell, inputs = cell_class(3, 4), 2 * normal(6, 5, 3).numpy()
    randomize(cell)
    state, expected = None, (np.zeros([5, 4]), np.zeros([5, 4]))
    for x in inputs:
        state, expected = cell(x, state), OF_NUMPY[cell_class](cell, x, *expected)
        for actual, right in zip(tf.nest.flatten(state), tf.nest.flatten(expected), strict=True):
            assert_close(actual, right)


@pytest.mark.parametrize("cell_class", CELLS)
@pytest.mark.parametrize("with_state", [True, False])
def test_a_cell_following_a_linear_layer_equals_the_two_in_value_and_gradient(
    cell_class, with_state
):
    layer, cell, x = Linear(6, 3), cell_class(3, 4), normal(5, 6)
    randomize(layer)
    randomize(cell, seed=1)
    state = state_of(cell_class, 5, 4) if with_state else None
    sources = [x, *tf.nest.flatten(state or []), *layer.variables, *cell.variables]
    weights = normal(2, 5, 4, seed=4)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(sources)
        results = cell.advance(x, state, *cell.following(layer)), cell(layer(x), state)
        results = [tf.stack(tf.nest.flatten(result)) for result in results]
        losses = [tf.reduce_sum(result * weights[: len(result)]) for result in results]
    assert_close(*results, 1e-6)
    for source in sources:
        actual, expected = (tape.gradient(loss, source) for loss in losses)
        if actual is expected is None:  # what multiplies a GRU's h, without one
            assert not with_state and source is cell.hidden.w
        else:
            assert_close(actual, expected)


@pytest.mark.parametrize("cell_class", CELLS)
def test_no_state_equals_zeros_in_value_and_gradient(cell_class):
    cell, x = cell_class(3, 4), normal(5, 3)
    randomize(cell)
    sources = [x, *cell.variables]

    def outputs_and_gradients(state):
        with tf.GradientTape() as tape:
            tape.watch(x)
            parts = tf.nest.flatten(cell(x, state))
            loss = tf.reduce_sum(parts[0] * parts[0] + parts[-1])
        gradients = tape.gradient(loss, sources, unconnected_gradients="zero")
        return [*parts, *gradients]

    zeros = tf.nest.map_structure(tf.zeros_like, state_of(cell_class, 5, 4))
    pairs = zip(outputs_and_gradients(None), outputs_and_gradients(zeros), strict=True)
    for actual, expected in pairs:
        assert_close(actual, expected, 1e-6)


def test_variables_are_named_by_their_place():
    lstm, gru = names_and_shapes(LSTMCell(3, 5)), names_and_shapes(GRUCell(3, 5))
    assert lstm == {"lstm/linear/w": (8, 20), "lstm/linear/b": (20,)}
    assert gru == {
        "gru/input/w": (3, 15),
        "gru/input/b": (15,),
        "gru/hidden/w": (5, 15),
        "gru/hidden/b": (15,),
    }


@pytest.mark.parametrize("cell_class", CELLS)
def test_bfloat16_is_close_to_float32_and_states_are_float32(cell_class):
    exact, rounded = cell_class(64, 32), cell_class(64, 32, tf.bfloat16)
    for from_, to in zip(exact.variables, rounded.variables, strict=True):
        to.assign(from_)
    states = []
    for cell in (exact, rounded):
        state = cell(normal(50, 64), cell(normal(50, 64, seed=1)))
        assert {part.dtype for part in tf.nest.flatten(state)} == {tf.float32}
        states.append(state[0])
    assert 0 < tf.norm(states[1] - states[0]) / tf.norm(states[0]) < 0.01


@pytest.mark.parametrize("cell_class", CELLS)
@pytest.mark.parametrize(
    "make, message",
    [
        (lambda cell: cell(3, 0), "output_size must be .* at least 1, got 0"),
        (lambda cell: cell(3, 3, tf.bool), "compute_dtype must be a type of floats, .* tf.bool"),
        (
            lambda cell: cell(3, 2)(tf.ones([4, 3]), (tf.ones([1, 2]), ())),
            r"state must have shape .* = \(4, 2\), got \(1, 2\)",
        ),
    ],
)
def test_a_wrong_size_type_or_state_is_named(cell_class, make, message):
    with pytest.raises(ValueError, match=message):
        make(cell_class)
