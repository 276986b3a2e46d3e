"""Sums of messages within a board's units, where a ReLU is all that runs on edges.

A candidate, a digit in a cell, belongs to four units, in each of which exactly one candidate is
true: its digit in its row, its digit in its column, its digit in its box, and the digits of its
cell. From a unit it receives

    y_j = Σ_i relu(s_i + r_j) = Σ_i max(s_i, -r_j) + n r_j

the sum over all n candidates i of the unit, itself among them. TensorFlow's own operations would
write every edge to memory, and transpose the boards for each kind of unit. Here XLA compiles the
formula into loops that keep an edge in registers. The gradients are sums of the same form.

XLA has a loop for each tensor that it computes. So s and -r lie beside each other, in the halves of
a word: one loop computes both gradients, and reads each candidate once.
"""

import functools
import itertools
from collections.abc import Callable, Iterator, Sequence

import tensorflow as tf

from rrn.compiling import xla
from rrn.nn.layers import custom_gradient
from rrn.variables.sharded import known_size

# Candidates are [boards, digits, bands, rows of a band, stacks, columns of a stack, size]. Those of
# a unit lie along these axes.
ROW, COLUMN, BOX, CELL = (4, 5), (2, 3), (3, 5), (1,)
KINDS = (ROW, COLUMN), (BOX,), (CELL,)  # units of a kind share s and r, and are added up
WORDS = {tf.bfloat16: (tf.uint16, tf.uint32), tf.float32: (tf.uint32, tf.uint64)}


def unit_sums(pairs: tf.Tensor, axes: Sequence[int]) -> tf.Tensor:
    """Computes the y of each kind, `[nodes, kinds * size]`.

    Args:
      pairs: (s, -r) of each kind and column, `[nodes, kinds * size * 2]`.
      axes: the numbers of digits, bands, and so on.
    """
    dtype = pairs.dtype

    @custom_gradient
    def sums(pairs):
        words = as_words(pairs)

        def gradient(dy):
            return as_pairs(_compiled(_gradients, dtype, *axes)(words, dy), dtype)

        return tf.concat(_compiled(_sums, dtype, *axes)(words), axis=1), gradient

    return sums(pairs)


def as_words(pairs: tf.Tensor) -> tf.Tensor:
    """Views pairs `[rows, columns * 2]` as words `[rows, columns]`, which copies nothing."""
    return tf.bitcast(tf.reshape(pairs, [-1, known_size(pairs, 1) // 2, 2]), WORDS[pairs.dtype][1])


def as_pairs(words: Sequence[tf.Tensor], dtype: tf.DType) -> tf.Tensor:
    """Concatenates words by columns, and views them as pairs."""
    pairs = tf.bitcast(tf.concat(words, axis=1), dtype)
    return tf.reshape(pairs, [-1, 2 * pairs.shape[1]])


def halves(words: tf.Tensor, dtype: tf.DType) -> list[tf.Tensor]:
    """Takes words apart: both numbers in float32."""
    half, word = WORDS[dtype]
    both = words, tf.bitwise.right_shift(words, tf.constant(8 * dtype.size, word))
    return [tf.cast(tf.bitcast(tf.cast(x, half), dtype), tf.float32) for x in both]


def joined(low: tf.Tensor, high: tf.Tensor, dtype: tf.DType) -> tf.Tensor:
    """Puts two numbers, rounded to a type, into words."""
    half, word = WORDS[dtype]
    low, high = (tf.cast(tf.bitcast(tf.cast(x, dtype), half), word) for x in (low, high))
    return low | tf.bitwise.left_shift(high, tf.constant(8 * dtype.size, word))


@functools.cache
def _compiled(function: Callable, dtype: tf.DType, *axes: int) -> Callable:
    def of_kinds(*values):
        # In this order XLA makes one slice of a kind's columns and a unit's candidates, not a copy.
        boards = (tf.reshape(value, [-1, *axes, value.shape[1]]) for value in values)
        parts = zip(*(tf.split(board, len(KINDS), axis=-1) for board in boards), strict=True)
        results = (function(dtype, *both) for both in zip(KINDS, parts, strict=True))
        return [tf.reshape(result, [-1, result.shape[-1]]) for result in results]

    return xla(of_kinds)


def _sums(dtype, kind, values):
    (words,) = values
    negated = halves(words, dtype)[1]
    others = [halves(other, dtype)[0] for units in kind for other in _each(words, units)]
    sums = tf.add_n([tf.maximum(other, negated) for other in others])
    return tf.cast(sums - len(others) * negated, dtype)


def _gradients(dtype, kind, values):
    """Those to s and -r: dy where the ReLU is above zero, summed over receivers and senders."""
    words, dy = values
    (s, negated), dy = halves(words, dtype), tf.cast(dy, tf.float32)
    to_s = count = tf.zeros_like(s)
    for units in kind:
        for other, its_dy in zip(_each(words, units), _each(dy, units), strict=True):
            its_s, its_negated = halves(other, dtype)
            to_s = tf.where(s > its_negated, to_s + its_dy, to_s)
            count = tf.where(its_s > negated, count + 1.0, count)
    return joined(to_s, -count * dy, dtype)


def _each(values: tf.Tensor, units: Sequence[int]) -> Iterator[tf.Tensor]:
    """The first candidates of all units, then the second ones, and so on: each of size 1 there."""
    for indices in itertools.product(*(range(known_size(values, axis)) for axis in units)):
        slices = [slice(None)] * values.shape.rank
        for axis, index in zip(units, indices, strict=True):
            slices[axis] = slice(index, index + 1)
        yield values[tuple(slices)]
