"""Checkpoints: the last states."""

import numpy as np
import pytest
import tensorflow as tf

from rrn.training.checkpoints import Checkpoints, written_by
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


@pytest.fixture
def saved(tmp_path):
    """A folder with the states after updates 2 and 4."""
    trainer, iterators = make_trainer()
    checkpoints = tracked(tmp_path, trainer)
    for _ in range(2):
        trainer.train(iterators, tf.constant(2))
        checkpoints.save()
    return tmp_path


def flip(path, place):
    content = bytearray(path.read_bytes())
    content[place] ^= 16
    path.write_bytes(content)


DAMAGE = {
    "index lost": lambda last: (last / "ckpt-4.index").unlink(),
    "data lost": lambda last: (last / "ckpt-4.data-00000-of-00001").unlink(),
    "index cut": lambda last: (last / "ckpt-4.index").write_bytes(b"cut"),
    "index empty": lambda last: (last / "ckpt-4.index").write_bytes(b""),
    "data cut": lambda last: (last / "ckpt-4.data-00000-of-00001").write_bytes(b"cut"),
    "index flipped": lambda last: flip(last / "ckpt-4.index", 40),
    "data flipped": lambda last: flip(last / "ckpt-4.data-00000-of-00001", 12),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_the_newest_whole_state_is_restored(saved, damage, capsys):
    DAMAGE[damage](saved / "last")
    trainer, iterators = make_trainer()
    checkpoints = tracked(saved, trainer)
    assert checkpoints.latest_update() == trainer.update == 2
    assert "last/ckpt-4: damaged, moved to" in capsys.readouterr().out
    assert any((saved / "last" / "damaged").iterdir())
    trainer.train(iterators, tf.constant(2))
    checkpoints.save()
    assert tracked(saved, make_trainer()[0]).latest_update() == 4
    assert "damaged" not in capsys.readouterr().out


def test_damaged_states_alone_are_an_error_and_stay(saved):
    for update in 2, 4:
        flip(saved / "last" / f"ckpt-{update}.data-00000-of-00001", 12)
    files = sorted(path.name for path in (saved / "last").iterdir())
    with pytest.raises(ValueError, match=r"none .* can be restored; ckpt-4: .*ckpt-2: .*--restart"):
        Checkpoints(saved, 100, 1000)
    assert sorted(path.name for path in (saved / "last").iterdir()) == files
    for path in (saved / "last").glob("ckpt-*"):
        path.unlink()
    with pytest.raises(ValueError, match="its files are not there"):
        Checkpoints(saved, 100, 1000)


@pytest.mark.parametrize("text", [None, "", 'model_checkpoint_path: "ckpt-9"', "\0\1{"])
def test_tensorflows_list_is_not_needed(saved, text):
    state = saved / "last" / "checkpoint"
    state.unlink() if text is None else state.write_text(text)
    trainer, _ = make_trainer()
    assert tracked(saved, trainer).latest_update() == trainer.update == 4
    assert tf.train.latest_checkpoint(str(saved / "last")).endswith("ckpt-4")


def test_what_a_killed_save_leaves_is_removed(saved):
    (saved / "last" / "ckpt-6_temp").mkdir()
    (saved / "last" / "ckpt-6_temp" / "part-00000-of-00001.index").write_bytes(b"half")
    (saved / "last" / "checkpoint.tmp123").write_bytes(b"half")
    assert tracked(saved, make_trainer()[0]).latest_update() == 4
    assert not [p for p in (saved / "last").iterdir() if "tmp" in p.name or "temp" in p.name]


def test_a_killed_first_save_is_no_checkpoint(tmp_path):
    """A later one that is cut off is no checkpoint, either, but there has been a first."""
    (tmp_path / "last").mkdir()
    half = tmp_path / "last" / "ckpt-0.data-00000-of-00001"
    half.write_bytes(b"half")
    assert Checkpoints(tmp_path, 100, 1000).latest is None
    half.rename(half.with_name("ckpt-2.data-00000-of-00001"))
    with pytest.raises(ValueError, match="none of its checkpoints can be restored; ckpt-2: "):
        Checkpoints(tmp_path, 100, 1000)


def test_the_run_that_wrote_a_state_is_known(tmp_path):
    """States of earlier checkouts do not say it, and are restored."""
    trainer, _ = make_trainer()
    for number in 1, 2:
        checkpoints = Checkpoints(tmp_path, 100, 1000, run={"seed": number})
        checkpoints.track(trainer)
        trainer.update.assign(number)
        checkpoints.save()
        assert written_by(checkpoints.latest) == {"seed": number}
    older = tf.train.Checkpoint(trainer=trainer, best_error=checkpoints.best_error)
    trainer.update.assign(3)
    path = tf.train.CheckpointManager(older, str(tmp_path / "last"), 9).save(3)
    assert written_by(path) is None
    restored, _ = make_trainer()
    tracked(tmp_path, restored)
    assert restored.update == 3
