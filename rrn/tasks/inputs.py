"""From a split's arrays to one input pipeline for each device.

A training batch is a function of (seed, update) alone: the examples of update u are drawn for the
whole global batch, and each device takes its part. So no two devices get the same places of the
batch, the global batch does not depend on their number, and a run resumes at any update.
"""

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from rrn.hardware import count_cores
from rrn.tasks.task import Arrays, Batch, Task
from rrn.variables.random import ExampleRandom, fold_in, uniform


def device_slice(batch_size: int, num_devices: int, device: int) -> tuple[int, int]:
    """Finds a device's places of the global batch.

    Returns:
      (its first place, the first place after its last).
    """
    return batch_size * device // num_devices, batch_size * (device + 1) // num_devices


def average_pixel(train: Mapping[str, np.ndarray]) -> np.float32:
    """Computes the average of all pixels of a training split's "image", 1 for white."""
    return np.float32(train["image"].mean(dtype=np.float64) / 255.0)


def _make_batch(task, arrays, examples, random, training, **options):
    """The task's batch of `examples`, sorted by size; `random.rows` are their keys."""
    order = tf.argsort(task.sizes(arrays, examples), stable=True)
    examples, rows = tf.gather(examples, order), tf.gather(random.rows, order)
    random = ExampleRandom(random.seed, rows, random.batch_size)
    batch = task.make_batch(arrays, examples, random, training, **options)
    return {**batch, "examples": examples, "rows": rows}


class Groups:
    """The examples of each group, sorted once.

    Args:
      groups: each example's group, integers `[examples]`.

    Attributes:
      numbers: the groups' numbers, increasing.
    """

    def __init__(self, groups: np.ndarray):
        numbers, counts = np.unique(groups, return_counts=True)
        self.numbers = numbers.tolist()
        self._counts = tf.constant(counts, tf.float64)
        self._starts = tf.constant(np.cumsum(counts) - counts, tf.int32)
        self._order = tf.constant(np.argsort(groups, kind="stable"), tf.int32)

    def draw(self, shares: Mapping[int, float], seed: tf.Tensor, batch_size: int) -> tf.Tensor:
        """Draws examples: a group by its share, then one of its examples uniformly.

        Args:
          seed: integers `[2]`; the draws depend on nothing else.

        Returns:
          Ids of examples `[batch_size]`, int32.
        """
        ends = np.cumsum([shares[number] for number in self.numbers])
        draws = uniform(seed, [2, batch_size], dtype=tf.float64)
        group = tf.searchsorted(tf.constant(ends[:-1]), draws[0] * ends[-1], side="right")
        place = tf.cast(draws[1] * tf.gather(self._counts, group), tf.int32)
        return tf.gather(self._order, tf.gather(self._starts, group) + place)


def training_inputs(
    task: Task,
    arrays: Arrays,
    batch_size: int,
    num_devices: int,
    seed: int,
    first_update: int | tf.Tensor,
    stream: int | tf.Tensor = 0,
    cpus: Sequence[str] | None = None,
    groups: Groups | None = None,
    shares: Mapping[int, float] | None = None,
    options: Mapping[str, Any] | None = None,
) -> list[tf.data.Dataset]:
    """Makes the input pipelines of a training.

    Besides the task's tensors a batch has "examples" and "rows" `[examples]` (ids in the split;
    places in the global batch) and "seed" `[2]` (the update's).

    Args:
      first_update: the update of the first batch.
      stream: batches of different streams are drawn independently, 0 for the usual ones and others
        for workers that update by themselves.
      cpus: where each data set runs; None for this process.
      groups, shares: the split's groups, and each one's share of the batch; None for the task's
        own way to draw examples.
      options: further arguments of the task's `make_batch`.

    Returns:
      An endless data set for each device; its u-th batch is of update first_update + u.

    Raises:
      ValueError: there are more devices than examples in a batch.
    """
    if not 0 < num_devices <= batch_size:
        raise ValueError(
            f"{num_devices} devices need a batch_size of at least as many, got {batch_size}"
        )

    def draw(seed):
        if groups and shares:
            return groups.draw(shares, seed, batch_size)
        return task.draw_examples(arrays, seed, batch_size)

    @tf.autograph.experimental.do_not_convert  # it would cost a second, and change what errors say
    def batch_of(update, first, last):
        update_seed = fold_in([seed, 0], update)
        if not isinstance(stream, int) or stream:
            update_seed = fold_in(update_seed, stream)
        examples = draw(fold_in(update_seed, 0))[first:last]
        random = ExampleRandom(fold_in(update_seed, 1), tf.range(first, last), batch_size)
        batch = _make_batch(task, arrays, examples, random, training=True, **options or {})
        return {**batch, "seed": fold_in(update_seed, 2)}

    def pipeline(first, last):
        updates = tf.data.Dataset.counter(first_update)
        calls = _parallel_calls(num_devices)
        batches = updates.map(lambda u: batch_of(u, first, last), num_parallel_calls=calls)
        return batches.prefetch(4).with_options(_without_tuning())

    pipelines = []
    for d in range(num_devices):
        with tf.device(cpus[d]) if cpus else contextlib.nullcontext():
            pipelines.append(pipeline(*device_slice(batch_size, num_devices, d)))
    return pipelines


def _parallel_calls(num_devices):
    """How many batches of a device are made at a time: half of the cores make batches."""
    return max(1, count_cores() // 2 // num_devices)


def _without_tuning():
    """The options of data sets whose numbers of threads and batches ahead are given.

    TensorFlow would tune them in a thread that sleeps for up to a minute, and the end of an
    iterator waits for that thread.
    """
    options = tf.data.Options()
    options.autotune.enabled = False
    return options


def evaluation_batch(
    task: Task, arrays: Arrays, examples: np.ndarray | tf.Tensor, seed: int
) -> Batch:
    """Makes a batch as `evaluation_inputs` makes it."""
    random = ExampleRandom([seed, 1], examples)
    batch = _make_batch(task, arrays, examples, random, training=False)
    return {**batch, "seed": tf.constant([seed, 2])}


def evaluation_inputs(
    task: Task,
    arrays: Arrays,
    examples: np.ndarray,
    batch_size: int,
    num_devices: int,
    seed: int,
) -> list[tf.data.Dataset]:
    """Makes the input pipelines of an evaluation.

    Draws are keyed by example, so that results do not depend on `batch_size`, devices or the other
    examples. The last batches are filled up with the first example.

    Args:
      examples: ids in the split, increasing.
      batch_size: the number of examples of a batch, of all devices together.

    Returns:
      A data set for each device, equally long, that go once over `examples`.
    """
    num_examples = len(examples)
    per_device = -(-batch_size // num_devices)
    num_batches = -(-num_examples // (per_device * num_devices))

    @tf.autograph.experimental.do_not_convert
    def batch_of(index):
        places = index * per_device + tf.range(per_device, dtype=tf.int64)
        ids = tf.gather(examples, tf.where(places < num_examples, places, 0))
        return evaluation_batch(task, arrays, ids, seed)

    def pipeline(device):
        indices = tf.data.Dataset.range(device, num_batches * num_devices, num_devices)
        batches = indices.map(batch_of, num_parallel_calls=_parallel_calls(num_devices))
        return batches.prefetch(2).with_options(_without_tuning())

    return [pipeline(device) for device in range(num_devices)]
