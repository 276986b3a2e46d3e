"""Random draws keyed by seed, update and example.

They are the same on any number of devices, and in a run that was stopped and resumed.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

Seed = tf.Tensor | Sequence[int]  # integers [2]
_stateless_uniform: Any = tf.random.stateless_uniform  # its stub knows no lists and no bits


def fold_in(seed: Seed, *data: tf.Tensor | int) -> Seed:
    """Derives a seed from another one and some numbers.

    Args:
      *data: integers, folded in one after the other: their order matters.

    Returns:
      The derived seed, integers `[2]`.
    """
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

    The seed is `[2]` integers. Numbers in [0, 1) of float32 are the same within XLA, too.

    Args:
      maxval: the bound that no number reaches; 1 if not given, which only floats may leave out.
    """
    philox = tf.random.Algorithm.PHILOX
    if dtype != tf.float32 or (minval, maxval) not in ((0, None), (0, 1)):
        return _stateless_uniform(shape, seed, minval, maxval, dtype, alg=philox)
    # TensorFlow's numbers, from the same bits: XLA's own are made of other bits of them.
    bits = _stateless_uniform(shape, seed, None, None, tf.uint32, alg=philox)
    return tf.bitcast((bits & 0x7FFFFF) | 0x3F800000, tf.float32) - 1.0


def dropout_weights(draws: tf.Tensor, keep_probability: float) -> tf.Tensor:
    """Turns draws in [0, 1) of any shape into weights that drop values and scale up the others.

    Returns:
      Weights 0 or 1 / keep_probability, of the draws' shape. Their mean is 1.
    """
    return tf.cast(draws < keep_probability, tf.float32) / keep_probability


class ExampleRandom:
    """Draws for some examples of a global batch.

    Every device draws for the whole batch and takes the rows of its own examples, so that an
    example's draws do not depend on the device it is on. Without a global batch, in evaluation,
    each example has a seed of its own.

    Args:
      seed: integers `[2]`; in training the update is folded in.
      rows: integers `[examples]`, the examples' places in the global batch. Without a global batch
        they are any numbers that tell examples apart.
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
        """Draws numbers in [0, 1) for every example, `[examples, *shape]`.

        Args:
          shape: that of one example's draws.
          *salt: integers; other ones give other draws.
        """
        seed = fold_in(self.seed, *salt)
        if self.batch_size is not None:
            return tf.gather(uniform(seed, [self.batch_size, *shape]), self.rows)
        return tf.map_fn(
            lambda row: uniform(fold_in(seed, row), shape),
            self.rows,
            fn_output_signature=tf.float32,
        )
