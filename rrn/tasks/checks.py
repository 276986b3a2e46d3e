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
    """Takes what `predict` is given, and refuses what is not as declared.

    Integers of any type and floats of any type are taken where the declared type has their values.

    Args:
      name: the function, for the message.
      specs: see `Task.inputs`.
      ranges: see `Task.ranges`.
      inputs: name -> a tensor, an array or nested lists.

    Returns:
      name -> tensor of the declared type.

    Raises:
      ValueError: a name is missing or unknown, a value has another type or shape, the values are of
        different numbers of examples, or out of range.
    """
    names = ", ".join(specs)
    if not isinstance(inputs, Mapping):
        got = type(inputs).__name__
        raise ValueError(f"{name}: inputs must be a dict with {names}, got a {got}")
    if set(inputs) != set(specs):
        got = ", ".join(map(str, inputs)) or "none"
        raise ValueError(f"{name}: inputs must be a dict with {names}, got {got}")
    values = {n: _tensor(f"{name}: {n}", spec, inputs[n]) for n, spec in specs.items()}
    assertions = [_check_examples(name, values)]
    for n, value in values.items():
        assertions.append(_check_range(f"{name}: {n}", specs[n].dtype, ranges.get(n), value))
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
        got = value[place].numpy().tolist()
        raise ValueError(f"{right}, got {got} at {list(map(int, place))}")
    return None


def _tensor(name, spec, value):
    """The value as a tensor of its own type and of the right shape."""
    kind = _kind(spec.dtype)
    axes = ", ".join("n" if size is None else str(size) for size in spec.shape.as_list())
    right = f"{name} must be {kind} of shape [{axes}]"
    try:
        tensor = tf.convert_to_tensor(value)
    except (TypeError, ValueError):  # nested lists of other things, or of different lengths
        raise ValueError(f"{right}, got {type(value).__name__} that is no such tensor") from None
    fits = kind in (_kind(tensor.dtype), "floats" if _kind(tensor.dtype) == "integers" else None)
    if not fits or not tensor.shape.is_compatible_with(spec.shape):
        raise ValueError(f"{right}, got {tensor.dtype.name} of shape {tensor.shape}")
    if tensor.shape[1:].num_elements() == 0:
        raise ValueError(f"{right}, none of them empty but n, got shape {tensor.shape}")
    return tf.ensure_shape(tensor, spec.shape)


def _kind(dtype):
    """What numbers or strings of a type are called."""
    if dtype.is_integer:
        return "integers"
    return "floats" if dtype.is_floating else f"{dtype.name}s"


def _check_examples(name, values):
    """Refuses values of different numbers of examples."""
    names = ", ".join(values)
    right = f"{name}: {names} must be of the same number of examples"
    known = [value.shape[0] for value in values.values()]
    if len({number for number in known if number is not None}) > 1:
        raise ValueError(f"{right}, got {', '.join(map(str, known))}")
    if None in known and len(values) > 1:
        numbers = tf.stack([tf.shape(value)[0] for value in values.values()])
        return tf.debugging.Assert(tf.reduce_all(numbers == numbers[0]), [f"{right}, got", numbers])
    return None


def _check_range(name, dtype, bounds, value):
    """Refuses values that are out of the declared range, or that the declared type has not."""
    if bounds is None and dtype.is_integer and dtype != value.dtype:
        bounds = dtype.min, dtype.max
    if bounds is not None:
        lowest, highest = (np.asarray(bound) for bound in bounds)
        # In float64, which has all integers of 32 bits; what is no number is within no range.
        wide = tf.cast(value, tf.float64)
        within = (wide >= lowest.astype(np.float64)) & (wide <= highest.astype(np.float64))
        right = f"{name} must be from {lowest.tolist()} to {highest.tolist()}"
        return refuse(~within, right, value)
    return None
