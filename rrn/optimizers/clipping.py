"""Gradients scaled to a largest global norm."""

from collections.abc import Sequence

import tensorflow as tf

from rrn.optimizers.optimizer import Gradient


def clip_by_global_norm(
    gradients: Sequence[Gradient], clip_norm: float
) -> tuple[list[tf.Tensor | None], tf.Tensor]:
    """Scales gradients so that the norm of all of them together is at most `clip_norm`.

    Args:
      gradients: tensors, `tf.IndexedSlices` or None, each of which is handled on its own device.
      clip_norm: the largest norm; 0 scales nothing.

    Returns:
      The gradients as tensors, None where there was None; and their global norm before, a scalar.
    """
    # A sparse gradient may hold a row several times; the norm is that of their sum.
    gradients = [_on_its_device(gradient, tf.convert_to_tensor) for gradient in gradients]
    norm = tf.linalg.global_norm([g for g in gradients if g is not None])
    if not clip_norm:
        return gradients, norm
    scale = clip_norm / tf.maximum(norm, clip_norm)
    return [_on_its_device(gradient, lambda g: g * scale) for gradient in gradients], norm


def _on_its_device(gradient, function):
    if gradient is None:
        return None
    with tf.device(gradient.device):
        return function(gradient)
