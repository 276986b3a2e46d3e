"""Adam, RMSProp, the learning rate, clipping and averaged weights against NumPy; Muon against
Keras.
"""

import math

import numpy as np
import pytest
import tensorflow as tf
from ml_collections import ConfigDict

from rrn.reading import ShardedVariable
from rrn.training.optimizer import (
    OPTIMIZERS,
    Adam,
    AveragedWeights,
    Muon,
    RMSProp,
    clip_by_global_norm,
    create_optimizer,
    learning_rate,
    orthogonalized,
)


def numpy_adam(value, gradients, rates, beta_1=0.9, beta_2=0.999, epsilon=1e-8):
    """TensorFlow 1's formula in float64."""
    w = np.asarray(value, np.float64)
    m, v = np.zeros_like(w), np.zeros_like(w)
    for t, (g, rate) in enumerate(zip(gradients, rates, strict=True), 1):
        rate_t = rate * math.sqrt(1 - beta_2**t) / (1 - beta_1**t)
        m = beta_1 * m + (1 - beta_1) * g
        v = beta_2 * v + (1 - beta_2) * g * g
        w = w - rate_t * m / (np.sqrt(v) + epsilon)
    return w, m, v


def test_adam_is_tensorflow_1s_for_dense_and_sparse_gradients():
    rng = np.random.default_rng(0)
    variables = [tf.Variable(rng.normal(size=[4, 3]), dtype=tf.float32) for _ in range(2)]
    initial = [variable.numpy() for variable in variables]
    adam = Adam(variables)
    gradients, rates = ([], []), 0.01 * (1 + np.arange(20))
    for update, rate in enumerate(rates):
        # Tiny gradients too, where it matters that ε is added to the uncorrected sqrt(v).
        dense = rng.normal(size=[4, 3]).astype(np.float32) * np.float32(10.0 ** rng.integers(-9, 1))
        values = rng.normal(size=[3, 3]).astype(np.float32)
        sparse = tf.IndexedSlices(values, tf.constant([2, 0, 2]), tf.constant([4, 3]))
        summed = np.zeros([4, 3])
        np.add.at(summed, [2, 0, 2], values)
        gradients[0].append(dense.astype(np.float64))
        gradients[1].append(summed)
        adam.apply([tf.constant(dense), sparse], tf.constant(rate, tf.float32), tf.constant(update))
    for i, variable in enumerate(variables):
        w, m, v = numpy_adam(initial[i], gradients[i], rates)
        np.testing.assert_allclose(variable, w, rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(adam.m[i], m, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(adam.v[i], v, rtol=1e-5, atol=1e-6)


def test_the_first_update_of_adam_by_hand():
    variable = tf.Variable([1.0, 1.0, 1.0])
    Adam([variable]).apply([tf.constant([2.0, -3e-7, 0.0])], tf.constant(0.1), tf.constant(0))
    # rate_1 = 0.1 sqrt(0.001) / 0.1 = 0.0316228; m = 0.1 g; sqrt(v) = 0.0316228 |g|, so the step is
    # 0.1 g / (|g| + 1e-8 / 0.0316228) = 0.1 g / (|g| + 3.16e-7)
    np.testing.assert_allclose(variable, [0.9, 1 + 0.1 * 3 / 6.16228, 1.0], rtol=1e-5)


def numpy_rmsprop(value, gradients, rates, rho=0.9, momentum=0.0, epsilon=1e-10):
    """TensorFlow 1's formula in float64."""
    w = np.asarray(value, np.float64)
    s, m = np.ones_like(w), np.zeros_like(w)
    for g, rate in zip(gradients, rates, strict=True):
        s = rho * s + (1 - rho) * g * g
        m = momentum * m + rate * g / np.sqrt(s + epsilon)
        w = w - m
    return w, s, m


@pytest.mark.parametrize("fields", [{}, {"momentum": 0.7, "rho": 0.6, "epsilon": 0.01}])
def test_rmsprop_is_tensorflow_1s(fields):
    rng = np.random.default_rng(0)
    variable = tf.Variable(rng.normal(size=[4, 3]), dtype=tf.float32)
    initial, rates = variable.numpy(), 0.01 * (1 + np.arange(20))
    optimizer = RMSProp([variable], **fields)
    gradients = np.float32(rng.normal(size=[20, 4, 3]) * 10.0 ** rng.integers(-2, 1, [20, 1, 1]))
    for update, (gradient, rate) in enumerate(zip(gradients, rates, strict=True)):
        optimizer.apply([tf.constant(gradient)], tf.constant(rate, tf.float32), update)
    w, s, m = numpy_rmsprop(initial, np.float64(gradients), rates, **fields)
    np.testing.assert_allclose(variable, w, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(optimizer.s[0], s, rtol=1e-5)
    np.testing.assert_allclose(optimizer.m[0], m, rtol=1e-4, atol=1e-6)


def test_rmsprop_from_zero_is_keras_without_momentum():
    """Keras starts s at 0 and adds ε to it within the root, too."""
    ours, theirs = (tf.Variable([[0.5, -1.0], [2.0, 3.0]]) for _ in range(2))
    optimizer = RMSProp([ours], epsilon=1e-3)
    optimizer.s[0].assign(tf.zeros([2, 2]))
    keras = tf.keras.optimizers.RMSprop(0.1, rho=0.9, epsilon=1e-3)
    sparse = tf.IndexedSlices(tf.constant([[1.0, 2.0]]), tf.constant([1]), tf.constant([2, 2]))
    for gradient in (tf.constant([[1.0, -2.0], [3.0, 1e-3]]), tf.convert_to_tensor(sparse)):
        optimizer.apply([gradient], tf.constant(0.1), 0)
        keras.apply_gradients([(gradient, theirs)])
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)
    before = ours.numpy()
    optimizer.apply([sparse], tf.constant(0.1), 0)  # a sparse gradient is one with zeros
    np.testing.assert_array_equal(ours[0], before[0])
    assert (ours[1].numpy() != before[1]).all()


@pytest.mark.parametrize("shape", [[5, 8], [8, 5], [6, 6], [7, 1]])
def test_orthogonalized_keeps_the_singular_vectors_and_evens_out_the_values(shape):
    matrix = np.random.default_rng(0).normal(size=shape)
    u, values, vt = np.linalg.svd(matrix, full_matrices=False)
    got = u.T @ orthogonalized(tf.constant(matrix, tf.float32)).numpy() @ vt.T
    np.testing.assert_allclose(got, np.diag(np.diag(got)), atol=1e-4)
    assert (abs(np.diag(got) - 0.95) < 0.3).all()
    assert shape[1] == 1 or values.max() > 2 * values.min()


def test_muon_is_keras_muon_without_decay():
    rng = np.random.default_rng(0)
    shapes = [6, 4], [4, 6], [4], [2, 3, 4], []
    ours = [tf.Variable(rng.normal(size=shape), dtype=tf.float32) for shape in shapes]
    theirs = [tf.keras.Variable(variable) for variable in ours]
    muon = Muon(ours)
    keras = tf.keras.optimizers.Muon(0.03, weight_decay=None, adam_weight_decay=None)
    for update in range(5):
        gradients = [tf.constant(rng.normal(size=shape), tf.float32) for shape in shapes]
        muon.apply(gradients, tf.constant(0.03), tf.constant(update))
        keras.apply_gradients(zip(gradients, theirs, strict=True))
    for our, their in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(our, their, rtol=1e-3, atol=1e-5)


def test_muon_of_a_matrix_in_shards_is_muon_of_the_matrix():
    rng = np.random.default_rng(0)
    value, bias = rng.normal(size=[5, 3]).astype(np.float32), tf.Variable([1.0, 2.0])
    whole, parts = tf.Variable(value), [tf.Variable(value[:2]), tf.Variable(value[2:])]
    sharded = ShardedVariable(parts)
    on_whole, on_shards = Muon([whole]), Muon([bias, sharded])
    for update in range(3):
        gradient = tf.constant(rng.normal(size=[5, 3]), tf.float32)
        on_whole.apply([gradient], 0.1, update)
        on_shards.apply([tf.ones([2]), gradient[:2], gradient[2:]], 0.1, update)
    np.testing.assert_allclose(np.concatenate(parts), whole, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(tf.convert_to_tensor(on_shards.m[0]), on_whole.m[0], rtol=1e-5)
    assert (bias.numpy() < [1.0, 2.0]).all()


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_no_gradient_leaves_value_and_slots_as_they_are(name):
    variables = [tf.Variable(tf.ones(shape)) for shape in ([2], [2, 1], [3])]
    gradients = [2.0 * variable for variable in variables]
    optimizer = OPTIMIZERS[name](variables)
    optimizer.apply(gradients, 0.1, 0)
    kept = [*variables[:2], *(v for v in optimizer.variables if v.shape in ([2], [2, 1]))]
    before = [tensor.numpy() for tensor in kept]
    moved = variables[2].numpy()
    optimizer.apply([None, None, gradients[2]], 0.1, 1)
    assert len(kept) >= 5
    for tensor, value in zip(kept, before, strict=True):
        np.testing.assert_array_equal(tensor, value)
    assert (variables[2].numpy() != moved).all()


def test_slots_stand_beside_their_variables_and_are_not_trainable():
    with tf.device("CPU:2"):
        variable = tf.Variable(tf.ones([2]), name="w")
    adam, averages = Adam([variable]), AveragedWeights([variable], 0.9)
    rmsprop = RMSProp([variable])
    slots = [adam.m[0], adam.v[0], averages.averages[0], rmsprop.s[0], rmsprop.m[0]]
    assert [slot.device for slot in slots] == 5 * [variable.device]
    names = [slot.name for slot in slots]
    assert names == ["w/m:0", "w/v:0", "w/average:0", "w/s:0", "w/m:0"]
    assert not any(slot.trainable for slot in slots)


def test_an_unknown_optimizer_is_an_error():
    with pytest.raises(ValueError, match="must be one of adam, rmsprop, muon, got 'sgd'"):
        create_optimizer(ConfigDict({"optimizer": "sgd"}), [])


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

    config = ConfigDict({"optimizer": "muon", "muon_exclude": "^in/|out/w"})
    got = step(create_optimizer(config, made()))
    adam, muon = step(Adam(made())), step(Muon(made()))
    for ours, expected in zip(got, (adam[0], adam[1], muon[2], adam[3]), strict=True):
        np.testing.assert_array_equal(ours, expected)
    assert not np.allclose(adam[0], muon[0])
    with pytest.raises(ValueError, match=r"'in\[' is no regular expression"):
        Muon(made(), "in[")
    with pytest.raises(ValueError, match=r"'b\$' is found in none of in/w, inner/w, out/w"):
        Muon(made(), "b$")


# The learning rate


def rates(updates, **fields):
    fields = {"warmup_updates": 0, "num_updates": 100, "decay": "constant", **fields}
    config = ConfigDict({"learning_rate": 0.2, **fields})
    return [learning_rate(config, tf.constant(u, tf.int64)).numpy() for u in updates]


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


def test_decays_that_do_not_fit_are_errors():
    with pytest.raises(ValueError, match="constant, cosine or exponential, got 'linear'"):
        rates([0], decay="linear")
    for numbers in ((0.0, 10), (1.5, 10), (0.9, 0)):
        fields = dict(zip(("decay_rate", "decay_updates"), numbers, strict=True))
        with pytest.raises(ValueError, match=f"exponential needs .* got {numbers[0]} and"):
            rates([0], decay="exponential", **fields)


# Clipping


def test_clipping_scales_to_the_norm():
    gradients = [tf.constant([3.0, 0.0]), None, tf.constant([[4.0]])]
    clipped, norm = clip_by_global_norm(gradients, 2.0)
    np.testing.assert_allclose(norm, 5.0)
    np.testing.assert_allclose(clipped[0], [1.2, 0.0], rtol=1e-6)
    assert clipped[1] is None
    np.testing.assert_allclose(clipped[2], [[1.6]], rtol=1e-6)


def test_gradients_within_the_norm_keep_their_bits():
    gradient = tf.constant([0.3, 0.4])
    clipped, _ = clip_by_global_norm([gradient], 0.6)
    np.testing.assert_array_equal(clipped[0], gradient)


def test_no_clipping_at_zero():
    clipped, norm = clip_by_global_norm([tf.constant([30.0, 40.0])], 0.0)
    np.testing.assert_allclose(norm, 50.0)
    np.testing.assert_array_equal(clipped[0], [30.0, 40.0])


@pytest.mark.parametrize("clip_norm", [0.0, 1.0])
def test_the_norm_of_a_sparse_gradient_is_that_of_its_sum(clip_norm):
    sparse = tf.IndexedSlices(
        tf.constant([[1.0], [2.0], [4.0]]), tf.constant([1, 1, 0]), tf.constant([3, 1])
    )
    clipped, norm = clip_by_global_norm([sparse], clip_norm)
    np.testing.assert_allclose(norm, 5.0)  # rows 4 and 1 + 2
    expected = np.array([[4.0], [3.0], [0.0]]) / (5.0 if clip_norm else 1.0)
    np.testing.assert_allclose(tf.convert_to_tensor(clipped[0]), expected, rtol=1e-6)


# Averaged weights


def test_averages_follow_the_variable():
    variable = tf.Variable([1.0, 2.0])
    averages = AveragedWeights([variable], 0.75)
    np.testing.assert_array_equal(averages.averages[0], [1.0, 2.0])
    variable.assign([5.0, 2.0])
    averages.update()
    averages.update()
    # 3/4 1 + 1/4 5 = 2; 3/4 2 + 1/4 5 = 2.75
    np.testing.assert_allclose(averages.averages[0], [2.75, 2.0])


def test_in_place_swaps_and_restores_exactly_also_after_an_error():
    rng = np.random.default_rng(0)
    variables = [tf.Variable(rng.normal(size=[50]), dtype=tf.float32) for _ in range(2)]
    averages = AveragedWeights(variables, 0.9)
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
