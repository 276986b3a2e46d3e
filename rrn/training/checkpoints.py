"""The last states of training, on disk."""

import time
from pathlib import Path

import numpy as np
import tensorflow as tf

from rrn.training.step import Trainer


class Checkpoints:
    """Saves a trainer's variables, slots and update, and the best validation error.

    The first is written before the first update. Another is due every `every_updates` updates or
    `every_seconds` seconds, whichever comes first; the last two are kept.

    Args:
      folder: where the checkpoints are, in `last`.
      writer: the device that reads and writes the files where variables are on several machines;
        None if all are on this one.

    Attributes:
      latest: the path of the last state; None if there is none.
    """

    def __init__(
        self,
        folder: str | Path,
        every_updates: int,
        every_seconds: float,
        writer: str | None = None,
    ):
        self._options = tf.train.CheckpointOptions(experimental_io_device=writer)
        self._folder = Path(folder) / "last"
        self._every_updates, self._every_seconds = every_updates, every_seconds
        self._saved_at = time.monotonic()
        # TensorFlow's list of them is written last. A user may have removed what is damaged.
        state = tf.train.get_checkpoint_state(str(self._folder))
        paths = state.all_model_checkpoint_paths if state else ()
        self.latest = next((p for p in reversed(paths) if Path(f"{p}.index").exists()), None)

    def latest_update(self) -> int:
        """Finds the update of the last state, 0 if there is none."""
        return int(self.latest.rsplit("-", 1)[1]) if self.latest else 0

    def track(self, trainer: Trainer) -> None:
        """Sets what is saved; restores the last state, or saves the first.

        Raises:
          ValueError: the last state is damaged, or not one of this trainer.
        """
        self.trainer = trainer
        infinite = tf.constant(np.inf, tf.float64)
        self.best_error = tf.Variable(infinite, trainable=False, name="best_error")
        state = tf.train.Checkpoint(trainer=trainer, best_error=self.best_error)
        self._manager = tf.train.CheckpointManager(state, str(self._folder), 2)
        if not self.latest:
            return self.save()
        try:
            state.restore(self.latest, self._options).assert_consumed()
        except (AssertionError, ValueError) as error:
            what = str(error).splitlines()[0].removesuffix(": attributes {")
            raise ValueError(f"{self.latest}: the state of another model: {what}") from None
        except Exception as error:  # what TensorFlow raises for damaged bytes has many types
            raise ValueError(
                f"{self.latest}: damaged: {str(error).splitlines()[0]}; remove its files, and the "
                "same command resumes from the one before it"
            ) from None

    def due(self) -> bool:
        """Tells whether enough updates or seconds have passed."""
        seconds = time.monotonic() - self._saved_at
        return (
            self.trainer.update.numpy() % self._every_updates == 0 or seconds >= self._every_seconds
        )

    def save(self) -> None:
        """Saves the state, unless it is saved already."""
        update = int(self.trainer.update)
        if not self.latest or update != self.latest_update():
            self.latest = self._manager.save(update, options=self._options)
        self._saved_at = time.monotonic()
