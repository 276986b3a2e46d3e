"""Wrong calls, named: the function, the argument, the value it got, and what would be right.

Every check raises a ValueError. `name` is the function and the argument, as "Linear 'readout': x",
and a value is a tensor, an array or nested lists of numbers.

Checked is what is known when the call is made, or traced. Nothing is added to a traced function,
and AutoGraph reads this code: it knows no `:=`.
"""

import reprlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

# Those that TensorFlow multiplies matrices of.
FLOATS = tf.float32, tf.bfloat16, tf.float16, tf.float64


def shape_of(value: Any) -> tf.TensorShape:
    """Finds what is known of a value's shape; a size in it may be None."""
    return tf.TensorShape(value.shape if hasattr(value, "shape") else np.shape(value))


def check_numbers(name: str, value: Any) -> tf.DType:
    """Refuses what holds no numbers, as strings, None, and lists of different lengths.

    Returns the numbers' type.
    """
    if isinstance(value, (tf.RaggedTensor, tf.SparseTensor)):
        got = type(value).__name__
        raise ValueError(f"{name} must be a tensor or an array of numbers, got a {got}")
    try:
        dtype = tf.as_dtype(value.dtype if hasattr(value, "shape") else np.asarray(value).dtype)
    except (TypeError, ValueError, NotImplementedError):  # the last for lists of traced tensors
        dtype = tf.string
    if dtype == tf.string:
        got = "strings" if hasattr(value, "shape") else reprlib.repr(value)
        raise ValueError(f"{name} must be a tensor or an array of numbers, got {got}")
    return dtype


def check_integers(name: str, value: Any) -> None:
    """Refuses what holds no integers."""
    dtype = check_numbers(name, value)
    if not dtype.is_integer:
        shape = shape_of(value)
        hint = f"; none at all are tf.zeros({shape.as_list()}, tf.int32)"
        hint = hint if shape.num_elements() == 0 else ""
        raise ValueError(f"{name} must be integers, got {dtype.name}{hint}")


def check_rank(name: str, value: Any, rank: int) -> None:
    """Refuses a value of another rank."""
    shape = shape_of(value)
    if shape.rank != rank:
        raise ValueError(f"{name} must have rank {rank}, got shape {shape}")


def check_shape(
    name: str, value: Any, axes: str, sizes: Sequence[int | None] | tf.TensorShape | None
) -> None:
    """Refuses a value that cannot have the right shape, or is none of numbers.

    Args:
      axes: what the axes are, as "[nodes, node_size]".
      sizes: their sizes, None where a size is not known; None for any number of axes.
    """
    check_numbers(name, value)
    right = tf.TensorShape(sizes)  # pyright: ignore[reportArgumentType] (stubs lack None)
    shape = shape_of(value)
    if not shape.is_compatible_with(right):
        raise ValueError(f"{name} must have shape {axes} = {right}, got {shape}")


def check_width(name: str, value: Any, axis: str, size: int) -> None:
    """Refuses a value whose last axis has another size, that has no axis, or is none of numbers.

    Args:
      axis: what the last axis is, as "input_size".
      size: its size.
    """
    check_numbers(name, value)
    shape = shape_of(value)
    if shape.rank is not None and (shape.rank == 0 or shape[-1] not in (None, size)):
        raise ValueError(f"{name} must have shape [..., {axis}] = (..., {size}), got {shape}")


def check_list(name: str, value: Any, length: int) -> None:
    """Refuses what is not a list or tuple with a value for each of `length` parts of a union."""
    if not isinstance(value, (list, tuple)):
        got = type(value).__name__
        raise ValueError(
            f"{name} must be a list with a value for each of the union's {length} parts, got {got}"
        )
    if len(value) != length:
        raise ValueError(
            f"{name} must have a value for each of the union's {length} parts, got {len(value)}"
        )


def check_sizes(name: str, lowest: int = 1, /, **sizes: int) -> None:
    """Refuses sizes of layers that are no integers, or too small.

    Args:
      lowest: the smallest size that is right.
      **sizes: the arguments by their names.
    """
    for argument, size in sizes.items():
        whole = isinstance(size, (int, np.integer)) and not isinstance(size, bool)
        if not whole or size < lowest:
            raise ValueError(
                f"{name}: {argument} must be an integer of at least {lowest}, got {size!r}"
            )


def float_type(name: str, dtype: tf.DType | str) -> tf.DType:
    """Reads a type of floats, or its name; refuses others, and floats that matrices cannot have."""
    try:
        found = tf.as_dtype(dtype)
    except TypeError:
        found = None
    if found not in FLOATS:
        floats = ", ".join(known.name for known in FLOATS)
        raise ValueError(f"{name} must be a type of floats, one of {floats}, got {dtype!r}")
    return found
