"""The average of the towers' gradients."""

import contextlib
from collections.abc import Sequence

import tensorflow as tf

from rrn.optimizers.optimizer import Gradient
from rrn.variables.order import add_in_order


def average_gradients(
    tower_gradients: Sequence[Sequence[Gradient]],
    weights: Sequence[float | tf.Tensor],
    devices: Sequence[str] | None = None,
) -> list[Gradient]:
    """Averages each variable's gradients over towers, weighted by numbers of examples.

    Args:
      tower_gradients: for each tower a gradient for each variable, None where the tower's loss does
        not depend on it.
      weights: for each tower its number of examples, a scalar.
      devices: for each variable the device on which its average is computed; else the current one.

    Returns:
      One gradient for each variable. It is None where all towers have None: such a variable gets no
      update. Where only some have None, theirs counts as zero. It is a `tf.IndexedSlices` where all
      that is averaged is.
    """
    counts = [tf.cast(weight, tf.float32) for weight in weights]
    total, averages = add_in_order(counts), []
    shares = [count / total for count in counts]
    by_variable = list(zip(*tower_gradients, strict=True))
    for gradients, device in zip(by_variable, devices or [None] * len(by_variable), strict=True):
        pairs = zip(gradients, shares, strict=True)
        with tf.device(device) if device else contextlib.nullcontext():
            scaled = [_scale(gradient, share) for gradient, share in pairs if gradient is not None]
            averages.append(_add(scaled) if scaled else None)
    return averages


def _scale(gradient, share):
    if isinstance(gradient, tf.IndexedSlices):
        values = _scale(gradient.values, share)
        return tf.IndexedSlices(values, gradient.indices, gradient.dense_shape)
    return gradient * tf.cast(share, gradient.dtype)


def _add(gradients):
    if any(not isinstance(gradient, tf.IndexedSlices) for gradient in gradients):
        return add_in_order([tf.convert_to_tensor(gradient) for gradient in gradients])
    values, indices = [g.values for g in gradients], [g.indices for g in gradients]
    return tf.IndexedSlices(tf.concat(values, 0), tf.concat(indices, 0), gradients[0].dense_shape)
