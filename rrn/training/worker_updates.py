"""How workers or devices make updates: together, each by itself, or the first ones together."""

import abc
import contextlib
import functools
import operator
import queue
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import tensorflow as tf

from rrn.distribute.devices import CPU
from rrn.distribute.towers import TowerResult
from rrn.tasks.inputs import training_inputs
from rrn.tasks.task import Arrays
from rrn.training.step import Trainer, apply, average, run_tower


def count_up(variable: tf.Variable) -> tf.Tensor:
    """Adds 1 to an integer scalar, in one step for all workers; returns what it was before."""
    return tf.raw_ops.ResourceCountUpTo(
        resource=variable.handle, limit=variable.dtype.max, T=variable.dtype
    )


def _copied(gradient):
    return None if gradient is None else tf.identity(gradient)


class UpdateMaker(abc.ABC):
    """What makes a trainer's updates."""

    updates = ""  # the flag that asks for updates which are not synchronous

    def __init__(self, trainer: Trainer):
        if trainer.carried and self.updates:
            raise ValueError(f"segments and {self.updates}: they need synchronous updates")
        self.trainer, self._stage, self._iterators = trainer, None, []

    @property
    def batch_size(self) -> float:
        """The number of examples of an update."""
        return self.trainer.config.batch_size

    def use(self, inputs: Sequence[tf.data.Dataset], settings: Mapping[str, Any]) -> None:
        """Takes each device's data set, made with `settings`, from the trainer's update on."""
        self._iterators = [iter(dataset) for dataset in inputs]

    @abc.abstractmethod
    def train(self, num_updates: int) -> tuple[dict[str, Any], Any]:
        """Makes updates, all of one stage; returns what `Trainer.train` does, and more means."""

    def _begins_stage(self):
        """Whether the trainer's stage is another one than at the last updates."""
        self.trainer.begin_stage()
        before, self._stage = self._stage, self.trainer.stage
        return self._stage is not before

    def _on_each_tower(self, function):
        """The traced function of each tower's number."""
        numbers = range(len(self.trainer.towers))
        return [tf.function(functools.partial(function, n), autograph=False) for n in numbers]


class Means:
    """Adds up what updates report."""

    def __init__(self):
        self._totals, self._bad_update = {}, -1

    def add(
        self, update: int | tf.Tensor, metrics: Mapping[str, Any], finite: bool | tf.Tensor
    ) -> None:
        """Takes the report of an update, with metrics name -> (sum, count)."""
        for name, pair in metrics.items():
            total = self._totals.get(name, (0, 0))
            self._totals[name] = tuple(t + np.asarray(p) for t, p in zip(total, pair, strict=True))
        if not finite and self._bad_update < 0:
            self._bad_update = int(update)

    def result(self, **others: Any) -> tuple[dict[str, Any], np.int64]:
        """Computes what `Trainer.train` returns, with other means besides."""
        with np.errstate(invalid="ignore"):
            means = {n: np.divide(*pair) for n, pair in self._totals.items()}
        return {**means, **others}, np.int64(self._bad_update)


class SynchronousUpdates(UpdateMaker):
    """All devices together make every update, each waiting for the others."""

    def train(self, num_updates: int) -> tuple[dict[str, Any], Any]:
        return self.trainer.train(self._iterators, tf.constant(num_updates))


class AsynchronousUpdates(UpdateMaker):
    """Every device of this process, or worker of a cluster, makes updates by itself.

    It reads the variables, takes gradients of a batch of its own, and changes the variables.

    A batch has all of `batch_size` examples and is drawn by (seed, worker, its count of batches
    from the update at which it began). An update's number is the count of changes before its own;
    its staleness is how many of them came between its reading and its writing.

    Args:
      trainer: in a cluster it has one tower, by its device's name within a worker's process.
      strategy: what `rrn.distribute.connect` returned; None for this process's devices, each of
        which then has a thread.
    """

    updates = "--nosync"

    def __init__(
        self,
        trainer: Trainer,
        arrays: Arrays,
        seed: int,
        num_workers: int | None = None,
        strategy: tf.distribute.ParameterServerStrategy | None = None,
    ):
        super().__init__(trainer)
        self.num_workers = num_workers or len(trainer.towers)
        self._arrays, self._seed, self._coordinator = arrays, seed, None
        if strategy:
            self._coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)

    def _inputs(self, worker, first_update, settings):
        task, size = self.trainer.task, self.trainer.config.batch_size
        args = task, self._arrays, size, 1, self._seed, first_update, 1 + worker
        return training_inputs(*args, **settings)[0]

    def _update(self, number, iterator):
        """One update on a tower: its metrics, whether all is finite, its number and staleness."""
        trainer, stage = self.trainer, self.trainer.stage
        read_at = trainer.update.read_value()
        with tf.control_dependencies([read_at]):
            batch = next(iterator)
            towers = [run_tower(trainer, stage, number, batch)]
            with tf.device(CPU):
                losses, gradients, metrics = average(stage, towers, [tf.size(batch["rows"])])
        with tf.control_dependencies([g for g in tf.nest.flatten(gradients) if g is not None]):
            update = count_up(trainer.update)
        with tf.device(CPU):
            scalars, finite = apply(trainer, losses, gradients, update)
        return {**scalars, **metrics}, finite, update, update - read_at

    def use(self, inputs: Sequence[tf.data.Dataset], settings: Mapping[str, Any]) -> None:
        """Makes each worker's data set, with these settings."""
        first = int(self.trainer.update)
        if self._coordinator is None:
            numbers = range(self.num_workers)
            self._iterators = [iter(self._inputs(n, first, settings)) for n in numbers]
            return

        @tf.autograph.experimental.do_not_convert
        def own_inputs():
            worker = tf.distribute.coordinator.experimental_get_current_worker_index()
            return self._inputs(worker, self.trainer.update.read_value(), settings)

        self._iterators = [iter(self._coordinator.create_per_worker_dataset(own_inputs))]

    def train(self, num_updates: int) -> tuple[dict[str, Any], Any]:
        """Makes updates; the means also have "staleness".

        Of `staleness_counts` the last one counts all that are larger, too.
        """
        if self._begins_stage():
            self._functions = self._on_each_tower(self._update)
        last = int(self.trainer.update) + num_updates
        if self._coordinator:
            results = self._by_workers(self._coordinator, num_updates)
        else:
            results = self._by_threads(num_updates)
        # An update whose worker failed before it could report was made again by another worker.
        self.trainer.update.assign(last)
        means, staleness = Means(), []
        for metrics, finite, update, stale in sorted(results, key=lambda result: int(result[2])):
            means.add(update, metrics, finite)
            staleness.append(int(stale))
        staleness, most = np.array(staleness, int), 2 * self.num_workers
        return means.result(
            staleness=staleness.sum() / max(1, staleness.size),
            staleness_max=staleness.max(initial=0),
            staleness_counts=np.bincount(np.minimum(staleness, most), minlength=most + 1),
        )

    def _by_threads(self, num_updates):
        updates_left = iter(range(num_updates))  # each is taken once, as threads take turns

        def work(function, iterator):
            return [function(iterator) for _ in updates_left]

        with ThreadPoolExecutor(self.num_workers) as threads:
            made = threads.map(work, self._functions, self._iterators)
            return [result for some in made for result in some]

    def _by_workers(self, coordinator, num_updates):
        (function,) = self._functions
        args = tuple(self._iterators)
        scheduled = [coordinator.schedule(function, args=args) for _ in range(num_updates)]
        coordinator.join()
        results = []
        for result in scheduled:
            with contextlib.suppress(tf.errors.OpError):  # the report went with its worker
                results.append(result.fetch())
        return results


class FirstGradients(UpdateMaker):
    """An update takes the first `num_gradients` gradients that workers compute for it.

    Later ones are of variables that have changed since: they are dropped and counted. A worker that
    fails is left out as long as `num_gradients` others remain. With one gradient of each worker an
    update is `Trainer.train`'s. With more than that, the first workers take a further batch for
    the same update, as with TensorFlow 1's SyncReplicasOptimizer.
    """

    updates = "--replicas_to_aggregate"

    def __init__(self, trainer: Trainer, num_gradients: int):
        super().__init__(trainer)
        self.num_gradients, self._alive = num_gradients, len(trainer.towers)
        self._results, self._changed = queue.Queue(), threading.Condition()
        self._due = -1, []  # the number of an update, and the towers' functions for it
        self._num_further = max(0, num_gradients - self._alive)  # batches beyond one of each worker
        self._further = 0  # of these, those to be taken for the update that is due
        for number in range(self._alive):
            threading.Thread(target=self._work, args=(number,), daemon=True).start()

    @property
    def batch_size(self) -> float:
        """The number of examples of `num_gradients` gradients."""
        return super().batch_size * self.num_gradients / len(self.trainer.towers)

    def _tower(self, number, iterator):
        batch = next(iterator)
        tower = run_tower(self.trainer, self.trainer.stage, number, batch)
        with tf.device(self.trainer.towers[number].device):
            gradients = [
                [None if g is None else tf.convert_to_tensor(g) for g in own]
                for own in tower.gradients
            ]
        return tower.losses, gradients, tower.aux, tf.size(batch["rows"])

    def _update(self, results):
        trainer, towers = self.trainer, [TowerResult(*result[:3]) for result in results]
        with tf.device(CPU):
            losses, gradients, metrics = average(trainer.stage, towers, [r[3] for r in results])
            scalars, finite = apply(trainer, losses, gradients, trainer.update)
        trainer.update.assign_add(1)
        return {**scalars, **metrics}, finite

    def _work(self, number):
        """Computes a tower's gradients for every update that is due; a thread."""
        done = -1
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._due[0] > done or self._further)  # noqa: B023
                if self._due[0] == done:
                    self._further -= 1
                done, functions = self._due
                iterator = self._iterators[number]  # that of the stage, which may end meanwhile
            try:
                result = functions[number](iterator)
                with tf.device(CPU):  # so that no update needs a worker that has failed since
                    result = tf.nest.map_structure(_copied, result)
                self._results.put((number, done, result))
            except Exception as error:
                self._results.put((number, done, error))
                return

    def train(self, num_updates: int) -> tuple[dict[str, Any], Any]:
        """Makes updates; the means also have "gradients_dropped".

        Raises:
          tf.errors.OpError: too few workers are left.
        """
        if self._begins_stage():
            self._gradients = self._on_each_tower(self._tower)
            self._apply = tf.function(self._update, autograph=False)
        means, dropped = Means(), 0
        for _ in range(num_updates):
            update = int(self.trainer.update)
            with self._changed:
                self._due, self._further = (update, self._gradients), self._num_further
                self._changed.notify_all()
            first = []
            while len(first) < self.num_gradients:
                number, computed_for, result = self._results.get()
                if isinstance(result, Exception):
                    self._leave_out(number, result)
                elif computed_for == update:
                    first.append((number, result))
                else:
                    dropped += 1
            first.sort(key=operator.itemgetter(0))
            metrics, finite = self._apply([result for _, result in first])
            means.add(update, metrics, finite)
        return means.result(gradients_dropped=np.float32(dropped))

    def _leave_out(self, number, error):
        self._alive -= 1
        if not isinstance(error, tf.errors.OpError) or self._alive < self.num_gradients:
            raise error
        device = self.trainer.towers[number].device
        print(f"{device} has failed; {self._alive} others continue", flush=True)
