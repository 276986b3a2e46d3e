"""The average of the towers' gradients."""

import contextlib
from collections.abc import Sequence

import tensorflow as tf

from rrn.optimizers.optimizer import Gradient


def average_gradients(
    tower_gradients: Sequence[Sequence[Gradient]],
    weights: Sequence[float | tf.Tensor],
    devices: Sequence[str] | None = None,
) -> list[Gradient]:
    """Averages each variable's gradients over towers, weighted by numbers of examples.

    Args:
      tower_gradients: for each tower a list with one gradient for each variable. None stands for a
        variable that the tower's loss does not depend on.
      weights: for each tower its number of examples, a scalar.
      devices: for each variable the device on which its average is computed, usually the variable's
        own. Without them all averages are computed on the current device.

    Returns:
      One gradient for each variable. It is None where all towers have None: such a variable gets no
      update. Where only some towers have None, theirs counts as zero. It is a `tf.IndexedSlices`
      where all that is averaged is.

    Raises:
      ValueError: towers have different numbers of gradients, or there is not one weight for each.
    """
    lengths = {len(gradients) for gradients in tower_gradients}
    if len(lengths) != 1 or len(weights) != len(tower_gradients):
        raise ValueError(
            "average_gradients: every tower needs one gradient per variable and one weight, got "
            f"{len(tower_gradients)} towers, {sorted(lengths)} gradients, {len(weights)} weights"
        )
    weights = [tf.cast(weight, tf.float32) for weight in weights]
    total = tf.add_n(weights)
    shares = [weight / total for weight in weights]
    by_variable = list(zip(*tower_gradients, strict=True))
    averages = []
    for gradients, device in zip(by_variable, devices or [None] * len(by_variable), strict=True):
        pairs = zip(gradients, shares, strict=True)
        with tf.device(device) if device else contextlib.nullcontext():
            averages.append(_weighted_sum([(g, share) for g, share in pairs if g is not None]))
    return averages


def _weighted_sum(gradients_and_shares):
    if not gradients_and_shares:
        return None
    scaled = [_scale(gradient, share) for gradient, share in gradients_and_shares]
    if all(isinstance(gradient, tf.IndexedSlices) for gradient in scaled):
        return tf.IndexedSlices(
            tf.concat([gradient.values for gradient in scaled], 0),
            tf.concat([gradient.indices for gradient in scaled], 0),
            scaled[0].dense_shape,
        )
    return tf.add_n([tf.convert_to_tensor(gradient) for gradient in scaled])


def _scale(gradient, share):
    if isinstance(gradient, tf.IndexedSlices):
        return tf.IndexedSlices(gradient.values * share, gradient.indices, gradient.dense_shape)
    return gradient * share
