"""Gradients of one's own: `tf.custom_gradient` with the types that TensorFlow does not declare."""

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import tensorflow as tf

Gradient = Callable[..., Any]  # from the results' gradients to those of the arguments
Arguments = ParamSpec("Arguments")
Results = TypeVar("Results")


def custom_gradient(
    function: Callable[Arguments, tuple[Results, Gradient]],
) -> Callable[Arguments, Results]:
    """Makes a function whose gradient is its own.

    Args:
      function: returns its results, and a function that computes the gradient.

    Returns:
      A function that returns the results.
    """
    return tf.custom_gradient(function)
