"""What workers' updates count and drop, in this process, where their order is known."""

import types
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import tensorflow as tf

from rrn.data import training_inputs
from rrn.training.trainer import Trainer
from rrn.training.worker_updates import AsynchronousUpdates, FirstGradients, count_up
from tests.helpers import CPUS, LineTask, line_config

BATCH_SIZE = 6


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

    updates = types.SimpleNamespace(trainer=trainer)
    stage = trainer.plan.stages[0]
    update = tf.function(lambda: AsynchronousUpdates._update(updates, stage, Others()))
    for begun in (0, 4):
        _, finite, number, staleness = update()
        assert finite and number == begun + 3 and staleness == 3
        assert trainer.update == begun + 4
        expected.update.assign(begun + 3)
        expected.train([iter(inputs[0].skip(begun // 4))], tf.constant(1))
    np.testing.assert_allclose(values(trainer), values(expected), rtol=0, atol=1e-6)


@pytest.fixture(scope="module")
def first_gradients():
    """num_gradients -> (trainer, its `FirstGradients` of two workers)."""
    made = {}
    for num_gradients in (1, 2):
        trainer, inputs = make(2)
        made[num_gradients] = trainer, FirstGradients(trainer, num_gradients)
        made[num_gradients][1].use(inputs, None)
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


def test_as_many_workers_may_fail_as_are_not_needed(first_gradients, capsys):
    error = tf.errors.UnavailableError(None, None, "gone")
    trainer, updates = first_gradients[1]
    updates._results.put((1, 0, error))
    updates.train(2)
    assert trainer.update == 2
    assert capsys.readouterr().out == "worker 1 has failed; 1 others go on\n"
    for _, updates in first_gradients.values():
        updates._results.put((0, 0, error))
        with pytest.raises(tf.errors.UnavailableError, match="gone"):
            updates.train(1)
