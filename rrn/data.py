"""From a prepared HDF5 file to one input pipeline per device.

A training batch is a function of (seed, update) alone: the examples of update u are drawn for the
whole global batch, and each device takes its part. So no two devices get the same places of the
batch, the global batch does not depend on their number, and a run resumes at any update.
"""

import contextlib
import dataclasses

import numpy as np
import tensorflow as tf

from data_prep import hdf5
from rrn.random import ExampleRandom, fold_in, uniform


@dataclasses.dataclass
class PreparedData:
    """A file of `data_prep`, read into memory.

    Integers are int32, except that bytes with three or more axes (images) stay bytes.

    attributes: the file's; shared: name -> array of what all splits use; splits: split -> name ->
    array; digest: the file's.
    """

    path: str
    attributes: dict
    shared: dict
    splits: dict
    digest: str = ""

    def check_split(self, split):
        if split not in self.splits:
            raise ValueError(
                f"{self.path}: split must be one of {sorted(self.splits)}, got {split!r}"
            )

    def arrays(self, split):
        """The split's tensors and the shared ones, by name; on the CPU."""
        self.check_split(split)
        with tf.device("CPU:0"):
            return {
                name: tf.constant(array)
                for name, array in {**self.shared, **self.splits[split]}.items()
                if array.dtype != object  # words stay in Python
            }

    def constant(self, name, compute):
        """What a model takes from its training data: `compute(training split)`, or, where this is
        what a weights file holds of the data, the constant of that name.
        """
        if "train" in self.splits and name not in self.shared:
            return compute(self.splits["train"])
        return self.shared[name]

    def read_compatible(self, path):
        """Reads the prepared file `path` for a model made on this one: this one itself where
        `path` is empty.

        Raises:
          ValueError: another schema or version of schema, or other words: their ids would differ.
        """
        other = read_prepared(path) if path else self
        self.check_compatible(other)
        return other

    def check_compatible(self, other):
        """Raises ValueError, see `read_compatible`."""
        path = other.path
        for field in "schema", "version":
            mine, theirs = (data.attributes.get(field) for data in (self, other))
            if mine != theirs:
                raise ValueError(f"{path}: {field} is {theirs!r}, that of {self.path} {mine!r}")
        for name, words in self.shared.items():
            if words.dtype == object and not np.array_equal(words, other.shared[name]):
                one_sided = sorted(set(words) ^ set(other.shared[name]))
                raise ValueError(
                    f"{path}: its {name} is not that of {self.path}: "
                    + (f"only one has {', '.join(one_sided[:5])}" if one_sided else "another order")
                )
        wanted = {n: array.shape[1:] for part in self.splits.values() for n, array in part.items()}
        for split, arrays in other.splits.items():
            found = {name: array.shape[1:] for name, array in arrays.items()}
            for name, shape in wanted.items():
                if found.get(name) != shape:
                    raise ValueError(
                        f"{path}: {split}/{name}: {found.get(name, 'absent')} of an example; in "
                        f"{self.path} it is {shape}"
                    )


def read_prepared(path):
    """Reads a file that `python -m data_prep` made.

    Raises:
      ValueError: there is no such file, or its digest says that it is damaged.
    """
    attributes, datasets = hdf5.read(path)
    shared, splits = {}, {}
    for name, array in datasets.items():
        top, _, rest = name.partition("/")
        if array.dtype.kind in "iu" and not (array.dtype == np.uint8 and array.ndim > 2):
            array = array.astype(np.int32)
        if top in ("train", "valid", "test"):
            splits.setdefault(top, {})[rest] = array
        else:
            shared[name] = array
    return PreparedData(str(path), attributes, shared, splits, hdf5.verify(path))


def device_slice(batch_size, num_devices, device):
    """The places [first, last) of the global batch that belong to the `device`-th device."""
    return batch_size * device // num_devices, batch_size * (device + 1) // num_devices


def _make_batch(task, arrays, examples, random, training):
    """The task's batch of `examples`, sorted by size; `random.rows` are their keys."""
    order = tf.argsort(task.sizes(arrays, examples), stable=True)
    examples, rows = tf.gather(examples, order), tf.gather(random.rows, order)
    random = ExampleRandom(random.seed, rows, random.batch_size)
    batch = task.make_batch(arrays, examples, random, training)
    return {**batch, "examples": examples, "rows": rows}


def draw_by_group(groups, shares, seed, batch_size):
    """Ids of examples `[batch_size]`: a group by its share, then one of its examples uniformly.

    groups: each example's group, integers `[examples]`, an array; shares: {group: share}.
    """
    numbers, counts = np.unique(groups, return_counts=True)
    order = np.argsort(groups, kind="stable").astype(np.int32)
    starts = np.cumsum(counts) - counts
    ends = np.cumsum([shares[number] for number in numbers.tolist()])
    draws = uniform(seed, [2, batch_size], dtype=tf.float64)
    group = tf.searchsorted(tf.constant(ends[:-1]), draws[0] * ends[-1], side="right")
    place = tf.cast(draws[1] * tf.gather(counts.astype(np.float64), group), tf.int32)
    return tf.gather(order, tf.gather(starts.astype(np.int32), group) + place)


def training_inputs(
    task, arrays, batch_size, num_devices, seed, first_update, stream=0, cpus=None, shares=None
):
    """One endless `tf.data.Dataset` for each device; its u-th batch is of update first_update + u.

    stream: batches of different streams are drawn independently, 0 for the usual ones and others
    for workers that update by themselves. cpus: where each data set runs, this process if None.
    shares: {group: share of the batch}, in place of the task's own way to draw examples.

    Besides the task's tensors a batch has "examples" and "rows" `[examples]` (ids in the split;
    places in the global batch) and "seed" `[2]` (the update's).
    """
    if not 0 < num_devices <= batch_size:
        raise ValueError(
            f"{num_devices} devices need a batch_size of at least as many, got {batch_size}"
        )

    groups = task.groups(arrays) if shares else None

    def draw(seed):
        if not shares:
            return task.draw_examples(arrays, seed, batch_size)
        return draw_by_group(groups, shares, seed, batch_size)

    def batch_of(update, first, last):
        update_seed = fold_in([seed, 0], update)
        if not isinstance(stream, int) or stream:
            update_seed = fold_in(update_seed, stream)
        examples = draw(fold_in(update_seed, 0))[first:last]
        random = ExampleRandom(fold_in(update_seed, 1), tf.range(first, last), batch_size)
        batch = _make_batch(task, arrays, examples, random, training=True)
        return {**batch, "seed": fold_in(update_seed, 2)}

    def pipeline(first, last):
        updates = tf.data.Dataset.counter(first_update)
        return updates.map(lambda u: batch_of(u, first, last), num_parallel_calls=1).prefetch(4)

    pipelines = []
    for d in range(num_devices):
        with tf.device(cpus[d]) if cpus else contextlib.nullcontext():
            pipelines.append(pipeline(*device_slice(batch_size, num_devices, d)))
    return pipelines


def evaluation_batch(task, arrays, examples, seed):
    """The batch of some examples (ids in the split), as `evaluation_inputs` makes it."""
    random = ExampleRandom([seed, 1], examples)
    batch = _make_batch(task, arrays, examples, random, training=False)
    return {**batch, "seed": tf.constant([seed, 2])}


def evaluation_inputs(task, arrays, examples, batch_size, num_devices, seed):
    """One `tf.data.Dataset` for each device, equally long, that go once over `examples`.

    examples: ids in the split, increasing. Draws are keyed by example, so that results do not
    depend on `batch_size`, devices or the other examples. The last batches are filled up with the
    first example.
    """
    num_examples = len(examples)
    per_device = -(-batch_size // num_devices)
    num_batches = -(-num_examples // (per_device * num_devices))

    def batch_of(index):
        places = index * per_device + tf.range(per_device, dtype=tf.int64)
        ids = tf.gather(examples, tf.where(places < num_examples, places, 0))
        return evaluation_batch(task, arrays, ids, seed)

    def pipeline(device):
        indices = tf.data.Dataset.range(device, num_batches * num_devices, num_devices)
        return indices.map(batch_of, num_parallel_calls=1).prefetch(2)

    return [pipeline(device) for device in range(num_devices)]
