"""The last states of training, on disk."""

import json
import shutil
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import tensorflow as tf

from rrn.variables.reading import Variable

if TYPE_CHECKING:
    from rrn.training.step import Trainer


def restore_variables(path: str | Path, variables: Sequence[Variable], averaged: bool) -> None:
    """Sets a model's variables from a trainer's checkpoint.

    Args:
      path: see `problem`.
      averaged: whether they get the values of the averaged weights.

    Raises:
      AssertionError: the checkpoint does not have all of the variables.
      tf.errors.NotFoundError: there is no such checkpoint.
    """
    holder = tf.train.Checkpoint(**{"averages" if averaged else "model_variables": variables})
    trainer = tf.train.Checkpoint(averages=holder) if averaged else holder
    status = tf.train.Checkpoint(trainer=trainer).restore(path)
    status.assert_existing_objects_matched().expect_partial()


def written_by(path: str | Path) -> Any:
    """Finds the identity of the run that has written a checkpoint; see `rrn.training.identity`.

    Args:
      path: the checkpoint, without the ending of its files.

    Returns:
      The identity; None in a checkpoint of earlier checkouts.

    Raises:
      tf.errors.NotFoundError: there is no such checkpoint.
    """
    reader, name = tf.train.load_checkpoint(str(path)), "run/.ATTRIBUTES/VARIABLE_VALUE"
    return json.loads(reader.get_tensor(name)) if reader.has_tensor(name) else None


def problem(path: str | Path) -> str | None:
    """Says in a line what is wrong with a checkpoint; None if all of it can be read.

    TensorFlow keeps a checksum of the index and of each tensor, and compares it here.

    Args:
      path: the checkpoint, without the ending of its files.
    """
    try:
        reader = tf.train.load_checkpoint(str(path))
        for name in reader.get_variable_to_shape_map():
            reader.get_tensor(name)
    except Exception as error:  # what TensorFlow raises for damaged bytes has many types
        return (str(error).splitlines() or [type(error).__name__])[0]
    return None


def newest_whole(folder: str | Path) -> str | None:
    """Finds the newest checkpoint of a folder that can be read; None if none was ever finished.

    Newer ones that cannot be read are named and moved to `folder`/damaged.

    Raises:
      ValueError: there have been checkpoints, and none of them can be read.
    """
    folder, damaged = Path(folder), []
    files = [path for path in folder.glob("ckpt-*.*") if path.stem[5:].isdecimal()]
    for update in sorted({int(path.stem[5:]) for path in files}, reverse=True):
        path = folder / f"ckpt-{update}"
        said = problem(path)
        if said is None:
            _set_aside(folder, damaged)
            for name, what in damaged:
                print(f"{folder / name}: damaged, moved to {folder / 'damaged'}: {what}")
            return str(path)
        damaged.append((path.name, said))
    if not (folder / "checkpoint").exists() and {name for name, _ in damaged} <= {"ckpt-0"}:
        return None  # at most the first one, which a kill has cut off
    said = "".join(f"; {name}: {what}" for name, what in damaged) or ": its files are not there"
    raise ValueError(
        f"{folder}: the run has been saved, and none of its checkpoints can be restored{said}; put"
        " the files back, or begin anew with --restart, which moves the old run aside"
    )


def _set_aside(folder, damaged):
    for name, _ in damaged:
        (folder / "damaged").mkdir(exist_ok=True)
        for path in folder.glob(f"{name}.*"):
            path.replace(folder / "damaged" / path.name)


def _tidy(folder):
    """Removes what a killed process left half written.

    TensorFlow's list is made to fit the files: its manager learns from it what to replace.
    """
    for path in (p for kind in ("*_temp*", "*.tempstate*", "*.tmp*") for p in folder.glob(kind)):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    updates = [path.stem[5:] for path in folder.glob("ckpt-*.index")]
    paths = [str(folder / f"ckpt-{n}") for n in sorted(map(int, filter(str.isdecimal, updates)))]
    try:
        listed = tf.train.latest_checkpoint(str(folder))
    except ValueError:  # the list is damaged
        listed = None
    if paths and listed != paths[-1]:
        tf.compat.v1.train.update_checkpoint_state(str(folder), paths[-1], paths)
    elif not paths:
        (folder / "checkpoint").unlink(missing_ok=True)


class Checkpoints:
    """Saves a trainer's variables, slots, update and the best validation error.

    The first is written before the first update, so that a run without any is a damaged one.
    Another is due every `every_updates` updates or `every_seconds` seconds, whichever comes
    first. The last state that can be restored is found when the object is made.

    Args:
      folder: where the checkpoints are, in `last`.
      writer: the device that reads and writes the files where variables are on several machines;
        None if all are on this one.
      run: the run's identity, which is saved, too.

    Raises:
      ValueError: there are checkpoints, and none can be restored.

    Attributes:
      latest: the path of the last state; None if there is none.
    """

    def __init__(
        self,
        folder: str | Path,
        every_updates: int,
        every_seconds: float,
        writer: str | None = None,
        run: Mapping[str, Any] | None = None,
    ):
        self._run = json.dumps(run or {})
        self._options = tf.train.CheckpointOptions(experimental_io_device=writer)
        self._folder = Path(folder)
        self._every_updates, self._every_seconds = every_updates, every_seconds
        self._saved_at = time.monotonic()
        self.latest = newest_whole(self._folder / "last")

    def latest_update(self) -> int:
        """Finds the update of the last state, 0 if there is none."""
        return int(self.latest.rsplit("-", 1)[1]) if self.latest else 0

    def track(self, trainer: "Trainer") -> None:
        """Sets what is saved; restores the last state, or saves the first.

        Raises:
          ValueError: the last state is not one of this trainer.
        """
        self.trainer = trainer
        infinite = tf.constant(np.inf, tf.float64)
        self.best_error = tf.Variable(infinite, trainable=False, name="best_error")
        with tf.device("CPU:0"):  # no other device has strings
            run = tf.Variable(tf.constant(self._run), trainable=False, name="run")
        state = {"trainer": trainer, "best_error": self.best_error, "run": run}
        checkpoint = tf.train.Checkpoint(**state)
        _tidy(self._folder / "last")
        self._last = tf.train.CheckpointManager(checkpoint, str(self._folder / "last"), 2)
        if not self.latest:
            return self.save()
        names = tf.train.load_checkpoint(self.latest).get_variable_to_shape_map()
        there = {name.partition("/")[0] for name in names}  # not all in those of earlier checkouts
        saved = tf.train.Checkpoint(**{n: part for n, part in state.items() if n in there})
        try:
            saved.restore(self.latest, self._options).assert_consumed()
        except (AssertionError, ValueError) as error:
            what = str(error).splitlines()[0].removesuffix(": attributes {")
            raise ValueError(f"{self.latest}: the state of another model: {what}") from None
        run.assign(self._run)  # of the program that goes on

    def due(self) -> bool:
        """Tells whether it is time for a checkpoint: enough updates or seconds have passed."""
        seconds = time.monotonic() - self._saved_at
        return (
            self.trainer.update.numpy() % self._every_updates == 0 or seconds >= self._every_seconds
        )

    def save(self) -> None:
        """Saves the state, unless it is saved already."""
        update = int(self.trainer.update)
        if not self.latest or update != self.latest_update():
            self.latest = self._last.save(update, options=self._options)
        self._saved_at = time.monotonic()
