"""Truncated backpropagation with persistent state: examples stay for several updates.

An update runs a few steps, a segment, from the examples' recurrent states after the update before.
Gradients flow through the segment alone. Then a solved example may be replaced by a fresh one in
its initial state; one that has had `max_segments` segments always is. So an update costs the same
time and memory however long its examples have stayed, and unsolved examples get most of the steps.

The fresh example of a row is the one that the input pipeline draws for (seed, update, row).
"""

from collections.abc import Mapping, Sequence
from typing import Any

import tensorflow as tf

from rrn.tasks.task import Batch, Pair, Task
from rrn.variables.random import ExampleRandom, fold_in
from rrn.variables.sharded import ShardedVariable, known_size

KEYS = "seed", "rows"  # tensors of a batch that belong to its update, not to an example
LEAVING = 1_000  # folded into a batch's seed to draw which solved examples are replaced


class CarriedBatch(tf.Module):
    """The examples of every row of the global batch, each device's on it.

    The variables have one row for each example: the batch's tensors and the state, as the last
    segment left them, and "segments", how many an example has had. A row with 0 is empty, as all
    are at first.

    Raises:
      ValueError: the task carries no state, or not every tensor of a batch has a row of known shape
        for each example.
    """

    def __init__(
        self,
        task: Task,
        batch_size: int,
        devices: Sequence[str],
        batch_specs: Sequence[Mapping[str, Any]],
    ):
        super().__init__(name="pool")
        self.task, self.batch_size, self._devices = task, batch_size, devices
        state = task.initial_state(1)
        if state is None:
            raise ValueError("segments: this task's network carries no state")
        sizes = [spec["rows"].shape[0] for spec in batch_specs]
        examples = {name: spec for name, spec in batch_specs[0].items() if name not in KEYS}
        for name, spec in examples.items():
            shape = getattr(spec, "shape", None)
            if not (shape is not None and shape.is_fully_defined() and shape[0] == sizes[0]):
                raise ValueError(
                    "segments needs batches with a row of known shape for each of the "
                    f"{sizes[0]} examples; {name} is {spec}"
                )
        self._examples = {name: self._rows(name, spec, sizes) for name, spec in examples.items()}
        self._state = tf.nest.map_structure(lambda part: self._rows("state", part, sizes), state)
        self._segments = self._rows("segments", tf.TensorSpec([1], tf.int32), sizes)

    def _rows(self, name, like, sizes):
        parts = []
        for device, size in zip(self._devices, sizes, strict=True):
            with tf.device(device):
                # TensorFlow keeps int32 variables in host memory.
                dtype = tf.int64 if like.dtype == tf.int32 else like.dtype
                zeros = tf.zeros([size, *like.shape[1:]], dtype)
                parts.append(tf.Variable(zeros, trainable=False, name=f"pool/{name}"))
        # One whole tensor in a checkpoint, from which any number of devices can resume.
        return parts[0] if len(parts) == 1 else ShardedVariable(parts, f"pool/{name}")

    def take(self, device: int, batch: Batch) -> tuple[Batch, Any]:
        """Takes the examples that stayed, and fills the empty rows with those of a fresh batch.

        Returns:
          (the examples, their states).
        """
        stayed = _part(self._segments, device) > 0
        fresh = {name: batch[name] for name in self._examples}
        examples = {
            name: tf.cast(_part(rows, device), fresh[name].dtype)
            for name, rows in self._examples.items()
        }
        initial = self.task.initial_state(known_size(stayed, 0))
        state = tf.nest.map_structure(
            lambda rows, fresh: tf.cast(_part(rows, device), fresh.dtype), self._state, initial
        )
        chosen = {**batch, **_where(stayed, examples, fresh)}
        return chosen, _where(stayed, state, initial)

    def segments(self, device: int) -> tf.Tensor:
        """Reads how many segments a device's examples have had, `[rows]`."""
        return _part(self._segments, device).read_value()

    def leave(
        self,
        segments: tf.Tensor,
        batch: Batch,
        solved: tf.Tensor,
        max_segments: int,
        leave_probability: float,
    ) -> tuple[tf.Tensor, dict[str, Pair]]:
        """Decides which examples are replaced after a segment.

        Args:
          segments: how many they had before it, `[rows]`.
          solved: booleans `[rows]`.
          max_segments, leave_probability: see `rrn.config.Segments`.

        Returns:
          (how many segments they have had, 0 of those that are replaced; the latter's metrics
          "solved" and "segments_to_solve").
        """
        random = ExampleRandom(fold_in(batch["seed"], LEAVING), batch["rows"], self.batch_size)
        segments += 1
        solved_leave = solved & (random.uniform([]) < leave_probability)
        leave = solved_leave | (segments >= max_segments)
        left, left_solved = (tf.cast(x, tf.float32) for x in (leave, leave & solved))
        count = tf.reduce_sum(left_solved)
        to_solve = tf.reduce_sum(left_solved * tf.cast(segments, tf.float32))
        metrics = {"solved": (count, tf.reduce_sum(left)), "segments_to_solve": (to_solve, count)}
        return tf.where(leave, tf.zeros_like(segments), segments), metrics

    def put(self, device: int, batch: Batch, state: Any, segments: tf.Tensor) -> None:
        """Keeps the examples, with their states and the numbers that `leave` returned."""
        kept = [*self._examples.values(), *tf.nest.flatten(self._state), self._segments]
        values = [*(batch[name] for name in self._examples), *tf.nest.flatten(state), segments]
        for rows, value in zip(kept, values, strict=True):
            part = _part(rows, device)
            part.assign(tf.cast(value, part.dtype))


def _part(variable, device):
    return variable.variables[device] if isinstance(variable, ShardedVariable) else variable


def _where(condition, chosen, others):
    """`tf.where` by rows, for nests of tensors."""

    def where(a, b):
        rows = tf.reshape(condition, [-1] + [1] * (b.shape.rank - 1))
        return tf.where(rows, a, b)

    return tf.nest.map_structure(where, chosen, others)
