"""The states of training on disk: the last ones, and the best."""

import time

import numpy as np
import tensorflow as tf


def restore_variables(path, variables, averaged):
    """Sets a model's variables from a trainer's checkpoint: to their averages if `averaged`."""
    holder = tf.train.Checkpoint(**{"averages" if averaged else "model_variables": variables})
    trainer = tf.train.Checkpoint(averages=holder) if averaged else holder
    status = tf.train.Checkpoint(trainer=trainer).restore(path)
    status.assert_existing_objects_matched().expect_partial()


class Checkpoints:
    """Saves a trainer's variables, slots and update, and the lowest validation error so far.

    A checkpoint is due every `every_updates` updates or `every_seconds` seconds, whichever comes
    first.
    """

    def __init__(self, folder, every_updates, every_seconds, writer=None):
        """writer: the device that reads and writes the files where variables are on several
        machines; None if all are on this one.
        """
        self._options = tf.train.CheckpointOptions(experimental_io_device=writer)
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
        self.best_error = tf.Variable(np.inf, trainable=False, dtype=tf.float64, name="best_error")
        checkpoint = tf.train.Checkpoint(trainer=trainer, best_error=self.best_error)
        self._last = tf.train.CheckpointManager(checkpoint, str(self._folder / "last"), 2)
        self._best = tf.train.CheckpointManager(checkpoint, str(self._folder / "best"), 1)
        if self.latest:
            checkpoint.restore(self.latest, self._options).assert_consumed()

    def due(self):
        seconds = time.monotonic() - self._saved_at
        return (
            self.trainer.update.numpy() % self._every_updates == 0 or seconds >= self._every_seconds
        )

    def save(self):
        update = int(self.trainer.update)
        if update != self.latest_update():
            self.latest = self._last.save(update, options=self._options)
        self._saved_at = time.monotonic()

    def save_best(self, error):
        """Saves the state as the best, with its validation error."""
        self.best_error.assign(error)
        self._best.save(int(self.trainer.update), options=self._options)
