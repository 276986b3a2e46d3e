"""How workers or devices make updates: each by itself, or the first ones together."""

import abc
import functools
import operator
import queue
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import tensorflow as tf

from rrn.distribute.towers import TowerResult
from rrn.tasks.inputs import training_inputs
from rrn.tasks.task import Arrays
from rrn.training.step import apply, average, run_tower
from rrn.training.trainer import Trainer


def count_up(variable: tf.Variable) -> tf.Tensor:
    """Adds 1 to an integer scalar, in one step for all workers; returns what it was before."""
    return tf.raw_ops.ResourceCountUpTo(
        resource=variable.handle, limit=variable.dtype.max, T=variable.dtype
    )


class UpdateMaker(abc.ABC):
    """What makes a trainer's updates: all devices together, or each by itself."""

    trainer: Trainer

    @property
    def batch_size(self) -> float:
        """The number of examples of an update."""
        return self.trainer.config.batch_size

    @abc.abstractmethod
    def use(self, inputs: Sequence[tf.data.Dataset], settings: Mapping[str, Any]) -> None:
        """Says what the next updates are made of.

        Args:
          inputs: each device's data set, from the trainer's update on.
          settings: what `Trainer.input_settings` returned when they were made.
        """

    @abc.abstractmethod
    def train(self, num_updates: int) -> tuple[dict[str, Any], Any]:
        """Makes updates, all of one stage; returns what `Trainer.train` does, or more means."""


class Means:
    """Adds up what updates report.

    Attributes:
      bad_update: the first update that was not finite, -1 if none.
    """

    def __init__(self):
        self._totals, self.bad_update = {}, -1

    def add(
        self, update: int | tf.Tensor, metrics: Mapping[str, Any], finite: bool | tf.Tensor
    ) -> None:
        """Takes the report of an update, with metrics name -> (sum, count)."""
        for name, pair in metrics.items():
            total = self._totals.get(name, (0, 0))
            self._totals[name] = tuple(t + np.asarray(p) for t, p in zip(total, pair, strict=True))
        if not finite and self.bad_update < 0:
            self.bad_update = int(update)

    def result(self, **others: Any) -> tuple[dict[str, Any], np.int64]:
        """Computes what `Trainer.train` returns, with other means besides."""
        with np.errstate(invalid="ignore"):
            means = {n: np.divide(*pair) for n, pair in self._totals.items()}
        return {**means, **others}, np.int64(self.bad_update)


class SynchronousUpdates(UpdateMaker):
    """All devices together make every update, each waiting for the others."""

    def __init__(self, trainer: Trainer):
        self.trainer, self._iterators = trainer, []

    def use(self, inputs: Sequence[tf.data.Dataset], settings: Mapping[str, Any]) -> None:
        self._iterators = [iter(dataset) for dataset in inputs]

    def train(self, num_updates: int) -> tuple[dict[str, Any], Any]:
        return self.trainer.train(self._iterators, tf.constant(num_updates))


def _refuse_pool(trainer, how):
    """The states that examples carry on belong to one update after the other."""
    if trainer.pool:
        raise ValueError(f"segments and {how}: carried examples need synchronous updates")


class _WithoutWaiting(UpdateMaker):
    """Each worker or device makes updates by itself; none waits for the others.

    It reads the variables, takes gradients of a batch of its own, and changes the variables.

    A batch has all of `batch_size` examples and is drawn by (seed, the worker's number, its count
    of batches from the update at which it began). An update's number is the count of changes before
    its own; its staleness is how many of them came between its reading and its writing.
    """

    def __init__(self, trainer, num_workers, arrays, seed):
        _refuse_pool(trainer, "--nosync")
        self.trainer, self.num_workers = trainer, num_workers
        self._arrays, self._seed = arrays, seed

    def _inputs(self, worker, first_update, settings):
        """The data set of the worker's own batches."""
        task, size = self.trainer.task, self.trainer.config.batch_size
        args = task, self._arrays, size, 1, self._seed, first_update, 1 + worker
        return training_inputs(*args, **settings)[0]

    def _update(self, stage, number, iterator):
        """One update, on the trainer's device with this number.

        Returns what it reports, whether all is finite, its own number, its staleness.
        """
        trainer = self.trainer
        read_at = trainer.update.read_value()
        with tf.control_dependencies([read_at]):
            batch = next(iterator)
            towers = [run_tower(trainer, stage, number, batch)]
            losses, gradients, metrics = average(stage, towers, [tf.size(batch["rows"])])
        with tf.control_dependencies([g for g in tf.nest.flatten(gradients) if g is not None]):
            update = count_up(trainer.update)
        scalars, finite = apply(trainer, stage, losses, gradients, update)
        return {**scalars, **metrics}, finite, update, update - read_at

    def _report(self, results):
        """What `Trainer.train` returns, from the updates' results; and "staleness".

        That has its largest value and how often it was 0, 1, ... (what is above counts as the
        last).
        """
        means, staleness = Means(), []
        for metrics, finite, update, stale in sorted(results, key=lambda result: int(result[2])):
            means.add(update, metrics, finite)
            staleness.append(int(stale))
        staleness, last = np.array(staleness, int), 2 * self.num_workers
        return means.result(
            staleness=staleness.sum() / max(1, staleness.size),
            staleness_max=staleness.max(initial=0),
            staleness_counts=np.bincount(np.minimum(staleness, last), minlength=last + 1),
        )


class AsynchronousTowers(_WithoutWaiting):
    """Every device of this process makes updates by itself, from a thread of its own.

    Raises:
      ValueError: the trainer's examples stay for several updates.
    """

    def __init__(self, trainer: Trainer, arrays: Arrays, seed: int):
        super().__init__(trainer, len(trainer.devices), arrays, seed)
        self._iterators = []
        self._functions = {
            stage.name: [
                tf.function(functools.partial(self._update, stage, number), autograph=False)
                for number in range(self.num_workers)
            ]
            for stage in trainer.plan.stages
        }

    def use(self, inputs: Sequence[tf.data.Dataset], settings: Mapping[str, Any]) -> None:
        first = int(self.trainer.update)
        numbers = range(self.num_workers)
        self._iterators = [iter(self._inputs(number, first, settings)) for number in numbers]

    def train(self, num_updates: int) -> tuple[dict[str, Any], Any]:
        functions = self._functions[self.trainer.plan.stage(int(self.trainer.update)).name]
        updates_left = iter(range(num_updates))  # each is taken once, as threads take turns

        def work(function, iterator):
            return [function(iterator) for _ in updates_left]

        with ThreadPoolExecutor(self.num_workers) as threads:
            made = list(threads.map(work, functions, self._iterators))
        return self._report(result for some in made for result in some)


class AsynchronousUpdates(_WithoutWaiting):
    """Every worker of a cluster makes updates by itself.

    Args:
      trainer: the trainer; it has one device, by its name within a worker's process.
      strategy: what `rrn.distribute.connect` returned.

    Raises:
      ValueError: the trainer's examples stay for several updates.
    """

    def __init__(
        self,
        trainer: Trainer,
        strategy: tf.distribute.ParameterServerStrategy,
        num_workers: int,
        arrays: Arrays,
        seed: int,
    ):
        super().__init__(trainer, num_workers, arrays, seed)
        self._iterator = None
        self._coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
        self._functions = {
            stage.name: tf.function(functools.partial(self._update, stage, 0), autograph=False)
            for stage in trainer.plan.stages
        }

    def use(self, inputs: Sequence[tf.data.Dataset], settings: Mapping[str, Any]) -> None:
        def own_inputs():
            worker = tf.distribute.coordinator.experimental_get_current_worker_index()
            return self._inputs(worker, self.trainer.update.read_value(), settings)

        self._iterator = iter(self._coordinator.create_per_worker_dataset(own_inputs))

    def train(self, num_updates: int) -> tuple[dict[str, Any], Any]:
        first = int(self.trainer.update)
        function = self._functions[self.trainer.plan.stage(first).name]
        results = [
            self._coordinator.schedule(function, args=(self._iterator,)) for _ in range(num_updates)
        ]
        self._coordinator.join()
        # An update whose worker failed before it could report was made again by another worker.
        self.trainer.update.assign(first + num_updates)
        return self._report(filter(None, map(_fetch, results)))


def _fetch(result):
    """An update's result, None if the report went with its worker; the update counts."""
    try:
        return result.fetch()
    except tf.errors.OpError:
        return None


class FirstGradients(UpdateMaker):
    """An update takes the first `num_gradients` gradients that workers have for it.

    What comes later is of variables that have changed since: it is dropped and counted. A worker
    that is late takes its next batch for the update that is due then. A worker that fails is left
    out as long as `num_gradients` others are there. With all workers' gradients an update is
    `Trainer.train`'s. With more than there are workers, those that are first take a further batch
    for the same update, as with TensorFlow 1's SyncReplicasOptimizer.

    Raises:
      ValueError: the trainer's examples stay for several updates.
    """

    def __init__(self, trainer: Trainer, num_gradients: int):
        _refuse_pool(trainer, "--replicas_to_aggregate")
        self.trainer, self.num_gradients = trainer, num_gradients
        self._iterators = []
        self._results, self._alive = queue.Queue(), len(trainer.devices)
        self._due, self._changed = (-1, None), threading.Condition()
        self._num_further = max(0, num_gradients - self._alive)  # than one of each worker
        self._further = 0  # of them, still to be taken for the update that is due
        self._gradients, self._apply = {}, {}
        for stage in trainer.plan.stages:
            self._gradients[stage.name] = [
                tf.function(functools.partial(self._tower, stage, number), autograph=False)
                for number in range(len(trainer.devices))
            ]
            self._apply[stage.name] = tf.function(
                functools.partial(self._update, stage), autograph=False
            )
        for number in range(len(trainer.devices)):
            threading.Thread(target=self._work, args=(number,), daemon=True).start()

    @property
    def batch_size(self) -> float:
        """The number of examples of `num_gradients` gradients, each of a worker's own batch."""
        return super().batch_size * self.num_gradients / len(self.trainer.devices)

    def use(self, inputs: Sequence[tf.data.Dataset], settings: Mapping[str, Any]) -> None:
        """Takes inputs; an update that a late worker is in the middle of keeps those it has."""
        self._iterators = [iter(dataset) for dataset in inputs]

    def _tower(self, stage, number, iterator):
        batch = next(iterator)
        tower = run_tower(self.trainer, stage, number, batch)
        with tf.device(self.trainer.devices[number]):
            gradients = [
                [None if g is None else tf.convert_to_tensor(g) for g in own]
                for own in tower.gradients
            ]
        return tower.losses, gradients, tower.aux, tf.size(batch["rows"])

    def _update(self, stage, results):
        trainer = self.trainer
        towers = [TowerResult(*result[:3]) for result in results]
        losses, gradients, metrics = average(stage, towers, [r[3] for r in results])
        scalars, finite = apply(trainer, stage, losses, gradients, trainer.update)
        trainer.update.assign_add(1)
        return {**scalars, **metrics}, finite

    def _work(self, number):
        """A worker's thread: gradients for every update that is due, from its own device."""
        done = -1
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._due[0] > done or self._further)  # noqa: B023
                if self._due[0] == done:
                    self._further -= 1
                done, stage = self._due
                iterator = self._iterators[number]  # that of the stage, which may end meanwhile
            try:
                gradients = self._gradients[stage][number](iterator)
                self._results.put((number, done, gradients))
            except Exception as error:
                self._results.put((number, done, error))
                return

    def train(self, num_updates: int) -> tuple[dict[str, Any], Any]:
        """Makes updates; the means also have "gradients_dropped".

        Raises:
          tf.errors.OpError: too few workers are left.
        """
        means, dropped = Means(), 0
        for _ in range(num_updates):
            update = int(self.trainer.update)
            stage = self.trainer.plan.stage(update).name
            with self._changed:
                self._due, self._further = (update, stage), self._num_further
                self._changed.notify_all()
            first = []
            while len(first) < self.num_gradients:
                worker, computed_for, result = self._results.get()
                if isinstance(result, Exception):
                    self._leave_out(worker, result)
                elif computed_for == update:
                    first.append((worker, result))
                else:
                    dropped += 1
            first.sort(key=operator.itemgetter(0))
            metrics, finite = self._apply[stage]([result for _, result in first])
            means.add(update, metrics, finite)
        return means.result(gradients_dropped=np.float32(dropped))

    def _leave_out(self, worker, error):
        self._alive -= 1
        if not isinstance(error, tf.errors.OpError) or self._alive < self.num_gradients:
            raise error
        print(f"worker {worker} has failed; {self._alive} others go on", flush=True)
