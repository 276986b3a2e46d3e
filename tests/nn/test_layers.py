"""Dense layers, MLP and embedding against NumPy."""

import numpy as np
import pytest
import tensorflow as tf

from rrn.nn import layers
from rrn.nn.layers import MLP, SUM_PARTS, Embedding, Linear, bias_add, gather
from tests.compare import assert_close, randomize


def normal(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


@pytest.mark.parametrize(
    "make",
    [
        lambda dtype: Linear(300, 500, dtype),
        lambda dtype: MLP([300, 500], dtype),
        lambda dtype: Embedding(300, 500),
    ],
)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_initial_values_are_glorot_uniform_and_zero_in_float32(make, dtype):
    for variable in make(dtype).variables:
        assert variable.dtype == tf.float32
        value = variable.numpy()
        if value.ndim == 1:
            assert not value.any()
            continue
        limit = np.sqrt(6.0 / sum(value.shape))
        assert np.abs(value).max() <= limit
        assert np.abs(value).max() > 0.999 * limit
        assert abs(value.mean()) < 0.01 * limit
        np.testing.assert_allclose(value.std(), limit / np.sqrt(3), rtol=0.01)


@pytest.mark.parametrize("shape", [(6,), (2, 3), (2, 1, 3), (0,), (0, 4)])
def test_linear_maps_the_last_axis_whatever_the_rank(shape):
    layer, x = Linear(4, 5), normal(*shape, 4)
    randomize(layer)
    y = layer(x)
    assert y.shape == (*shape, 5)
    np.testing.assert_allclose(y, x @ layer.w.numpy() + layer.b.numpy(), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize("shape", [(50,), (2, 3), (0,)])
def test_products_by_convolutions_and_their_gradients(relu, shape, monkeypatch):
    """In bfloat16, where AMX has them: equal to float32's within its rounding."""
    monkeypatch.setattr(layers, "has_amx", lambda: True)
    exact, rounded, x = Linear(4, 5), Linear(4, 5, tf.bfloat16), normal(*shape, 4)
    randomize(exact)
    for mine, theirs in zip(rounded.variables, exact.variables, strict=True):
        mine.assign(theirs)
    to_y = normal(*shape, 5, seed=1)

    @tf.function(input_signature=[tf.TensorSpec([*[None] * len(shape), 4])])
    def results(x):
        values = []
        for layer in exact, rounded:
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = tf.cast(layer(x, relu), tf.float32)
            values.append([y, *tape.gradient(y, [x, layer.w, layer.b], to_y)])
        return values

    exact_values, values = results(x)
    assert relu == (np.min(exact_values[0], initial=0) == 0) or shape == (0,)
    for actual, expected in zip(values, exact_values, strict=True):
        np.testing.assert_allclose(actual, expected, rtol=0.02, atol=0.1)


def test_followed_by_equals_the_two_products_in_value_and_gradient():
    layer, kernel, x = Linear(4, 5), tf.constant(normal(5, 3, seed=1)), normal(6, 4)
    randomize(layer)
    sources = [layer.w, layer.b, kernel]
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(kernel)
        w, b = layer.followed_by(kernel)
        folded = x @ w + b
        plain = layer(x) @ kernel
        losses = [tf.reduce_sum(y**2) for y in (folded, plain)]
    assert w.shape == (4, 3) and b.shape == (3,)
    assert_close(folded, plain)
    gradients = [tape.gradient(loss, sources) for loss in losses]
    for actual, expected in zip(*gradients, strict=True):
        assert_close(actual, expected)


def test_followed_by_multiplies_in_float32_and_casts_the_result():
    layer = Linear(4, 5, tf.bfloat16)
    kernel = tf.cast(normal(5, 3), tf.bfloat16)
    w, b = layer.followed_by(kernel)
    assert w.dtype == b.dtype == tf.bfloat16
    rounded = tf.cast(tf.matmul(layer.w, tf.cast(kernel, tf.float32)), tf.bfloat16)
    np.testing.assert_array_equal(tf.cast(w, tf.float32), tf.cast(rounded, tf.float32))


def test_bias_adds_gradient_sums_4096_bfloat16_ones_to_exactly_4096():
    x, b = tf.zeros([4096, 3], tf.bfloat16), tf.zeros([3], tf.bfloat16)
    with tf.GradientTape() as tape:
        tape.watch([x, b])
        y = bias_add(x, b)
    dx, db = tape.gradient(y, [x, b])
    np.testing.assert_array_equal(tf.cast(db, tf.float32), [4096.0] * 3)
    np.testing.assert_array_equal(tf.cast(dx, tf.float32), np.ones([4096, 3]))


@pytest.mark.parametrize("rows", [0, 1, SUM_PARTS, 5 * SUM_PARTS, 5 * SUM_PARTS + 1])
@pytest.mark.parametrize("size_known", [True, False])
def test_bias_adds_gradient_is_the_sum_over_any_number_of_rows(rows, size_known):
    @tf.function(input_signature=[tf.TensorSpec([rows if size_known else None, 3])])
    def gradients(dy):
        x, b = tf.zeros_like(dy), tf.zeros([3])
        return tf.gradients(bias_add(x, b), [x, b], dy)

    dy = normal(rows, 3)
    dx, db = gradients(dy)
    np.testing.assert_array_equal(dx, dy)
    assert_close(db, dy.astype(np.float64).sum(axis=0), 1e-6)


def test_after_relu_is_applied_to_every_hidden_layers_output():
    mlp, x = MLP([3, 5, 6, 2]), normal(7, 3)
    randomize(mlp)
    seen = []

    def keep_nothing(values, i):
        seen.append((i, values.shape[1], bool(tf.reduce_all(values >= 0))))
        return tf.zeros_like(values)

    y = mlp(x, after_relu=keep_nothing)
    assert seen == [(0, 5, True), (1, 6, True)]
    assert_close(y, np.broadcast_to(mlp.layers[-1].b.numpy(), [7, 2]))


@pytest.mark.parametrize("shape", [(), (4,), (2, 3), (0,)])
def test_embedding_gives_the_table_row_of_every_id(shape):
    embedding = Embedding(5, 3)
    ids = np.random.default_rng(0).integers(0, 5, shape)
    np.testing.assert_array_equal(embedding(ids), embedding.table.numpy()[ids])


def test_embeddings_gradient_is_sparse():
    embedding = Embedding(5, 3)
    with tf.GradientTape() as tape:
        rows = embedding([1, 1, 4])
    gradient = tape.gradient(rows, embedding.table)
    assert isinstance(gradient, tf.IndexedSlices)
    expected = np.zeros([5, 3])
    expected[1], expected[4] = 2, 1
    np.testing.assert_array_equal(tf.convert_to_tensor(gradient), expected)


@pytest.mark.parametrize(
    "make", [lambda dtype: Linear(64, 32, dtype), lambda dtype: MLP([64, 48, 48, 32], dtype)]
)
def test_bfloat16_is_close_to_float32(make):
    exact, rounded = make(tf.float32), make(tf.bfloat16)
    for from_, to in zip(exact.variables, rounded.variables, strict=True):
        to.assign(from_)
    x = normal(50, 64)
    expected, actual = (module(x) for module in (exact, rounded))
    assert actual.dtype == tf.bfloat16
    error = tf.norm(tf.cast(actual, tf.float32) - expected) / tf.norm(expected)
    assert 0 < error < 0.01


def test_gathers_gradient_sums_4096_bfloat16_ones_to_exactly_4096():
    rows, indices = tf.ones([3, 2], tf.bfloat16), tf.repeat([2, 0], [4096, 1])
    with tf.GradientTape() as tape:
        tape.watch(rows)
        gathered = gather(rows, tf.reshape(indices, [1, -1]))
    assert gathered.dtype == tf.bfloat16 and gathered.shape == (1, 4097, 2)
    gradient = tf.cast(tape.gradient(gathered, rows), tf.float32)
    np.testing.assert_array_equal(gradient[:, 0], [1, 0, 4096])


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: Linear(0, 3), "Linear 'linear': input_size must be .* at least 1, got 0"),
        (lambda: Linear(3, -1), "Linear 'linear': output_size must be .* at least 1, got -1"),
        (lambda: Linear(3, 3, "int32"), "Linear 'linear': compute_dtype must be .* got 'int32'"),
        (lambda: MLP([3]), r"MLP 'mlp': sizes must be \[input, ..., output\], got \[3\]"),
        (lambda: MLP([3, 0, 2]), r"'linear_0': output_size must be .* at least 1, got 0"),
        (lambda: Embedding(0, 3), "Embedding 'embedding': vocabulary_size must be .*, got 0"),
    ],
)
def test_a_wrong_size_or_type_is_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()
