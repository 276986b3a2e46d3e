"""The learning rate of each update: a linear warm-up, then a decay."""

import math

import tensorflow as tf

DECAYS = "constant", "cosine", "exponential", "staircase"


def learning_rate(
    update: int | tf.Tensor,
    *,
    base: float,
    warmup_updates: int = 0,
    decay: str = "constant",
    num_updates: int = 0,
    decay_rate: float = 1.0,
    decay_updates: int = 0,
) -> tf.Tensor:
    """The learning rate of an update.

    The rate rises linearly to `base` in the first `warmup_updates` updates. What follows is the
    decay: "constant" keeps `base`; "cosine" falls along half a cosine to zero at `num_updates` and
    stays there; "exponential" multiplies the rate by `decay_rate` in every `decay_updates` updates,
    smoothly; "staircase" does so at once, at the end of every `decay_updates` updates.

    Args:
      update: the number of updates before this one.
      base: the rate after the warm-up.
      warmup_updates: how many updates the warm-up takes.
      decay: one of `DECAYS`.
      num_updates: of "cosine": how many updates there are, with those of the warm-up.
      decay_rate: of "exponential" and "staircase": a factor above 0 and at most 1.
      decay_updates: of both: in how many updates the rate takes the factor.

    Returns:
      The rate, a float32 scalar.

    Raises:
      ValueError: there is no such decay, or its numbers do not fit.
    """
    update = tf.cast(update, tf.float32)
    rate = tf.constant(base, tf.float32)
    if warmup_updates:
        rate *= tf.minimum(1.0, (update + 1.0) / warmup_updates)
    since_warmup = tf.maximum(update - warmup_updates, 0.0)
    if decay == "cosine":
        if num_updates < 1:
            raise ValueError(f"decay cosine needs num_updates of at least 1, got {num_updates}")
        span = max(num_updates - warmup_updates, 1)
        rate *= 0.5 * (1.0 + tf.cos(math.pi * tf.minimum(since_warmup / span, 1.0)))
    elif decay in ("exponential", "staircase"):
        if not (0.0 < decay_rate <= 1.0 and decay_updates > 0):
            raise ValueError(
                f"decay {decay} needs a decay_rate above 0 and at most 1 and decay_updates of "
                f"at least 1, got {decay_rate} and {decay_updates}"
            )
        times = since_warmup / decay_updates
        rate *= decay_rate ** (tf.floor(times) if decay == "staircase" else times)
    elif decay != "constant":
        raise ValueError(f"decay must be one of {', '.join(DECAYS)}, got {decay!r}")
    return rate
