"""A profile of some updates for TensorBoard: what each device did, and when."""

from pathlib import Path
from typing import Any

import tensorflow as tf


class Profile:
    """Records so many updates of a run; as a context it ends a recording that is not complete.

    The process's first update is left out, because it is traced and compiled.

    Args:
      folder: TensorBoard's folder, in which the profile gets a folder of its own.
      num_updates: how many updates; 0 for none.
    """

    def __init__(self, folder: Path, num_updates: int):
        self._folder, self._left = folder, num_updates
        self._traced, self._first = False, None

    def begin(self, num_done: int, count: int) -> int:
        """Begins or goes on, and says how many updates are to be made at once.

        Args:
          num_done: the number of updates so far.
          count: the most that can be made.
        """
        if not self._left:
            return count
        if not self._traced:
            self._traced = True
            return 1
        if self._first is None:
            self._first = num_done + 1
            tf.profiler.experimental.start(str(self._folder))
        return min(count, self._left)

    def made(self, num_done: int, count: int) -> None:
        """Counts updates that were made, and ends the recording after the last one.

        Args:
          num_done: the number of updates so far, with these.
          count: how many there are.
        """
        if self._first is None:
            return
        self._left -= count
        if not self._left:
            tf.profiler.experimental.stop()
            what = f"profile of updates {self._first} to {num_done}"
            print(f"{what}: tensorboard --logdir {self._folder} (pip install xprof)", flush=True)
            self._first = None

    def __enter__(self) -> "Profile":
        return self

    def __exit__(self, *_: Any) -> None:
        if self._first is not None:
            tf.profiler.experimental.stop()
