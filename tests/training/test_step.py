"""One update, and many in one call."""

import numpy as np
import pytest
import tensorflow as tf

from rrn.config import Cosine
from rrn.training.step import Trainer
from tests.helpers import CPUS, LineTask, averaged, line_batches, line_config


def line_trainer(examples, task=None, **fields):
    """(Trainer of a `LineTask` on one device for each entry of `examples`, their iterators)."""
    task = task or LineTask()
    inputs = [line_batches(task, rows) for rows in examples]
    specs = [dataset.element_spec for dataset in inputs]
    trainer = Trainer(task, line_config(**fields), CPUS[: len(inputs)], specs)
    return trainer, [iter(dataset) for dataset in inputs]


def gradients_of(trainer, batches):
    """(loss, gradients) of the only stage's only objective."""
    (stage,) = trainer.plan.stages
    (loss,), (gradients,), _ = averaged(trainer, stage, batches)
    return loss, gradients


def values(trainer):
    optimizer = trainer.optimizers[0]
    return [v.numpy() for v in (*trainer.model_variables, *optimizer.m, *optimizer.v)]


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_the_first_update_that_is_not_finite_is_named(bad):
    task = LineTask()
    y = task.arrays["y"].numpy()
    y[11] = bad
    task.arrays["y"] = tf.constant(y)
    good, spoilt = [0, 1, 2], [3, 11, 5]
    examples = [[good] * 8, [good, good, good, spoilt, good, good]]
    trainer, iterators = line_trainer(examples, task)
    trainer.update.assign(40)
    _, bad_update = trainer.train(iterators, tf.constant(2))
    assert bad_update == -1 and trainer.update == 42
    _, bad_update = trainer.train(iterators, tf.constant(4))
    assert bad_update == 43 and trainer.update == 46
    assert bad_update.dtype == tf.int64


def test_a_loss_that_is_finite_with_a_gradient_that_is_not_is_named():
    class Steep(LineTask):
        def loss(self, encodings, batch, random, training):
            losses, outputs = super().loss(encodings, batch, random, training)
            h = encodings["h"][:, 0]
            steep = tf.sqrt(h - tf.stop_gradient(h))  # sqrt has no slope at 0
            return {"loss": losses["loss"] + steep}, outputs

    trainer, iterators = line_trainer([[[0, 1]] * 3], Steep())
    means, bad_update = trainer.train(iterators, tf.constant(1))
    assert np.isfinite(means["loss"]) and bad_update == 0


def test_variables_that_hold_a_number_that_is_not_finite_are_named():
    trainer, iterators = line_trainer([[[0, 1]] * 3], ema_decay=0.9)
    trainer.train(iterators, tf.constant(1))
    assert trainer.not_finite() == []
    optimizer = trainer.optimizers[0]
    spoilt = [trainer.model_variables[0], optimizer.v[1], trainer.averages.averages[2]]
    for variable, bad in zip(spoilt, [np.nan, np.inf, -np.inf], strict=True):
        variable.scatter_nd_update([[0] * variable.shape.rank], [bad])
    assert sorted(trainer.not_finite()) == sorted(v.name.removesuffix(":0") for v in spoilt)


def test_means_are_weighted_by_counts_over_updates_and_towers():
    # kinds are 0 1 1 0 1 1 ...; the first tower's batches have 2 examples, the second's 4
    examples = [[[0, 1], [3, 6]], [[2, 4, 5, 7], [9, 1, 2, 3]]]
    trainer, iterators = line_trainer(examples)
    means, _ = trainer.train(iterators, tf.constant(2))
    ids = np.concatenate([np.ravel(tower) for tower in examples])
    y, kind = (trainer.task.arrays[name].numpy()[ids] for name in ("y", "kind"))
    np.testing.assert_allclose(means["y"], y.mean(), rtol=1e-5)
    by_kind = [y[kind == 0].mean(), y[kind == 1].mean()]
    np.testing.assert_allclose(means["y_by_kind"], by_kind, rtol=1e-5)
    np.testing.assert_allclose(means["learning_rate"], 0.01, rtol=1e-6)


def test_what_no_example_counts_for_has_no_mean():
    trainer, iterators = line_trainer([[[1, 2]]])
    means, _ = trainer.train(iterators, tf.constant(1))
    assert np.isnan(means["y_by_kind"][0]) and np.isfinite(means["y_by_kind"][1])


def test_loss_and_gradients_are_those_of_the_mean_over_all_examples():
    task = LineTask()
    unequal, _ = line_trainer([[[0, 1, 2, 3]], [[4]]], task)
    batches = [next(iter(line_batches(task, rows))) for rows in ([[0, 1, 2, 3]], [[4]])]

    def loss_of(batch):  # without dropout: the towers' examples would have other places
        return task.loss(task.encode(batch), batch, None, False)[0]["loss"]

    with_dropout = task.loss
    task.loss = lambda encodings, batch, random, training: with_dropout(
        encodings, batch, random, training=False
    )
    loss, gradients = gradients_of(unequal, batches)
    with tf.GradientTape() as tape:
        expected = tf.reduce_mean(tf.concat([loss_of(batch) for batch in batches], 0))
    np.testing.assert_allclose(loss, expected, rtol=1e-6)
    expected = tape.gradient(expected, unequal.model_variables)
    for ours, theirs in zip(gradients, expected, strict=True):
        ours, theirs = (tf.convert_to_tensor(g) for g in (ours, theirs))
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-6)


def test_the_l2_gradient_is_that_of_half_the_squares():
    task, l2 = LineTask(), 0.03
    batches = [next(iter(line_batches(task, [[0, 1, 2]])))]
    with_l2, without = (line_trainer([[[0, 1, 2]]], task, l2=scale)[0] for scale in (l2, 0.0))
    variables = with_l2.model_variables
    with tf.GradientTape() as tape:
        penalty = l2 * tf.add_n([tf.reduce_sum(w**2) / 2 for w in task.regularized()])
    expected = tape.gradient(penalty, variables)
    assert sum(g is not None for g in expected) == 2
    pairs = zip(*[gradients_of(t, batches)[1] for t in (with_l2, without)], expected, strict=True)
    for ours, plain, extra in pairs:
        difference = tf.convert_to_tensor(ours) - tf.convert_to_tensor(plain)
        np.testing.assert_allclose(difference, 0.0 if extra is None else extra, atol=1e-6)
    losses = [gradients_of(trainer, batches)[0] for trainer in (with_l2, without)]
    np.testing.assert_array_equal(*losses)


def test_several_updates_in_one_call_equal_single_calls_bit_for_bit():
    results = []
    examples = np.random.default_rng(0).integers(12, size=[2, 6, 4])
    for calls in ([6], [1] * 6):
        tf.random.set_seed(1)
        fields = {"clip_norm": 0.5, "l2": 0.01, "ema_decay": 0.9}
        trainer, iterators = line_trainer(examples, schedule=Cosine(warmup_updates=3), **fields)
        for count in calls:
            _, bad_update = trainer.train(iterators, tf.constant(count))
            assert bad_update == -1
        assert trainer.update == 6
        averages = [average.numpy() for average in trainer.averages.averages]
        results.append([*values(trainer), *averages])
    for other in results[1:]:
        for ours, theirs in zip(results[0], other, strict=True):
            np.testing.assert_array_equal(ours, theirs)


def test_clipping_and_averages_are_parts_of_an_update():
    trainer, iterators = line_trainer([[[0, 1, 2]] * 2], clip_norm=1e-3, ema_decay=0.75)
    before = [variable.numpy() for variable in trainer.model_variables]
    trainer.train(iterators, tf.constant(1))
    # Adam's m is a tenth of the clipped gradient.
    np.testing.assert_allclose(tf.linalg.global_norm(trainer.optimizers[0].m), 1e-4, rtol=1e-4)
    after = zip(trainer.averages.averages, before, trainer.model_variables, strict=True)
    for average, old, new in after:
        np.testing.assert_allclose(average, 0.75 * old + 0.25 * new, rtol=1e-6)


def test_a_variable_that_no_tower_reaches_keeps_its_value():
    task = LineTask()
    task.network.unused = tf.Variable(3.0, name="unused")
    trainer, iterators = line_trainer([[[0, 1]] * 3], task)
    trainer.train(iterators, tf.constant(3))
    assert task.network.unused == 3.0
