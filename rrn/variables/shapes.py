"""Sizes that are known before anything runs."""

from typing import Any


def known_size(value: Any, axis: int) -> int:
    """Finds the size of an axis of a variable, or of a tensor of which it is known.

    Args:
      value: a variable or tensor.
      axis: the axis.

    Returns:
      The size.

    Raises:
      ValueError: only a run knows the size.
    """
    size = value.shape[axis]
    if size is None:
        raise ValueError(f"the size of axis {axis} must be known, got shape {value.shape}")
    return size
