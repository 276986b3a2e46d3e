"""Sums of messages within a board's units, where a ReLU is all that runs on edges.

A candidate, a digit in a cell, belongs to four units, in each of which exactly one candidate is
true: its digit in its row, its digit in its column, its digit in its box, and the digits of its
cell. From a unit it receives

    y_j = Σ_i relu(s_i + r_j)

the sum over all candidates i of the unit, itself among them. TensorFlow's own operations would
write every edge to memory, and transpose the boards for each kind of unit. Here XLA compiles the
formula into loops that keep an edge in registers. The gradients are sums of the same form.
"""

import functools
import itertools
from collections.abc import Callable, Iterator

import tensorflow as tf

from rrn.compiling import xla_in_float32
from rrn.nn.layers import custom_gradient
from rrn.variables.sharded import known_size

# Candidates are [boards, digits, bands, rows of a band, stacks, columns of a stack, size]. Those of
# a unit lie along these axes.
ROW, COLUMN, BOX, CELL = (4, 5), (2, 3), (3, 5), (1,)
Axes = tuple[int, ...]


def unit_sums(senders: tf.Tensor, receivers: tf.Tensor, units: Axes) -> tf.Tensor:
    """Computes the y of the senders' s and the receivers' r, of the same shape and type."""

    @custom_gradient
    def sums(senders, receivers):
        def gradient(dy):
            return _compiled(_gradients, units)(senders, receivers, dy)

        return _compiled(_sums, units)(senders, receivers), gradient

    return sums(senders, receivers)


@functools.cache
def _compiled(function: Callable, units: Axes) -> Callable:
    return xla_in_float32(functools.partial(function, units=units))


def _sums(senders, receivers, units):
    return tf.add_n([tf.nn.relu(one + receivers) for one in _each(senders, units)])


def _gradients(senders, receivers, dy, units):
    """Those to senders and to receivers: the dy of the edges whose ReLU is above zero, summed."""
    others = zip(_each(receivers, units), _each(dy, units), strict=True)
    to_senders = [tf.where(senders + other > 0.0, its_dy, 0.0) for other, its_dy in others]
    to_receivers = [tf.where(one + receivers > 0.0, dy, 0.0) for one in _each(senders, units)]
    return tf.add_n(to_senders), tf.add_n(to_receivers)


def _each(values: tf.Tensor, units: Axes) -> Iterator[tf.Tensor]:
    """The first candidates of all units, then the second ones, and so on: each of size 1 there."""
    for indices in itertools.product(*(range(known_size(values, axis)) for axis in units)):
        slices = [slice(None)] * values.shape.rank
        for axis, index in zip(units, indices, strict=True):
            slices[axis] = slice(index, index + 1)
        yield values[tuple(slices)]
