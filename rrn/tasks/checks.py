"""What `Task.predict` is given, checked against what the task declares.

What is known when the call is made is a `ValueError`. What only a run knows, as in a SavedModel, is
a `tf.errors.InvalidArgumentError` with the same words.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import tensorflow as tf

Range = tuple[Any, Any]  # the lowest and the highest value: numbers, or one for each of a last axis


def checked_inputs(
    name: str,
    specs: Mapping[str, tf.TensorSpec],
    ranges: Mapping[str, Range],
    inputs: Mapping[str, Any],
) -> dict[str, tf.Tensor]:
    """Makes tensors of what the function `name` is given; see `Task.inputs` and `Task.ranges`.

    Integers and floats of other types are cast where the declared type has their values.

    Raises:
      ValueError: names, types, shapes, numbers of examples or values are not as declared.
    """
    if not isinstance(inputs, Mapping) or set(inputs) != set(specs):
        got = list(inputs) if isinstance(inputs, Mapping) else type(inputs).__name__
        raise ValueError(f"{name}: inputs must be a dict with {', '.join(specs)}, got {got}")
    values = {n: _tensor(f"{name}: {n}", spec, inputs[n]) for n, spec in specs.items()}
    numbers = tf.stack([tf.shape(value)[0] for value in values.values()])
    right = f"{name}: {', '.join(specs)} must be of the same number of examples"
    assertions = refuse(numbers != numbers[0], right, numbers)
    for n, value in values.items():
        bounds, dtype = ranges.get(n), specs[n].dtype
        if bounds is None and dtype.is_integer and dtype != value.dtype:
            bounds = dtype.min, dtype.max
        if bounds is not None:
            lowest, highest = (np.asarray(bound, np.float64) for bound in bounds)
            wide = tf.cast(value, tf.float64)  # which has all integers of 32 bits
            within = (wide >= lowest) & (wide <= highest)  # NaN is not
            right = f"{name}: {n} must be from {bounds[0]} to {bounds[1]}"
            assertions += refuse(~within, right, value)
    # What runs with wrong values fails with an error of its own, or with none: it has to wait.
    with tf.control_dependencies(assertions):
        return {n: tf.identity(tf.cast(v, specs[n].dtype)) for n, v in values.items()}


def refuse(wrong: tf.Tensor, right: str, value: tf.Tensor) -> list[tf.Operation]:
    """Refuses values where `wrong` is true; `right` says which argument must be what.

    Returns:
      The assertion of a traced function; none where all is known.

    Raises:
      ValueError: a value is known to be wrong when the call is made.
    """
    known = tf.get_static_value(wrong)
    if known is None:
        largest = tf.reduce_max(tf.where(wrong, value, value.dtype.min))
        return [tf.debugging.Assert(~tf.reduce_any(wrong), [f"{right}, got", largest])]
    if known.any():
        index = np.argwhere(known)[0].tolist()
        raise ValueError(f"{right}, got {tf.get_static_value(value)[tuple(index)]} at {index}")
    return []


def _tensor(name, spec, value):
    """The value as a tensor of its own type and of the right shape."""
    right = f"{name} must be {spec.dtype.name} of shape {spec.shape}"
    try:
        tensor = tf.convert_to_tensor(value)
    except (TypeError, ValueError):  # nested lists of other things, or of different lengths
        raise ValueError(f"{right}, got {type(value).__name__} that is no such tensor") from None
    integer, floating = tensor.dtype.is_integer, tensor.dtype.is_floating
    castable = (
        integer if spec.dtype.is_integer else spec.dtype.is_floating and (integer or floating)
    )
    wanted = tf.TensorSpec(spec.shape, tensor.dtype if castable else spec.dtype)
    if not tf.TensorSpec.from_tensor(tensor).is_compatible_with(wanted):
        raise ValueError(f"{right}, got {tensor.dtype.name} of shape {tensor.shape}")
    return tf.ensure_shape(tensor, spec.shape)
