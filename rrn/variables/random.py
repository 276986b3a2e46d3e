"""Random draws keyed by seed, update and example.

They are the same on any number of devices, and in a run that was stopped and resumed.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

MASK = 0xFFFFFFFF  # of an int64's lower half
SCRAMBLE = 0x3EC8F720, 0x02461E29  # the key by which TensorFlow mixes a seed's bits
Seed = tf.Tensor | Sequence[int]  # integers [2]
_stateless_uniform: Any = tf.random.stateless_uniform  # its stub knows no lists and no bits


def fold_in(seed: Seed, *data: tf.Tensor | int) -> Seed:
    """Derives a seed, integers `[2]`, from another one and integers, folded in one by one."""
    fold = tf.random.experimental.stateless_fold_in  # pyright: ignore[reportAttributeAccessIssue] (no stub)
    for value in data:
        # Named, since XLA would choose another algorithm by itself.
        seed = fold(seed, tf.cast(value, tf.int64), "philox")
    return seed


def uniform(
    seed: Seed,
    shape: tf.Tensor | Sequence[int],
    minval: float = 0,
    maxval: float | None = None,
    dtype: tf.DType = tf.float32,
) -> tf.Tensor:
    """Draws numbers that depend on the seed and the shape alone, the same on every kind of device.

    They are in [minval, maxval), or [0, 1) by default. These are the same within XLA, too.
    """
    philox = tf.random.Algorithm.PHILOX
    if dtype != tf.float32 or (minval, maxval) not in ((0, None), (0, 1)):
        return _stateless_uniform(shape, seed, minval, maxval, dtype, alg=philox)
    # TensorFlow's numbers, from the same bits: XLA's own are made of other bits of them.
    bits = _stateless_uniform(shape, seed, None, None, tf.uint32, alg=philox)
    return tf.bitcast((bits & 0x7FFFFF) | 0x3F800000, tf.float32) - 1.0


def dropout_weights(draws: tf.Tensor, keep_probability: float) -> tf.Tensor:
    """Turns draws in [0, 1) into weights 0 or 1 / keep_probability, of mean 1, of their shape."""
    return tf.cast(draws < keep_probability, tf.float32) / keep_probability


class ExampleRandom:
    """Draws for some examples of a global batch.

    Every device draws for the whole batch and takes the rows of its own examples, so that an
    example's draws do not depend on the device it is on. Without a global batch, in evaluation,
    each example has a seed of its own.

    Args:
      seed: integers `[2]`; in training the update is folded in.
      rows: integers `[examples]`, the examples' rows in the global batch, or else their ids.
      batch_size: the number of examples in the global batch, None if there is none.
    """

    def __init__(
        self,
        seed: Seed,
        rows: tf.Tensor | np.ndarray | Sequence[int],
        batch_size: int | None = None,
    ):
        self.seed, self.rows, self.batch_size = seed, rows, batch_size

    def uniform(self, shape: Sequence[int], *salt: int) -> tf.Tensor:
        """Draws numbers in [0, 1), `[examples, *shape]`; another salt gives other numbers."""
        seed = fold_in(self.seed, *salt)
        if self.batch_size is not None:
            return tf.gather(uniform(seed, [self.batch_size, *shape]), self.rows)
        return _uniform_of_each(seed, tf.cast(self.rows, tf.int64), shape)


def _uniform_of_each(seed, rows, shape):
    """`uniform(fold_in(seed, row), shape)` of every row at once, `[rows, *shape]`."""
    size = math.prod(shape)
    words = tf.stack([tf.broadcast_to(fold_in(seed, 0)[0], tf.shape(rows)), rows])  # [2, rows]
    low, high = words & MASK, _high(words)
    # As TensorFlow makes a key and the upper half of a counter of a seed
    mixed = _philox([low[0], high[0], low[1], high[1]], SCRAMBLE)
    counts, zeros = tf.range((size + 3) // 4, dtype=tf.int64), tf.zeros_like(rows)[:, None]
    counters = [counts + zeros, zeros, mixed[2][:, None], mixed[3][:, None]]
    blocks = _philox(counters, [mixed[0][:, None], mixed[1][:, None]])  # four numbers of a counter
    bits = tf.reshape(tf.stack(blocks, -1), [tf.size(rows), -1])[:, :size]
    floats = tf.bitcast(tf.cast((bits & 0x7FFFFF) | 0x3F800000, tf.int32), tf.float32) - 1.0
    return tf.reshape(floats, [-1, *shape])


def _philox(counter, key):
    """The generator Philox 4x32-10 (Salmon et al. 2011): counters `[4][...]`, keys `[2][...]`.

    All are int64 tensors below 2^32, so that they may be multiplied.
    """
    (a, b, c, d), (k, m) = counter, key
    for _ in range(10):
        x, y = 0xD2511F53 * a, 0xCD9E8D57 * c
        a, b, c, d = _high(y) ^ b ^ k, y & MASK, _high(x) ^ d ^ m, x & MASK
        k, m = (k + 0x9E3779B9) & MASK, (m + 0xBB67AE85) & MASK
    return a, b, c, d


def _high(words):
    """The upper halves of int64s."""
    return tf.bitwise.right_shift(words, tf.constant(32, tf.int64)) & MASK
