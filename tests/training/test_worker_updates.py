"""What updates of workers and of devices count and drop, in this process."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import tensorflow as tf

from rrn.tasks.inputs import training_inputs
from rrn.training import worker_updates
from rrn.training.step import Trainer, apply, average, run_tower
from rrn.training.worker_updates import (
    AsynchronousUpdates,
    FirstGradients,
    count_up,
)
from tests.helpers import CPUS, LineTask, line_config

BATCH_SIZE = 7  # the second of two towers has one example more


def make(num_towers):
    """(trainer, its inputs), the same ones every time."""
    tf.random.set_seed(0)
    task = LineTask()
    inputs = training_inputs(task, task.arrays, BATCH_SIZE, num_towers, 0, 0)
    specs = [dataset.element_spec for dataset in inputs]
    return Trainer(task, line_config(batch_size=BATCH_SIZE), CPUS[:num_towers], specs), inputs


def values(trainer):
    return np.concatenate([np.ravel(v) for v in trainer.model_variables])


def test_updates_at_the_same_time_have_different_numbers():
    variable = tf.Variable(0, dtype=tf.int64)
    count = tf.function(lambda: count_up(variable))
    with ThreadPoolExecutor(6) as workers:
        many = workers.map(lambda _: [int(count()) for _ in range(500)], range(6))
        numbers = sorted(number for some in many for number in some)
    assert numbers == list(range(3000)) and variable == 3000


def test_staleness_is_the_number_of_updates_between_reading_and_writing():
    trainer, inputs = make(1)
    expected, _ = make(1)
    batches = iter(inputs[0])

    class Others:
        """A worker's batches; while it waits for one, others make three updates."""

        def __next__(self):
            trainer.update.assign_add(3)
            return next(batches)

    updates = AsynchronousUpdates(trainer, {}, 0)
    update = tf.function(lambda: updates._update(0, Others()))
    for begun in (0, 4):
        _, finite, number, staleness = update()
        assert finite and number == begun + 3 and staleness == 3
        assert trainer.update == begun + 4
        expected.update.assign(begun + 3)
        expected.train([iter(inputs[0].skip(begun // 4))], tf.constant(1))
    np.testing.assert_allclose(values(trainer), values(expected), rtol=0, atol=1e-6)


def test_one_device_without_waiting_makes_the_updates_of_its_own_batches():
    trainer, inputs = make(1)
    updates = AsynchronousUpdates(trainer, trainer.task.arrays, 0)
    trainer.update.assign(4)  # as after a checkpoint
    updates.use(inputs, {})
    means, bad_update = updates.train(3)
    assert trainer.update == 7 and bad_update == -1
    assert means["staleness"] == means["staleness_max"] == 0
    assert means["staleness_counts"].tolist() == [3, 0, 0]
    expected, _ = make(1)
    expected.update.assign(4)
    own = training_inputs(trainer.task, trainer.task.arrays, BATCH_SIZE, 1, 0, 4, stream=1)
    theirs, _ = expected.train([iter(own[0])], tf.constant(3))
    np.testing.assert_allclose(values(trainer), values(expected), rtol=0, atol=1e-6)
    assert means["loss"] == pytest.approx(float(theirs["loss"]), abs=1e-6)


def test_two_devices_update_by_themselves_with_batches_of_their_own(monkeypatch):
    """A barrier lets both read the variables before either changes them."""
    trainer, inputs = make(2)
    updates = AsynchronousUpdates(trainer, trainer.task.arrays, 0)
    updates.use(inputs, {})
    barrier, seen = threading.Barrier(2), [[], []]

    class Together:
        def __init__(self, number, iterator):
            self.number, self.iterator = number, iterator

        def __next__(self):
            batch = next(self.iterator)

            def wait(examples):
                seen[self.number].append(examples.numpy().tolist())
                barrier.wait(60)
                return examples

            with tf.control_dependencies([tf.py_function(wait, [batch["examples"]], tf.int32)]):
                return {name: tf.identity(tensor) for name, tensor in batch.items()}

    updates._iterators = [Together(i, iterator) for i, iterator in enumerate(updates._iterators)]
    towers, real = [], worker_updates.run_tower
    monkeypatch.setattr(
        worker_updates, "run_tower", lambda *args: towers.append(args[2]) or real(*args)
    )
    means, bad_update = updates.train(20)
    assert sorted(towers) == [0, 1]  # each is traced on its own
    assert trainer.update == 20 and bad_update == -1
    counts = means["staleness_counts"]
    assert counts.sum() == 20 and len(counts) == 5
    assert np.dot(counts, range(5)) == round(20 * means["staleness"])
    # Of two that have read the same, the second to write is at least one behind.
    assert means["staleness"] >= 0.5 and 1 <= means["staleness_max"] <= 2
    for number in range(2):  # ten batches of its own stream each
        stream = training_inputs(
            trainer.task, trainer.task.arrays, BATCH_SIZE, 1, 0, 0, stream=1 + number
        )[0]
        own = [batch["examples"].numpy().tolist() for batch in stream.take(10)]
        assert seen[number] == own
    assert seen[0] != seen[1]


def test_a_loss_that_is_not_finite_is_told_with_the_first_update_that_has_it():
    trainer, inputs = make(2)
    updates = AsynchronousUpdates(trainer, trainer.task.arrays, 0)
    updates.use(inputs, {})
    assert updates.train(4)[1] == -1
    shard = trainer.model_variables[0]
    shard.assign(tf.fill(shard.shape, np.nan))
    assert updates.train(4)[1] == 4


@pytest.fixture(scope="module")
def first_gradients():
    """num_gradients -> (trainer, its `FirstGradients` of two workers)."""
    made = {}
    for num_gradients in (1, 2, 5):
        trainer, inputs = make(2)
        made[num_gradients] = trainer, FirstGradients(trainer, num_gradients)
        made[num_gradients][1].use(inputs, {})
    return made


def test_late_gradients_change_nothing(first_gradients):
    trainer, updates = first_gradients[2]
    for worker in (0, 1, 0):
        updates._results.put((worker, -1, "of an update that is over"))
    means, bad_update = updates.train(3)
    assert means["gradients_dropped"] == 3 and bad_update == -1
    expected, inputs = make(2)
    expected.train([iter(dataset) for dataset in inputs], tf.constant(3))
    np.testing.assert_allclose(values(trainer), values(expected), rtol=0, atol=1e-6)


def test_more_gradients_than_workers_are_of_further_batches(first_gradients):
    """Five of two workers: each one's first batch, and three that whoever is first takes.

    The expected update is made of the gradients of the batches that were taken.
    """
    trainer, updates = first_gradients[5]
    assert updates._begins_stage()
    taken, traced = [], updates._on_each_tower(updates._tower)

    def noting(number, function):
        def gradients(iterator):
            taken.append(number)
            return function(iterator)

        return gradients

    updates._gradients = [noting(number, function) for number, function in enumerate(traced)]
    updates._apply = tf.function(updates._update, autograph=False)
    means, bad_update = updates.train(1)
    updates._gradients = traced
    assert trainer.update == 1 and bad_update == -1 and means["gradients_dropped"] == 0
    assert len(taken) == 5 and set(taken) == {0, 1} and updates._further == 0
    assert updates.batch_size == 5 * BATCH_SIZE / 2
    expected, inputs = make(2)
    stage, towers, counts = expected.plan.stages[0], [], []
    for number in range(2):
        for batch in inputs[number].take(taken.count(number)):
            towers.append(run_tower(expected, stage, number, batch))
            counts.append(tf.size(batch["rows"]))
    apply(expected, *average(stage, towers, counts)[:2], expected.update)
    np.testing.assert_allclose(values(trainer), values(expected), rtol=0, atol=1e-6)
    updates.train(4)
    assert trainer.update == 5 and updates._results.empty()


def test_as_many_workers_may_fail_as_are_not_needed(first_gradients, capsys):
    error = tf.errors.UnavailableError(None, None, "gone")
    trainer, updates = first_gradients[1]
    updates._results.put((1, 0, error))
    updates.train(2)
    assert trainer.update == 2
    assert capsys.readouterr().out == "/device:CPU:1 has failed; 1 others continue\n"
    for _, updates in first_gradients.values():
        updates._results.put((0, 0, error))
        with pytest.raises(tf.errors.UnavailableError, match="gone"):
            updates.train(1)
