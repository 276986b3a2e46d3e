"""Wrong calls of a user's, named: the argument, the value it got, and what would be right.

Checked is what TensorFlow would not name, or would compute silently. A name is the function and the
argument, as "SparseGraph: senders". A value is a tensor, an array or nested lists of numbers.
"""

import reprlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

# Those that TensorFlow multiplies matrices of.
FLOATS = tf.float32, tf.bfloat16, tf.float16, tf.float64


def check_sizes(name: str, lowest: int = 1, /, **sizes: int) -> None:
    """Refuses sizes that are no integers, or below `lowest`."""
    for argument, size in sizes.items():
        if not isinstance(size, (int, np.integer)) or size < lowest:
            raise ValueError(
                f"{name}: {argument} must be an integer of at least {lowest}, got {size!r}"
            )


def float_type(name: str, dtype: tf.DType | str) -> tf.DType:
    """Takes a type of floats or its name; refuses those that matrices cannot have."""
    if dtype not in FLOATS:  # a type equals its name
        floats = ", ".join(floats.name for floats in FLOATS)
        raise ValueError(f"{name} must be a type of floats, one of {floats}, got {dtype!r}")
    return tf.as_dtype(dtype)


def check_shape(
    name: str, value: Any, axes: str, sizes: Sequence[int | None] | tf.TensorShape
) -> None:
    """Refuses a value that cannot have the right shape, or holds no numbers.

    Axes are such as "[nodes, node_size]". A size is None where it is not known.
    """
    try:
        array = value if hasattr(value, "shape") else np.asarray(value)
        wrong_kind = tf.as_dtype(array.dtype) == tf.string
    except (TypeError, ValueError, NotImplementedError):  # the last for lists of traced tensors
        array, wrong_kind = value, True
    if wrong_kind or isinstance(value, (tf.RaggedTensor, tf.SparseTensor)):
        got = type(value).__name__ if hasattr(value, "shape") else reprlib.repr(value)
        raise ValueError(f"{name} must be a tensor or an array of numbers, got {got}")
    right, shape = tf.TensorShape(sizes), tf.TensorShape(array.shape)
    if not shape.is_compatible_with(right):
        raise ValueError(f"{name} must have shape {axes} = {right}, got {shape}")


def index_tensor(
    name: str, value: Any, axes: str, sizes: Sequence[int | None] | tf.TensorShape
) -> tf.Tensor:
    """Makes an int32 tensor of numbers from 0; `axes` and `sizes` are those of `check_shape`.

    The values of int32 tensors are left to `Graph.validate`.
    """
    try:
        tensor = tf.convert_to_tensor(value)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be integers, got {reprlib.repr(value)}") from None
    check_shape(name, tensor, axes, sizes)
    if not tensor.dtype.is_integer and tensor.shape.num_elements() != 0:  # [] is of floats
        raise ValueError(f"{name} must be integers, got {tensor.dtype.name}")
    if tensor.shape.rank == 0 or tensor.dtype != tf.int32:
        known = tf.get_static_value(tensor)
        wrong = [] if known is None else np.extract((known < 0) | (known > tf.int32.max), known)
        if len(wrong):
            raise ValueError(f"{name} must be from 0 to {tf.int32.max}, got {wrong[0]}")
    return tf.cast(tensor, tf.int32)


def check_nodes(name: str, graph: Any, nodes: Any) -> tf.Tensor:
    """Takes values of nodes `[nodes, size]`, one row for each node of a graph."""
    check_shape(name, nodes, "[nodes, size]", [graph.known_sizes().nodes, None])
    return tf.convert_to_tensor(nodes)


def check_globals(name: str, graph: Any, globals_: Any, size: int | None = None) -> tf.Tensor:
    """Takes globals `[graphs, size]`, one row for each graph."""
    check_shape(name, globals_, "[graphs, size]", [graph.known_sizes().graphs, size])
    return tf.convert_to_tensor(globals_)


def check_edges(name: str, graph: Any, values: Any, *last: int | None) -> Any:
    """Takes values of edges in the graph's edge shape, a list of such for a union; or None.

    `last` is the size of a last axis, None where any is right. Weights have no such axis.
    """
    return None if values is None else _edges(name, graph.known_sizes().edge_shape, values, last)


def _edges(name, shape, values, last):
    if isinstance(shape, list):
        got = len(values) if isinstance(values, (list, tuple)) else type(values).__name__
        if got != len(shape):
            right = f"a list with a value for each of the union's {len(shape)} parts"
            raise ValueError(f"{name} must be {right}, got {got}")
        parts = zip(shape, values, strict=True)
        return [_edges(f"{name}[{i}]", *part, last) for i, part in enumerate(parts)]
    if shape.rank is not None:
        check_shape(name, values, f"[*edge_shape{', size' * len(last)}]", [*shape, *last])
    return tf.convert_to_tensor(values)


def known_value(name: str, value: Any) -> np.ndarray:
    """Finds a value on the host, for `Graph.validate`."""
    known = tf.get_static_value(value)
    if known is None:
        raise ValueError(f"{name} is not known while a function is traced; call validate before")
    return np.asarray(known)


def validate_indices(name: str, indices: np.ndarray, bound: int | np.ndarray) -> None:
    """Refuses indices below 0 or not below a bound; names the first one and its position."""
    wrong = np.argwhere((indices < 0) | (indices >= bound))
    if len(wrong):
        first = wrong[0].tolist()
        right, got = f"must be from 0 to {bound - 1}", indices[tuple(first)]
        count = f"{len(wrong)} of {indices.size} are out of range"
        raise ValueError(f"{name}{first} {right}, got {got} ({count})")
