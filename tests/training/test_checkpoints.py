"""Checkpoints: the last states."""

import numpy as np
import pytest
import tensorflow as tf

from rrn.training.checkpoints import Checkpoints
from rrn.training.step import Trainer
from tests.helpers import CPUS, LineTask, line_batches, line_config


def make_trainer(num_devices=1, **fields):
    task = LineTask()
    inputs = [line_batches(task, [[0, 1, 2]] * 9) for _ in range(num_devices)]
    specs = [dataset.element_spec for dataset in inputs]
    trainer = Trainer(task, line_config(**fields), CPUS[:num_devices], specs)
    return trainer, [iter(dataset) for dataset in inputs]


def tracked(folder, trainer, every_updates=100, every_seconds=1000):
    checkpoints = Checkpoints(folder, every_updates, every_seconds)
    checkpoints.track(trainer)
    return checkpoints


def state(trainer):
    optimizer = trainer.optimizers[0]
    variables = [*trainer.model_variables, *optimizer.variables, *trainer.averages.averages]
    return [trainer.update.numpy(), *(variable.numpy() for variable in variables)]


@pytest.mark.parametrize(("optimizer", "num_devices"), [("adam", 1), ("adam", 3), ("muon", 1)])
def test_everything_that_training_needs_is_restored(tmp_path, optimizer, num_devices):
    fields = {"optimizer": optimizer, "ema_decay": 0.9}
    ours, iterators = make_trainer(**fields)
    checkpoints = tracked(tmp_path, ours)
    assert checkpoints.latest.endswith("last/ckpt-0") and checkpoints.latest_update() == 0
    assert checkpoints.best_error.numpy() == np.inf
    ours.train(iterators, tf.constant(4))
    checkpoints.best_error.assign(0.25)
    checkpoints.save()
    theirs, _ = make_trainer(num_devices, **fields)
    assert Checkpoints(tmp_path, 100, 1000).latest_update() == 4
    restored = tracked(tmp_path, theirs)
    assert theirs.update == 4 and restored.best_error.numpy() == 0.25
    for a, b in zip(state(ours), state(theirs), strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_state_that_does_not_fit_is_an_error(tmp_path):
    ours, _ = make_trainer(ema_decay=0.9)
    tracked(tmp_path, ours)
    theirs, _ = make_trainer()  # has no averages for those in the file
    with pytest.raises(ValueError, match=r"last/ckpt-0: the state of another model: .*averages"):
        tracked(tmp_path, theirs)


def test_the_last_two_states_are_kept(tmp_path):
    trainer, iterators = make_trainer()
    checkpoints = tracked(tmp_path, trainer)
    for _ in range(3):
        trainer.train(iterators, tf.constant(1))
        checkpoints.save()
        checkpoints.save()  # the same update again is not written again
    names = {p.relative_to(tmp_path).as_posix() for p in tmp_path.rglob("*.index")}
    assert names == {"last/ckpt-2.index", "last/ckpt-3.index"}
    assert checkpoints.latest_update() == 3


def test_a_checkpoint_is_due_after_updates_or_seconds(tmp_path, monkeypatch):
    now = [1000.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    trainer, _ = make_trainer()
    checkpoints = tracked(tmp_path, trainer, every_updates=10, every_seconds=60)
    due = {}
    for update in (1, 9, 10, 11, 20):
        trainer.update.assign(update)
        due[update] = checkpoints.due()
    assert due == {1: False, 9: False, 10: True, 11: False, 20: True}
    trainer.update.assign(21)
    now[0] += 59
    assert not checkpoints.due()
    now[0] += 1
    assert checkpoints.due()
    checkpoints.save()
    assert not checkpoints.due()


@pytest.mark.parametrize("file", ["index", "data-00000-of-00001"])
def test_a_damaged_state_is_named_and_the_one_before_it_is_taken_without_it(tmp_path, file):
    trainer, _ = make_trainer()
    checkpoints = tracked(tmp_path, trainer)
    trainer.update.assign(4)
    checkpoints.save()
    damaged = tmp_path / "last" / f"ckpt-4.{file}"
    damaged.write_bytes(damaged.read_bytes()[:12])
    with pytest.raises(ValueError, match=r"last/ckpt-4: damaged: .*; remove its files"):
        tracked(tmp_path, make_trainer()[0])
    for path in (tmp_path / "last").glob("ckpt-4.*"):
        path.unlink()
    restored, _ = make_trainer()
    checkpoints = tracked(tmp_path, restored)
    assert checkpoints.latest_update() == restored.update == 0
    restored.update.assign(4)
    checkpoints.save()
    assert Checkpoints(tmp_path, 100, 1000).latest_update() == 4


def test_what_a_killed_save_leaves_is_no_state(tmp_path):
    """TensorFlow's list of them is written last."""
    checkpoints = tracked(tmp_path, make_trainer()[0])
    (tmp_path / "last" / "ckpt-6.index").write_bytes(b"half")
    assert Checkpoints(tmp_path, 100, 1000).latest == checkpoints.latest
