"""Muon against Keras."""

import inspect

import numpy as np
import pytest
import tensorflow as tf

from rrn.optimizers import Adam, Muon, muon
from rrn.optimizers.muon import orthogonalized
from rrn.variables.sharded import ShardedVariable


@pytest.mark.parametrize("shape", [[5, 8], [8, 5], [6, 6], [7, 1]])
def test_orthogonalized_keeps_the_singular_vectors_and_evens_out_the_values(shape):
    matrix = np.random.default_rng(0).normal(size=shape)
    u, values, vt = np.linalg.svd(matrix, full_matrices=False)
    got = u.T @ orthogonalized(tf.constant(matrix, tf.float32)).numpy() @ vt.T
    np.testing.assert_allclose(got, np.diag(np.diag(got)), atol=1e-4)
    assert (abs(np.diag(got) - 0.95) < 0.3).all()
    assert shape[1] == 1 or values.max() > 2 * values.min()


def test_a_matrix_takes_the_steps_of_the_formula():
    rng, rate, decay, momentum = np.random.default_rng(0), 0.03, 0.5, 0.9
    start = rng.normal(size=[6, 4]).astype(np.float32)
    variable, w, m = tf.Variable(start), start.astype(np.float64), np.zeros([6, 4])
    muon = Muon([variable], weight_decay=decay, momentum=momentum)
    for update in range(3):
        g = rng.normal(size=[6, 4])
        muon.apply([tf.constant(g, tf.float32)], tf.constant(rate), tf.constant(update))
        m = momentum * m + g
        step = orthogonalized(tf.constant(g + momentum * m, tf.float32)).numpy()
        w = w - rate * decay * w - 0.2 * 6**0.5 * rate * step
    np.testing.assert_allclose(variable, w, rtol=1e-4, atol=1e-5)


def test_matrices_of_one_shape_change_as_each_would_alone():
    rng = np.random.default_rng(0)
    starts = rng.normal(size=[4, 6, 4]).astype(np.float32)
    gradients = [tf.constant(g, tf.float32) for g in rng.normal(size=[3, 6, 4])]
    together, alone = [list(map(tf.Variable, starts)) for _ in range(2)]
    Muon(together).apply([gradients[0], None, *gradients[1:]], 0.1, 0)
    for variable, gradient in zip([alone[0], *alone[2:]], gradients, strict=True):
        Muon([variable]).apply([gradient], 0.1, 0)
    np.testing.assert_allclose(together, alone, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(together[1], starts[1])
    assert not np.allclose(together[0], starts[0])


@pytest.mark.parametrize("shape", [[128, 160], [160, 128]])
def test_products_of_large_matrices_are_in_bfloat16_where_it_is_faster(monkeypatch, shape):
    start = np.random.default_rng(0).normal(size=shape).astype(np.float32)

    def change(faster):
        monkeypatch.setattr(muon, "multiplies_bfloat16_faster", lambda: faster)
        variable = tf.Variable(tf.zeros(shape))
        Muon([variable]).apply([tf.constant(start)], tf.constant(1.0), tf.constant(0))
        return variable.numpy()

    exact = -0.2 * 160**0.5 * orthogonalized(tf.constant(start)).numpy()
    np.testing.assert_allclose(change(False), exact, rtol=1e-4, atol=1e-5)
    error = np.linalg.norm(change(True) - exact) / np.linalg.norm(exact)
    assert 1e-3 < error < 0.05
    monkeypatch.setattr(muon, "multiplies_bfloat16_faster", lambda: True)
    assert muon.product_type(tf.Variable(start)) == tf.bfloat16
    assert muon.product_type(tf.Variable(start[:, :127])) == tf.float32


ARGUMENTS = inspect.signature(getattr(tf.keras.optimizers, "Muon", object)).parameters


@pytest.mark.skipif(
    "adam_weight_decay" not in ARGUMENTS,
    reason="older versions of Keras have none, or another Muon",
)
@pytest.mark.parametrize("decay", [0.0, 0.5])
def test_muon_is_keras_muon_with_decay_of_matrices(decay):
    rng = np.random.default_rng(0)
    shapes = [6, 4], [4, 6], [4], [2, 3, 4], []
    ours = [tf.Variable(rng.normal(size=shape), dtype=tf.float32) for shape in shapes]
    theirs = [tf.keras.Variable(variable) for variable in ours]
    muon = Muon(ours, weight_decay=decay)
    keras = tf.keras.optimizers.Muon(0.03, weight_decay=decay, adam_weight_decay=None)
    for update in range(5):
        gradients = [tf.constant(rng.normal(size=shape), tf.float32) for shape in shapes]
        muon.apply(gradients, tf.constant(0.03), tf.constant(update))
        keras.apply_gradients(zip(gradients, theirs, strict=True))
    for our, their in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(our, their, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("axis", [0, 1])
def test_muon_of_a_matrix_in_shards_is_muon_of_the_matrix(axis):
    rng = np.random.default_rng(0)
    value, bias = rng.normal(size=[5, 3]).astype(np.float32), tf.Variable([1.0, 2.0])
    whole, parts = tf.Variable(value), [tf.Variable(v) for v in np.split(value, [2], axis)]
    sharded = ShardedVariable(parts, "w", axis)
    on_whole, on_shards = Muon([whole]), Muon([bias, sharded])
    for update in range(3):
        gradient = tf.constant(rng.normal(size=[5, 3]), tf.float32)
        on_whole.apply([gradient], 0.1, update)
        own = tf.split(gradient, [2, value.shape[axis] - 2], axis)
        on_shards.apply([tf.ones([2]), *own], 0.1, update)
    np.testing.assert_allclose(np.concatenate(parts, axis), whole, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(tf.convert_to_tensor(on_shards.m[0]), on_whole.m[0], rtol=1e-5)
    assert (bias.numpy() < [1.0, 2.0]).all()


def test_matrices_that_muon_leaves_to_adam():
    def made():
        shapes = {"in/w": [3, 2], "in/b": [2], "inner/w": [2, 2], "out/w": [2, 4]}
        return [tf.Variable(tf.ones(shape), name=name) for name, shape in shapes.items()]

    def step(optimizer):
        rng = np.random.default_rng(0)
        shapes = [variable.shape for variable in optimizer.variables_]
        gradients = [tf.constant(rng.normal(size=shape), tf.float32) for shape in shapes]
        for update in range(2):
            optimizer.apply(gradients, 0.1, update)
        return [variable.numpy() for variable in optimizer.variables_]

    got = step(Muon(made(), exclude="^in/|out/w$"))
    adam, muon = step(Adam(made())), step(Muon(made()))
    for ours, expected in zip(got, (adam[0], adam[1], muon[2], adam[3]), strict=True):
        np.testing.assert_array_equal(ours, expected)
    assert not np.allclose(adam[0], muon[0])
    with pytest.raises(ValueError, match=r"'in\[' is no regular expression"):
        Muon(made(), "in[")
    with pytest.raises(ValueError, match=r"'b\$' is found in none of the matrices in/w, inner/w"):
        Muon(made(), "b$")
