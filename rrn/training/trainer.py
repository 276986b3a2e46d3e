"""The traced updates of a training state: one of them, or several in one call."""

import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import tensorflow as tf

from rrn.config import Train
from rrn.distribute.devices import CPU
from rrn.tasks.task import Batch, Pair, Task
from rrn.training.state import Specs, TrainingState
from rrn.training.step import update


class Trainer(TrainingState):
    """Makes updates of a `TrainingState`; `rrn.training.step` says what an update is.

    Raises:
      ValueError: a plan that does not fit the task, or a loss that depends on no variable of one of
        its modules.
    """

    def __init__(
        self,
        task: Task,
        config: Train,
        devices: Sequence[str],
        batch_specs: Specs | Mapping[str, Specs],
        *others: Any,
        **named: Any,
    ):
        super().__init__(task, config, devices, batch_specs, *others, **named)
        # Traced now, when all variables exist; without AutoGraph, which would change what errors
        # say.
        self._functions = {
            stage.name: tf.function(
                functools.partial(update, self, stage),
                input_signature=[tuple(self.batch_specs[stage.name])],
                autograph=False,
            )
            for stage in self.plan.stages
        }
        self.traced = {n: f.get_concrete_function() for n, f in self._functions.items()}

    def update_once(self, batches: Sequence[Batch]) -> tuple[dict[str, Pair], tf.Tensor]:
        """Makes one update; see `rrn.training.step.update`."""
        stage = self.plan.stage(int(self.update))
        return self._functions[stage.name](tuple(batches))

    def train(
        self, iterators: Sequence[Iterator[Batch]], num_updates: tf.Tensor
    ) -> tuple[dict[str, tf.Tensor], tf.Tensor]:
        """Makes several updates, all of one stage, in one traced call.

        Args:
          num_updates: how many updates, an integer scalar.

        Returns:
          (name -> mean over the updates, NaN of what did not occur; the number of the first update
          whose loss or gradient was not finite, -1 if none).
        """
        return self._train(self.plan.stage(int(self.update)).name, iterators, num_updates)

    @tf.function
    def _train(self, stage, iterators, num_updates):
        with tf.device(CPU):
            specs, _ = self.traced[stage].structured_outputs
            totals = tf.nest.map_structure(lambda spec: tf.zeros(spec.shape, spec.dtype), specs)
            bad_update = tf.constant(-1, tf.int64)
            for _ in tf.range(num_updates):
                update = self.update.read_value()
                metrics, finite = self._functions[stage](tuple(next(i) for i in iterators))
                totals = tf.nest.map_structure(tf.add, totals, metrics)
                bad_update = tf.where(finite | (bad_update >= 0), bad_update, update)
            means = {name: s / n for name, (s, n) in totals.items()}
            return means, bad_update
