"""The states of training on disk: the last ones, and the best."""

import time

import tensorflow as tf


class Checkpoints:
    """Saves a trainer's variables, slots and update, and the lowest validation loss so far.

    A checkpoint is due every `every_updates` updates or `every_seconds` seconds, whichever comes
    first.
    """

    def __init__(self, folder, every_updates, every_seconds):
        self._folder = folder
        self._every_updates, self._every_seconds = every_updates, every_seconds
        self._saved_at = time.monotonic()
        self.latest = tf.train.latest_checkpoint(str(folder / "last"))

    def latest_update(self):
        """The update of the last state, 0 if there is none."""
        return int(self.latest.rsplit("-", 1)[1]) if self.latest else 0

    def track(self, trainer):
        """Sets what is saved, and restores the last state if there is one."""
        self.trainer = trainer
        self.best_loss = tf.Variable(float("inf"), trainable=False, name="best_loss")
        checkpoint = tf.train.Checkpoint(trainer=trainer, best_loss=self.best_loss)
        self._last = tf.train.CheckpointManager(checkpoint, str(self._folder / "last"), 2)
        self._best = tf.train.CheckpointManager(checkpoint, str(self._folder / "best"), 1)
        if self.latest:
            checkpoint.restore(self.latest).assert_consumed()

    def due(self):
        seconds = time.monotonic() - self._saved_at
        return (
            self.trainer.update.numpy() % self._every_updates == 0 or seconds >= self._every_seconds
        )

    def save(self):
        update = int(self.trainer.update)
        if update != self.latest_update():
            self.latest = self._last.save(checkpoint_number=update)
        self._saved_at = time.monotonic()

    def save_best(self, loss):
        """Saves the state as the best, with its validation loss."""
        self.best_loss.assign(loss)
        self._best.save(checkpoint_number=int(self.trainer.update))
