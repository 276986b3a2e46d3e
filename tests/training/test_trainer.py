"""The training step, its inputs, and evaluation."""

import itertools
import types

import numpy as np
import pytest
import tensorflow as tf

from rrn.config import Cosine, Evaluate, replace
from rrn.tasks import Report, create_report
from rrn.tasks.inputs import evaluation_inputs, training_inputs
from rrn.training.evaluation import Evaluator, spread
from rrn.training.step import Trainer, average, run_towers
from tests.helpers import CPUS, LineTask, line_batches, line_config, small_babi


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
    (loss,), (gradients,), _ = average(stage, *run_towers(trainer, stage, batches))
    return loss, gradients


def values(trainer):
    optimizer = trainer.optimizers[0]
    return [v.numpy() for v in (*trainer.model_variables, *optimizer.m, *optimizer.v)]


# Training


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


def test_a_variable_that_no_tower_reaches_keeps_its_value():
    task = LineTask()
    task.network.unused = tf.Variable(3.0, name="unused")
    trainer, iterators = line_trainer([[[0, 1]] * 3], task)
    trainer.train(iterators, tf.constant(3))
    assert task.network.unused == 3.0


def test_training_lowers_the_loss():
    task = LineTask(noise=0.0)
    fields = {"batch_size": 12, "learning_rate": 0.03}
    trainer, iterators = line_trainer([[list(range(12))] * 300], task, **fields)
    first, _ = trainer.train(iterators, tf.constant(1))
    trainer.train(iterators, tf.constant(298))
    last, _ = trainer.train(iterators, tf.constant(1))
    assert last["loss"] < 0.9 * first["loss"]


# Training inputs


@pytest.fixture(scope="module")
def babi(small_babi_h5):
    return small_babi(small_babi_h5)


def some_batches(babi, num_devices, first_update, count, seed=0):
    _, data, task = babi
    inputs = training_inputs(task, data.arrays("train"), 16, num_devices, seed, first_update)
    return list(zip(*[dataset.take(count) for dataset in inputs], strict=True))


def assert_same(ours, theirs):
    ours, theirs = tf.nest.flatten(ours), tf.nest.flatten(theirs)
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_batch_is_a_function_of_seed_and_update(babi):
    whole = some_batches(babi, 3, 0, 5)
    assert_same(some_batches(babi, 3, 3, 2), whole[3:])
    assert_same(some_batches(babi, 3, 0, 5), whole)
    for others in (whole[1], some_batches(babi, 3, 0, 1, seed=1)[0]):
        for device in range(3):
            for name in ("examples", "seed"):
                ours, theirs = (b[device][name].numpy() for b in (others, whole[0]))
                assert (ours != theirs).any()


def test_devices_have_places_next_to_each_other(babi):
    for num_devices, sizes in ((1, [16]), (3, [5, 5, 6])):
        (batches,) = some_batches(babi, num_devices, 0, 1)
        places = [sorted(batch["rows"].numpy()) for batch in batches]
        assert [len(rows) for rows in places] == sizes
        assert np.concatenate(places).tolist() == list(range(16))
        assert len({batch["seed"].numpy().tobytes() for batch in batches}) == 1


def test_more_devices_than_examples_are_an_error(babi):
    with pytest.raises(ValueError, match=r"17 devices need a batch_size .* got 16"):
        some_batches(babi, 17, 0, 1)


# Evaluation


@pytest.mark.parametrize(
    ("batch_size", "num_devices"), [(1, 1), (5, 1), (5, 3), (6, 2), (8, 4), (100, 4), (4, 3)]
)
def test_evaluation_goes_over_every_example_once(batch_size, num_devices):
    task, count = LineTask(), 12
    inputs = evaluation_inputs(task, task.arrays, np.arange(count), batch_size, num_devices, 0)
    lengths = {len(dataset) for dataset in inputs}
    assert len(lengths) == 1
    batches = [batch["examples"].numpy() for dataset in inputs for batch in dataset]
    seen = np.bincount(np.concatenate(batches), minlength=count)
    assert (seen[1:] == 1).all() and len(seen) == count
    # What fills up the last batches is the first example.
    assert seen[0] == 1 + sum(map(len, batches)) - count


def line_outputs(task, devices, batch_size, passes=1, seed=0, num_examples=0):
    config = Evaluate(batch_size=batch_size, passes=passes)
    evaluator = Evaluator(Report(task), config, devices, task.arrays, seed, num_examples)
    return evaluator.outputs()["loss"]


def test_line_outputs_do_not_depend_on_devices_or_batch_size():
    task = LineTask()
    expected = line_outputs(task, CPUS[:1], 12)
    assert expected.shape == (12,)
    for devices, batch_size in ((1, 5), (3, 5), (4, 64)):
        outputs = line_outputs(task, CPUS[:devices], batch_size)
        np.testing.assert_allclose(outputs, expected, atol=1e-5)


def test_a_part_of_a_split_is_from_all_over_it_and_of_all_kinds():
    part = spread(1000, 128_000)
    assert (np.diff(part) > 0).all() and (part // 128 == range(1000)).all()
    assert np.bincount(part % 8, minlength=8).min() > 90  # 125 on average
    assert spread(12, 12).tolist() == list(range(12))


@pytest.mark.parametrize("num_examples", [1, 5, 12, 50])
def test_a_part_of_a_split_is_evaluated_as_in_the_whole(num_examples):
    task = LineTask()
    expected = line_outputs(task, CPUS[:1], 12)[spread(min(num_examples, 12), 12)]
    for devices in (CPUS[:1], CPUS[:3]):
        outputs = line_outputs(task, devices, 4, num_examples=num_examples)
        np.testing.assert_allclose(outputs, expected, atol=1e-5)


def test_a_long_evaluation_shows_how_far_it_is(monkeypatch, capsys):
    seconds = itertools.count()  # a clock by which every batch takes one
    clock = types.SimpleNamespace(monotonic=lambda: next(seconds))
    monkeypatch.setattr("rrn.training.progress.time", clock)
    monkeypatch.setattr("rrn.training.progress.EvaluationProgress.SECONDS", 2)
    line_outputs(LineTask(), CPUS[:1], 5, passes=2)
    assert capsys.readouterr().out.splitlines() == [
        "evaluated 10/24  5 examples/s  0:00:02 left",
        "evaluated 20/24  5 examples/s  0:00:00 left",
        "evaluated 24/24  4 examples/s  0:00:00 left",
    ]


def test_passes_average_over_other_draws():
    task = LineTask()
    passes = [line_outputs(task, CPUS[:1], 4, seed=seed) for seed in (5, 6, 7)]
    assert (passes[0] != passes[1]).all()
    outputs = line_outputs(task, CPUS[:1], 4, passes=3, seed=5)
    np.testing.assert_allclose(outputs, np.mean(passes, axis=0), rtol=1e-5)


@pytest.mark.slow
def test_babi_results_do_not_depend_on_devices_or_batch_size(babi):
    config, data, task = babi
    report, arrays, outcomes = create_report(task), data.arrays("test"), []
    for devices, batch_size in ((1, 64), (1, 64), (3, 11)):
        config = replace(config, evaluate={"batch_size": batch_size})
        evaluator = Evaluator(report, config.evaluate, CPUS[:devices], arrays, 0)
        outcomes.append((evaluator.outputs(), evaluator.results(), evaluator.results()))
        # The same evaluation again has the same bits.
        assert outcomes[-1][1] == outcomes[-1][2]
    for name, expected in outcomes[0][0].items():
        np.testing.assert_array_equal(outcomes[1][0][name], expected)
        np.testing.assert_allclose(outcomes[2][0][name], expected, rtol=0, atol=1e-5)
    assert outcomes[0][1] == outcomes[1][1]
    assert outcomes[2][1][1] == pytest.approx(outcomes[0][1][1], abs=1e-5)
    for name, value in outcomes[0][1][0].metrics.items():
        assert outcomes[2][1][0].metrics[name] == pytest.approx(value, abs=1e-5)
