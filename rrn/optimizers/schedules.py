"""The learning rate of each update: a linear warm-up, then a decay."""

import math

import tensorflow as tf

from rrn.config import Constant, Cosine, Exponential, Schedules, Staircase

CONSTANT = Constant()


def learning_rate(
    update: int | tf.Tensor, base: float, schedule: Schedules = CONSTANT, num_updates: int = 0
) -> tf.Tensor:
    """The learning rate of an update, a float32 scalar.

    The rate rises linearly to `base` in the schedule's warm-up. What follows is the decay:
    `Constant` keeps `base`; `Cosine` falls along half a cosine to zero at `num_updates` and stays
    there; `Exponential` multiplies the rate by `decay_rate` in every `decay_updates` updates,
    smoothly; `Staircase` does so at once, at the end of every `decay_updates` updates.

    `update` is the number of updates before it.
    """
    update = tf.cast(update, tf.float32)
    rate = tf.constant(base, tf.float32)
    warmup_updates = schedule.warmup_updates
    if warmup_updates:
        rate *= tf.minimum(1.0, (update + 1.0) / warmup_updates)
    since_warmup = tf.maximum(update - warmup_updates, 0.0)
    if isinstance(schedule, Cosine):
        if num_updates < 1:
            raise ValueError(f"a cosine needs num_updates of at least 1, got {num_updates}")
        span = max(num_updates - warmup_updates, 1)
        rate *= 0.5 * (1.0 + tf.cos(math.pi * tf.minimum(since_warmup / span, 1.0)))
    elif isinstance(schedule, Exponential):
        times = since_warmup / schedule.decay_updates
        stairs = isinstance(schedule, Staircase)
        rate *= tf.pow(schedule.decay_rate, tf.floor(times) if stairs else times)
    return rate
