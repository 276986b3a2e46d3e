"""Random draws keyed by seed, update and example: the same whatever the number of devices or
restarts.
"""

import tensorflow as tf


def fold_in(seed, *data):
    """A seed `[2]` derived from `seed` and the integers `data`."""
    for value in data:
        seed = tf.random.experimental.stateless_fold_in(seed, tf.cast(value, tf.int64))
    return seed


def uniform(seed, shape, minval=0, maxval=None, dtype=tf.float32):
    """Draws that depend on `seed` `[2]` and `shape` alone, the same on every kind of device."""
    return tf.random.stateless_uniform(
        shape, seed, minval, maxval, dtype, alg=tf.random.Algorithm.PHILOX
    )


class ExampleRandom:
    """Draws for some examples of a global batch.

    Every device draws for the whole batch and takes the rows of its own examples, so that an
    example's draws do not depend on the device it is on. Without a global batch (in evaluation)
    each example has a seed of its own.

    seed: integers `[2]`, already folded with the update; rows: integers `[examples]`, the examples'
    places in the global batch, or any numbers of theirs; batch_size: examples in the global batch,
    None if there is none.
    """

    def __init__(self, seed, rows, batch_size=None):
        self.seed, self.rows, self.batch_size = seed, rows, batch_size

    def uniform(self, shape, *salt):
        """Draws in [0, 1) `[examples, *shape]`; each `salt` (integers) gives other draws."""
        seed = fold_in(self.seed, *salt)
        if self.batch_size is not None:
            return tf.gather(uniform(seed, [self.batch_size, *shape]), self.rows)
        return tf.map_fn(
            lambda row: uniform(fold_in(seed, row), shape),
            self.rows,
            fn_output_signature=tf.float32,
        )
