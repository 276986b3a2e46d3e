"""From a split's arrays to one input pipeline for each device.

A training batch is a function of (seed, update) alone: the examples of update u are drawn for the
whole global batch, and each device takes its part. So no two devices get the same rows of the
batch, the global batch does not depend on their number, and a run resumes at any update.
"""

import contextlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from rrn.hardware import count_cores
from rrn.tasks.task import Arrays, Batch, Task
from rrn.variables.random import ExampleRandom, Seed, fold_in, uniform


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

    def draw(self, shares: Sequence[float] | tf.Tensor, seed: Seed, batch_size: int) -> tf.Tensor:
        """Draws a group by its share, then one of its examples uniformly: ids `[batch_size]`.

        Args:
          shares: those of the groups, `[groups]`.
        """
        ends = tf.cumsum(tf.convert_to_tensor(shares, tf.float64))
        draws = uniform(seed, [2, batch_size], dtype=tf.float64)
        group = tf.searchsorted(ends[:-1], draws[0] * ends[-1], side="right")
        index = tf.cast(draws[1] * tf.gather(self._counts, group), tf.int32)
        return tf.gather(self._order, tf.gather(self._starts, group) + index)


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
    shares: Sequence[float] | tf.Tensor | None = None,
    options: Mapping[str, Any] | None = None,
) -> list[tf.data.Dataset]:
    """Makes the input pipelines of a training.

    Besides the task's tensors a batch has "examples" and "rows" `[examples]` (ids in the split;
    rows of the global batch) and "seed" `[2]` (the update's).

    Args:
      stream: batches of different streams are drawn independently, 0 for the usual ones and others
        for workers that update by themselves.
      cpus: where each data set runs; None for this process.
      groups, shares: the split's groups, and each one's share of the batch `[groups]`; None for the
        task's own way to draw examples.
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

    def batch_of(update, first, last):
        update_seed = fold_in([seed, 0], update)
        if not isinstance(stream, int) or stream:
            update_seed = fold_in(update_seed, stream)
        own_seed = fold_in(update_seed, 0)
        if groups and shares is not None:
            examples = groups.draw(shares, own_seed, batch_size)
        else:
            examples = task.draw_examples(arrays, own_seed, batch_size)
        random = ExampleRandom(fold_in(update_seed, 1), tf.range(first, last), batch_size)
        batch = _make_batch(task, arrays, examples[first:last], random, True, **options or {})
        return {**batch, "seed": fold_in(update_seed, 2)}

    pipelines = []
    for d in range(num_devices):
        first, last = (batch_size * end // num_devices for end in (d, d + 1))
        with tf.device(cpus[d]) if cpus else contextlib.nullcontext():
            updates = tf.data.Dataset.counter(first_update)
            pipelines.append(_batches(updates, batch_of, num_devices, 4, first, last))
    return pipelines


def _batches(
    numbers: tf.data.Dataset, make: Callable[..., Batch], num_devices: int, ahead: int, *args: int
) -> tf.data.Dataset:
    """The batch make(number, *args) of each number; half of the cores make batches."""

    @tf.autograph.experimental.do_not_convert  # it would cost a second, and change what errors say
    def make_batch(number):
        return make(number, *args)

    calls = max(1, count_cores() // 2 // num_devices)
    # TensorFlow would tune threads in a thread that sleeps for up to a minute, and the end of an
    # iterator waits for that thread.
    options = tf.data.Options()
    options.autotune.enabled = False
    return numbers.map(make_batch, num_parallel_calls=calls).prefetch(ahead).with_options(options)


def evaluation_batch(
    task: Task, arrays: Arrays, examples: np.ndarray | tf.Tensor, seed: int
) -> Batch:
    """Makes a batch as `evaluation_inputs` makes it."""
    batch = _make_batch(task, arrays, examples, ExampleRandom([seed, 1], examples), False)
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

    def batch_of(index):
        positions = index * per_device + tf.range(per_device, dtype=tf.int64)
        ids = tf.gather(examples, tf.where(positions < num_examples, positions, 0))
        return evaluation_batch(task, arrays, ids, seed)

    def pipeline(device):
        indices = tf.data.Dataset.range(device, num_batches * num_devices, num_devices)
        return _batches(indices, batch_of, num_devices, 2)

    return [pipeline(device) for device in range(num_devices)]
