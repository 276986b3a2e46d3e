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
      One gradient for each variable, of the gradients' type; float64 is averaged in float64, every
      other type in float32. It is None where all towers have None: such a variable gets no update.
      Where only some have None, theirs counts as zero. It is a `tf.IndexedSlices` where all that is
      averaged is.
    """
    shares, averages = {}, []  # shares by the type in which gradients are multiplied
    by_variable = list(zip(*tower_gradients, strict=True))
    for gradients, device in zip(by_variable, devices or [None] * len(by_variable), strict=True):
        dtypes = [gradient.dtype for gradient in gradients if gradient is not None]
        wide = tf.float64 if tf.float64 in dtypes else tf.float32
        if wide not in shares:
            counts = [tf.cast(weight, wide) for weight in weights]
            total = add_in_order(counts)
            shares[wide] = [count / total for count in counts]
        pairs = zip(gradients, shares[wide], strict=True)
        with tf.device(device) if device else contextlib.nullcontext():
            scaled = [_scale(gradient, share) for gradient, share in pairs if gradient is not None]
            averages.append(_cast(_add(scaled), dtypes[0]) if scaled else None)
    return averages


def _map_values(function, gradient):
    if isinstance(gradient, tf.IndexedSlices):
        values = function(gradient.values)
        return tf.IndexedSlices(values, gradient.indices, gradient.dense_shape)
    return function(gradient)


def _scale(gradient, share):
    return _map_values(lambda values: tf.cast(values, share.dtype) * share, gradient)


def _add(gradients):
    if any(not isinstance(gradient, tf.IndexedSlices) for gradient in gradients):
        return add_in_order([tf.convert_to_tensor(gradient) for gradient in gradients])
    values, indices = [g.values for g in gradients], [g.indices for g in gradients]
    return tf.IndexedSlices(tf.concat(values, 0), tf.concat(indices, 0), gradients[0].dense_shape)


def _cast(gradient, dtype):
    return _map_values(lambda values: tf.cast(values, dtype), gradient)
