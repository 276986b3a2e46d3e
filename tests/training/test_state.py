"""Sampling by error: the shares, the draws, and that they are the same after a kill."""

import numpy as np
import pytest
import tensorflow as tf

from rrn.tasks.inputs import training_inputs
from rrn.tasks.report import Results
from rrn.training.state import Sampler, shares_by_error
from rrn.training.step import Trainer
from tests.helpers import CPUS, LineTask, line_config


class GroupedLine(LineTask):
    def groups(self, arrays):
        return arrays["kind"].numpy()


def results_of(group_errors):
    return Results({}, error=0.0, group_errors=group_errors)


def test_shares_follow_errors_above_a_floor():
    np.testing.assert_allclose(
        shares_by_error(np.array([0.0, 30, 10, 0]), 0.5), [1, 4, 2, 1] / np.float64(8)
    )
    np.testing.assert_allclose(shares_by_error(np.array([5.0, 1.0]), 0.0), [0.5, 0.5])
    np.testing.assert_allclose(shares_by_error(np.array([5.0, 0.0]), 1.0), [1.0, 0.0])
    np.testing.assert_allclose(shares_by_error(np.zeros(4), 0.7), [0.25] * 4)
    np.testing.assert_allclose(
        shares_by_error(np.array([3.0, 1, 0, 0]), 0.5, 2.0), [23, 7, 5, 5] / np.float64(40)
    )


def test_results_without_errors_of_groups_are_refused():
    task = GroupedLine()
    sampler = Sampler(task, task.arrays)
    with pytest.raises(ValueError, match=r"error_share above 0: .* have no group_errors"):
        sampler.take(results_of({}))
    assert sampler.shares(0.5, 1.0) == {0: 0.5, 1: 0.5}  # as before


def grouped_trainer(first_update=0, **fields):
    task = GroupedLine()
    specs = [training_inputs(task, task.arrays, 6, 1, 0, 0)[0].element_spec]
    args = task, line_config(batch_size=6, **fields), CPUS[:1], specs, task.arrays
    return Trainer(*args, first_update=first_update)


def test_errors_are_in_the_checkpoint_and_shares_are_the_stages(tmp_path):
    stages = (
        {"name": "even", "num_updates": 2},
        {"name": "by_error", "num_updates": 3, "error_share": 0.5, "error_power": 2.0},
    )
    trainer = grouped_trainer(stages=stages)
    assert trainer.shares() is None
    trainer.sampler.take(results_of({0: 30.0, 1: 10.0}))
    trainer.update.assign(2)
    trainer.begin_stage()
    assert trainer.shares() == pytest.approx({0: 0.7, 1: 0.3})
    path = tf.train.Checkpoint(trainer=trainer).save(str(tmp_path / "state"))
    resumed = grouped_trainer(stages=stages, first_update=2)
    tf.train.Checkpoint(trainer=resumed).restore(path).assert_consumed()
    assert resumed.shares() == trainer.shares()


def test_a_group_that_validation_lacks_has_the_mean_error():
    sampler = Sampler(GroupedLine(), GroupedLine().arrays)
    sampler.take(results_of({0: 20.0}))
    assert sampler.errors.numpy().tolist() == [20.0, 20.0]


def test_a_task_without_groups_is_named():
    task = LineTask()
    specs = [training_inputs(task, task.arrays, 6, 1, 0, 0)[0].element_spec]
    with pytest.raises(ValueError, match="error_share above 0: this task defines no groups"):
        Trainer(task, line_config(batch_size=6, error_share=0.5), CPUS[:1], specs, task.arrays)
