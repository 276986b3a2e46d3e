"""The average of the towers' gradients."""

import contextlib
from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from rrn.optimizers.optimizer import Gradient
from rrn.order import add_in_order


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

    The average has the gradients' type: float64 is averaged in float64, every other one in float32.

    Raises:
      ValueError: towers have different numbers of gradients, there is not one weight for each, or
        not one device for each variable; what should be a gradient is none, or a variable's have
        different types or shapes; a weight is below 0, or all are 0.
    """
    _check_gradients(tower_gradients)
    lengths = {len(gradients) for gradients in tower_gradients}
    if len(lengths) != 1 or len(weights) != len(tower_gradients):
        raise ValueError(
            "average_gradients: every tower needs one gradient per variable and one weight, got "
            f"{len(tower_gradients)} towers, {sorted(lengths)} gradients, {len(weights)} weights"
        )
    _check_weights(weights)
    by_variable = list(zip(*tower_gradients, strict=True))
    places = [None] * len(by_variable) if devices is None else devices
    if len(places) != len(by_variable):
        raise ValueError(
            f"average_gradients: devices must be one for each of {len(by_variable)} variables, got "
            f"{len(places)}"
        )
    shares = {}  # by the type that they are multiplied in
    averages = []
    for number, (gradients, device) in enumerate(zip(by_variable, places, strict=True)):
        dtype = _common_type(number, gradients)
        wide = tf.float64 if dtype == tf.float64 else tf.float32
        if wide not in shares:
            counts = [tf.cast(weight, wide) for weight in weights]
            total = add_in_order(counts)
            shares[wide] = [count / total for count in counts]
        pairs = zip(gradients, shares[wide], strict=True)
        with tf.device(device) if device else contextlib.nullcontext():
            averages.append(_weighted_sum([(g, share) for g, share in pairs if g is not None]))
    return averages


def _check_gradients(towers):
    """Refuses what is no list of gradients for each tower."""
    name = "average_gradients: tower_gradients"
    for i, gradients in enumerate(towers):
        if not isinstance(gradients, (list, tuple)):
            got = type(gradients).__name__
            raise ValueError(f"{name}[{i}] must be a list of a tower's gradients, got a {got}")
        for j, gradient in enumerate(gradients):
            right = f"{name}[{i}][{j}] must be a gradient: a tensor, tf.IndexedSlices or None"
            if isinstance(gradient, (list, tuple)):
                raise ValueError(
                    f"{right}, got a {type(gradient).__name__}; of TensorFlow 1's pairs "
                    "(gradient, variable) give the gradients alone"
                )
            if gradient is not None and not _type_of(gradient).is_floating:
                raise ValueError(f"{right}, of floats, got {_type_of(gradient).name}")


def _check_weights(weights):
    """Refuses numbers of examples that are wrong, where they are known."""
    known = [tf.get_static_value(tf.convert_to_tensor(weight)) for weight in weights]
    for i, weight in enumerate(known):
        if weight is not None and (np.ndim(weight) or not 0 <= weight < np.inf):
            raise ValueError(
                f"average_gradients: weights[{i}] must be a number of examples, a scalar of at "
                f"least 0, got {weight.tolist()}"
            )
    if all(weight is not None and not weight for weight in known):
        raise ValueError("average_gradients: weights must not all be 0: there are no examples")


def _type_of(gradient):
    given = gradient if hasattr(gradient, "dtype") else tf.convert_to_tensor(gradient)
    return tf.as_dtype(given.dtype)  # of an array, too


def _common_type(number, gradients):
    """The type of a variable's gradients, which must be of one shape, too; None without any."""
    there = [gradient for gradient in gradients if gradient is not None]
    types, shapes = [_type_of(g) for g in there], [_shape_of(g) for g in there]
    if len(set(types)) > 1 or any(not shape.is_compatible_with(shapes[0]) for shape in shapes):
        got = ", ".join(f"{t.name} {shape}" for t, shape in zip(types, shapes, strict=True))
        raise ValueError(
            f"average_gradients: all towers' gradients of variable {number} must be of one type "
            f"and shape, got {got}"
        )
    return types[0] if there else None


def _shape_of(gradient):
    return tf.TensorShape(getattr(gradient, "shape", ()))


def _weighted_sum(gradients_and_shares):
    if not gradients_and_shares:
        return None
    dtype = _type_of(gradients_and_shares[0][0])
    scaled = [_scale(gradient, share) for gradient, share in gradients_and_shares]
    if all(isinstance(gradient, tf.IndexedSlices) for gradient in scaled):
        return tf.IndexedSlices(
            tf.cast(tf.concat([gradient.values for gradient in scaled], 0), dtype),
            tf.concat([gradient.indices for gradient in scaled], 0),
            scaled[0].dense_shape,
        )
    return tf.cast(add_in_order([tf.convert_to_tensor(gradient) for gradient in scaled]), dtype)


def _scale(gradient, share):
    if isinstance(gradient, tf.IndexedSlices):
        values = tf.cast(gradient.values, share.dtype) * share
        return tf.IndexedSlices(values, gradient.indices, gradient.dense_shape)
    return tf.cast(gradient, share.dtype) * share
