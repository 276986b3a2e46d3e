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


def test_results_need_errors_of_groups_and_one_that_they_lack_is_the_mean():
    sampler = Sampler(GroupedLine(), GroupedLine().arrays, [])
    with pytest.raises(ValueError, match=r"or group_shares: .* have no group_errors"):
        sampler.take(results_of({}))
    assert sampler.errors.numpy().tolist() == [1.0, 1.0]  # as before
    sampler.take(results_of({0: 20.0}))
    assert sampler.errors.numpy().tolist() == [20.0, 20.0]


def grouped_trainer(first_update=0, task=None, **fields):
    task = task or GroupedLine()
    specs = [training_inputs(task, task.arrays, 6, 1, 0, 0)[0].element_spec]
    config = line_config(batch_size=6, **fields)
    return Trainer(task, config, CPUS[:1], specs, task.arrays, first_update)


def test_errors_are_in_the_checkpoint_and_shares_are_the_stages(tmp_path):
    stages = (
        {"name": "even", "num_updates": 2},
        {"name": "by_error", "num_updates": 3, "error_share": 0.5, "error_power": 2.0},
        {"name": "second", "num_updates": 1, "group_shares": {1: 0.5}},
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
    assert resumed.shares(resumed.plan.stages[2]) == {0: 0.25, 1: 0.75}
    all_given = {0: 0.4, 1: 0.6 + 2e-16}  # as the sum of four shares may be
    grouped_trainer(stages=[{"name": "given", "num_updates": 1, "group_shares": all_given}])
    for wrong in ({2: 0.1}, {0: 0.5, 1: 0.6}):
        with pytest.raises(ValueError, match=rf"group_shares: .* \[0, 1\]; got {wrong}"):
            grouped_trainer(stages=[{"name": "third", "num_updates": 1, "group_shares": wrong}])


def test_a_task_without_groups_is_named():
    with pytest.raises(ValueError, match="or group_shares: the task defines no groups"):
        grouped_trainer(task=LineTask(), error_share=0.5)
