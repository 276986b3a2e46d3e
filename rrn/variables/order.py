"""Sums of floats in one order, so that a CPU's results are bitwise identical at every run.

TensorFlow's kernel AddN begins with a term whose buffer nobody else holds. Which one that is may
depend on how fast other threads are, and so does the rounding where there are more than two terms.
TensorFlow's op determinism does not change this. AddN comes from three places: calls of `tf.add_n`,
gradient tapes, which add up what reaches a value from several operations, and TensorFlow's graph
optimizer, which makes one AddN of several additions.
"""

import functools
from collections.abc import Sequence

import tensorflow as tf
from tensorflow.python import pywrap_tfe
from tensorflow.python.eager import backprop


def add_in_order(terms: Sequence[tf.Tensor]) -> tf.Tensor:
    """Adds terms of one shape, each to the sum of those before it."""
    return functools.reduce(lambda total, term: tf.add_n([total, term]), terms)


def keep_order() -> None:
    """Makes this process's results on CPUs bitwise identical at every run.

    It holds for what is traced afterwards, and costs up to 2 % of the time of an update.
    """
    tf.config.experimental.enable_op_determinism()
    tf.config.optimizer.set_experimental_options(
        # The second is for GPUs; on a CPU it takes time alone.
        {"arithmetic_optimization": False, "layout_optimizer": False}
    )
    space = backprop._default_vspace._replace(aggregate_fn=_add_gradients)
    pywrap_tfe.TFE_Py_RegisterVSpace(space)


def _add_gradients(gradients):
    """What tapes do where several gradients reach one value; rows of sparse ones are joined."""
    if all(isinstance(gradient, tf.IndexedSlices) for gradient in gradients):
        return backprop._default_vspace.aggregate_fn(gradients)
    return add_in_order(gradients)
