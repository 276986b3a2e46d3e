"""What `Task.predict` is given, checked against what the task declares.

What is known when the call is made is a `ValueError`. What only a run knows, as in a SavedModel, is
an assertion of the traced function, a `tf.errors.InvalidArgumentError` with the same words.
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
    """Makes tensors of what `predict` is given, and refuses what is not as declared.

    Integers and floats of other types are taken where the declared type has their values.

    Args:
      name: the function, for the message.
      specs, ranges: see `Task.inputs` and `Task.ranges`.

    Raises:
      ValueError: a name is missing or unknown, a value has another type or shape, the values are of
        different numbers of examples, or out of range.
    """
    if not isinstance(inputs, Mapping) or set(inputs) != set(specs):
        got = list(inputs) if isinstance(inputs, Mapping) else type(inputs).__name__
        raise ValueError(f"{name}: inputs must be a dict with {', '.join(specs)}, got {got}")
    values = {n: _tensor(f"{name}: {n}", spec, inputs[n]) for n, spec in specs.items()}
    numbers = tf.stack([tf.shape(value)[0] for value in values.values()])
    right = f"{name}: {', '.join(specs)} must be of the same number of examples"
    assertions = [refuse(numbers != numbers[0], right, numbers)]
    for n, value in values.items():
        bounds, dtype = ranges.get(n), specs[n].dtype
        if bounds is None and dtype.is_integer and dtype != value.dtype:
            bounds = dtype.min, dtype.max
        if bounds is not None:
            lowest, highest = (np.asarray(bound, np.float64) for bound in bounds)
            wide = tf.cast(value, tf.float64)  # which has all integers of 32 bits
            within = (wide >= lowest) & (wide <= highest)  # NaN is not
            right = f"{name}: {n} must be from {bounds[0]} to {bounds[1]}"
            assertions.append(refuse(~within, right, value))
    # What runs with wrong values fails with an error of its own, or with none: it has to wait.
    with tf.control_dependencies([a for a in assertions if a is not None]):
        return {n: tf.identity(tf.cast(v, specs[n].dtype)) for n, v in values.items()}


def refuse(wrong: tf.Tensor, right: str, value: tf.Tensor) -> tf.Operation | None:
    """Refuses values, when the call is made or in the run.

    Args:
      wrong: for each value whether it is.
      right: the argument and what it must be, as "predict: asked must be from 0 to 7".
      value: the values, numbers.

    Returns:
      The assertion of a traced function; None where all is known.

    Raises:
      ValueError: one of them is wrong, which is known when the call is made.
    """
    known = tf.get_static_value(wrong)
    if known is None:
        largest = tf.reduce_max(tf.where(wrong, value, value.dtype.min))
        return tf.debugging.Assert(~tf.reduce_any(wrong), [f"{right}, got", largest])
    if known.any():
        place = tuple(np.argwhere(known)[0])
        got = tf.get_static_value(value)[place].tolist()
        raise ValueError(f"{right}, got {got} at {list(map(int, place))}")
    return None


def _tensor(name, spec, value):
    """The value as a tensor of its own type and of the right shape."""
    right = f"{name} must be {spec.dtype.name} of shape {spec.shape}"
    try:
        tensor = tf.convert_to_tensor(value)
    except (TypeError, ValueError):  # nested lists of other things, or of different lengths
        raise ValueError(f"{right}, got {type(value).__name__} that is no such tensor") from None
    dtype = spec.dtype
    number = tensor.dtype.is_integer or tensor.dtype.is_floating
    other = tensor.dtype.is_integer if dtype.is_integer else dtype.is_floating and number
    wanted = tf.TensorSpec(spec.shape, tensor.dtype if other else dtype)
    if not tf.TensorSpec.from_tensor(tensor).is_compatible_with(wanted):
        raise ValueError(f"{right}, got {tensor.dtype.name} of shape {tensor.shape}")
    return tf.ensure_shape(tensor, spec.shape)
