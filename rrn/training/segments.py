"""Training in carried segments: examples stay for several updates, with their recurrent states.

An update runs a few steps, a segment, from the states that the examples had after the update
before. Gradients flow through the segment alone. Then an example that is solved may leave, and one
that has had `max_segments` segments has to leave. A fresh example takes its place, in its initial
state. So an update costs the same time and memory however long its examples have stayed, networks
learn from states that many steps have made, and the examples that are not solved yet get most of
the steps.

The fresh example of a place is the one that the input pipeline draws for (seed, update, place).
"""

from collections.abc import Mapping, Sequence
from typing import Any

import tensorflow as tf

from rrn.random import ExampleRandom, fold_in
from rrn.sharded import ShardedVariable
from rrn.tasks.task import Batch, Pair, Task

KEYS = "seed", "rows"  # tensors of a batch that belong to its update, not to an example
LEAVING = 1_000  # folded into a batch's seed to draw which solved examples leave


class Pool(tf.Module):
    """The examples of every place of the global batch, on the devices of their places.

    The variables are one row for each place: the batch's tensors and the state, as the last segment
    left them, and "segments", how many an example has had. A place with 0 segments is empty, and a
    new pool has empty places alone.

    Args:
      task: the task.
      batch_size: the number of places, of all devices together.
      devices: the devices' names.
      batch_specs: each device's batches' `tf.TypeSpec`s.

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
            raise ValueError("max_segments above 1: this task's network carries no state")
        sizes = [spec["rows"].shape[0] for spec in batch_specs]
        examples = {name: spec for name, spec in batch_specs[0].items() if name not in KEYS}
        for name, spec in examples.items():
            shape = getattr(spec, "shape", tf.TensorShape(None))
            if not (shape.is_fully_defined() and shape[0] == sizes[0]):
                raise ValueError(
                    "max_segments above 1 needs batches with a row of known shape for each of the "
                    f"{sizes[0]} examples; {name} is {spec}"
                )
        self._examples = {name: self._rows(name, spec, sizes) for name, spec in examples.items()}
        self._state = tf.nest.map_structure(lambda part: self._rows("state", part, sizes), state)
        self._segments = self._rows("segments", tf.TensorSpec([1], tf.int32), sizes)

    def _rows(self, name, like, sizes):
        """A variable of zeros with a row for each place, on the places' devices."""
        parts = []
        for device, size in zip(self._devices, sizes, strict=True):
            with tf.device(device):
                zeros = tf.zeros([size, *like.shape[1:]], like.dtype)
                parts.append(tf.Variable(zeros, trainable=False, name=f"pool/{name}"))
        # One whole tensor in a checkpoint, so that any number of devices may go on from it.
        return parts[0] if len(parts) == 1 else ShardedVariable(parts, f"pool/{name}")

    def take(self, device: int, batch: Batch) -> tuple[Batch, Any]:
        """Takes the examples that stayed, and fills the empty places with fresh ones.

        Args:
          device: the device's number.
          batch: the fresh examples of the device's places.

        Returns:
          (the examples of the places, their state), which of fresh ones is the initial state.
        """
        stayed = _part(self._segments, device) > 0
        examples = {name: _part(rows, device) for name, rows in self._examples.items()}
        fresh = {name: batch[name] for name in examples}
        initial = self.task.initial_state(stayed.shape[0])
        state = tf.nest.map_structure(lambda rows: _part(rows, device), self._state)
        chosen = {**batch, **_where(stayed, examples, fresh)}
        return chosen, _where(stayed, state, initial)

    def put(
        self,
        device: int,
        batch: Batch,
        state: Any,
        solved: tf.Tensor,
        max_segments: int,
        leave_probability: float,
    ) -> dict[str, Pair]:
        """Keeps the examples that stay, with their state after a segment.

        Args:
          device: the device's number.
          batch: the examples that had the segment.
          state: their state after it.
          solved: whether each is solved, booleans `[places]`.
          max_segments: how many segments an example may have.
          leave_probability: with which a solved one leaves before that.

        Returns:
          Metrics, name -> (sum, count), of the examples that leave: "solved", the share of them
          that is, and "segments_to_solve".
        """
        random = ExampleRandom(fold_in(batch["seed"], LEAVING), batch["rows"], self.batch_size)
        segments_variable = _part(self._segments, device)
        stayed = segments_variable > 0
        segments = tf.where(stayed, segments_variable, 0) + 1
        solved_leave = solved & (random.uniform([]) < leave_probability)
        leave = solved_leave | (segments >= max_segments)
        for name, rows in self._examples.items():
            _part(rows, device).assign(batch[name])
        for rows, value in zip(tf.nest.flatten(self._state), tf.nest.flatten(state), strict=True):
            _part(rows, device).assign(value)
        segments_variable.assign(tf.where(leave, 0, segments))
        left, left_solved = (tf.cast(x, tf.float32) for x in (leave, leave & solved))
        count = tf.reduce_sum(left_solved)
        return {
            "solved": (count, tf.reduce_sum(left)),
            "segments_to_solve": (
                tf.reduce_sum(left_solved * tf.cast(segments, tf.float32)),
                count,
            ),
        }


def _part(variable, device):
    return variable.variables[device] if isinstance(variable, ShardedVariable) else variable


def _where(condition, chosen, others):
    """`tf.where` by rows, for nests of tensors."""

    def where(a, b):
        rows = tf.reshape(condition, [-1] + [1] * (b.shape.rank - 1))
        return tf.where(rows, a, b)

    return tf.nest.map_structure(where, chosen, others)
