"""A loop that XLA compiles once, with a gradient that computes each turn again.

TensorFlow's own gradient of a loop keeps whatever a turn computes, and where a turn has a gradient
of its own it computes another one of zeros. This loop keeps the state before each turn alone.
"""

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from rrn.nn.gradients import custom_gradient

# (state, constants) -> (the new state, the turn's output)
Turn = Callable[[Any, Any], tuple[Any, tf.Tensor]]


def loop(
    turn: Turn, state: Any, constants: Any, turns: int, output_shape: Sequence[int | None]
) -> tuple[Any, tf.Tensor]:
    """Changes a state several times.

    Gradients flow to floats of the state and of the constants, and to nothing else that `turn`
    uses.

    Args:
      turn: a function from the state and the constants to the new state and a float32 output.
      state: a nest of tensors; those of floats are float32.
      constants: a nest of tensors, and of anything else, that stay the same.
      turns: how often, at least once.
      output_shape: the shape of a turn's output.

    Returns:
      (the last state, the outputs `[turns, *output_shape]`).
    """
    leaves = tf.nest.flatten(constants)
    places = [i for i, x in enumerate(leaves) if tf.is_tensor(x) and x.dtype.is_floating]
    floating = [part.dtype.is_floating for part in tf.nest.flatten(state)]
    size = len(floating)

    def floats(parts):
        return [part for part, is_float in zip(parts, floating, strict=True) if is_float]

    def with_floats(parts, values):
        """The parts, those of floats replaced by values."""
        values = iter(values)
        return [next(values) if f else part for part, f in zip(parts, floating, strict=True)]

    def run_turn(parts, values):
        filled = list(leaves)
        for place, value in zip(places, values, strict=True):
            filled[place] = value
        args = tf.nest.pack_sequence_as(state, parts), tf.nest.pack_sequence_as(constants, filled)
        new_state, output = turn(*args)
        return tf.nest.flatten(new_state), output

    @custom_gradient
    def run(*tensors):
        parts, values = list(tensors[:size]), list(tensors[size:])

        def forward(i, parts, kept, outputs):
            kept = [array.write(i, part) for array, part in zip(kept, parts, strict=True)]
            parts, output = run_turn(parts, values)
            return i + 1, parts, kept, outputs.write(i, output)

        arrays = [_array(turns, part.shape, part.dtype) for part in parts]
        arrays = arrays, _array(turns, output_shape)
        _, last, kept, outputs = _while(lambda i: i < turns, forward, (0, parts, *arrays), turns)
        befores = [array.stack() for array in kept]

        def gradient(*upstream):
            *to_last, to_outputs = upstream

            def backward(i, to_parts, to_values):
                parts = [before[i] for before in befores]
                with tf.GradientTape() as tape:
                    tape.watch([floats(parts), values])
                    new_parts, output = run_turn(parts, values)
                sources = floats(parts)
                gradients = tape.gradient(
                    [*floats(new_parts), output],
                    [*sources, *values],
                    output_gradients=[*to_parts, to_outputs[i]],
                    unconnected_gradients=tf.UnconnectedGradients.ZERO,
                )
                found: list[Any] = list(gradients)  # of a gather it is sparse
                more = found[len(sources) :]
                to_parts = [tf.convert_to_tensor(part) for part in found[: len(sources)]]
                sums = [a + tf.cast(b, tf.float32) for a, b in zip(to_values, more, strict=True)]
                return i - 1, to_parts, sums

            zeros = [tf.zeros(value.shape) for value in values]
            begin = turns - 1, floats(to_last), zeros
            _, to_parts, to_values = _while(lambda i: i >= 0, backward, begin, turns)
            casts = [tf.cast(a, b.dtype) for a, b in zip(to_values, values, strict=True)]
            return [*with_floats([None] * size, to_parts), *casts]

        return [*last, outputs.stack()], gradient

    *last, outputs = run(*tf.nest.flatten(state), *[leaves[place] for place in places])
    return tf.nest.pack_sequence_as(state, last), outputs


def _array(size, shape, dtype=tf.float32):
    return tf.TensorArray(dtype, size, element_shape=shape)


def _while(more, body, begin, turns):
    return tf.while_loop(lambda i, *_: more(i), body, list(begin), maximum_iterations=turns)
