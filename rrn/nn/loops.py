"""Steps that are computed again in the backward pass, so that memory keeps their inputs alone.

`recomputed` is for steps one by one. `Loop` is for many steps that XLA compiles once. TensorFlow's
own gradient of a loop keeps whatever a turn computes, and where a turn has a gradient of its own it
computes another one of zeros.
"""

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from rrn.nn.layers import custom_gradient
from rrn.variables.reading import reading_scope, values_of


def recomputed(function: Callable, variables: Sequence[tf.Variable]) -> Callable:
    """Makes a function whose activations are computed again in the backward pass.

    Gradients flow to its arguments and to the variables, which are read once, here.

    The function makes nests of tensors of nests of tensors and anything else. Called twice with the
    same arguments it computes the same, so it draws nothing. The variables are all that it reads.
    """
    values = values_of(variables)
    references = list(values)

    def call(*args):
        leaves = tf.nest.flatten(args)

        @tf.recompute_grad
        def run(values, tensors):
            tensors = iter(tensors)
            filled = [next(tensors) if tf.is_tensor(leaf) else leaf for leaf in leaves]
            with reading_scope(dict(zip(references, values, strict=True))):
                return function(*tf.nest.pack_sequence_as(args, filled))

        return run(list(values.values()), [leaf for leaf in leaves if tf.is_tensor(leaf)])

    return call


class Loop:
    """Turns from a first state s(0) to the last s(T), with constants c: outputs o(1) .. o(T).

        forward     s(t), o(t) = turn(s(t-1), c)                                  t = 1 .. T

    The forward pass keeps s(0) .. s(T-1). With ds(t) and do(t) the gradients of the loss to s(t)
    and o(t), and J(t) the turn's Jacobian at s(t-1) and c, the backward pass runs the other way:

        backward    ds(t-1), dc(t) = (ds(t), do(t)) J(t);  dc = Σ_t dc(t)         t = T .. 1

    T is at least 1; outputs are float32.
    """

    def __init__(self, turn: Callable, turns: int, output_shape: Sequence[int | None]):
        self.turn, self.turns, self.output_shape = turn, turns, output_shape

    def forward(self, state: Any, constants: Any) -> tuple[Any, tf.Tensor, Any]:
        """Returns (s(T), the outputs `[T, *output_shape]`, the stacked s(0) .. s(T-1))."""
        arrays = tf.nest.map_structure(lambda s: self._array(s.shape, s.dtype), state)

        def body(t, state, befores, outputs):
            befores = tf.nest.map_structure(lambda array, s: array.write(t, s), befores, state)
            state, output = self.turn(state, constants)
            return t + 1, state, befores, outputs.write(t, output)

        begin = 0, state, arrays, self._array(self.output_shape)
        _, state, befores, outputs = self._while(lambda t: t < self.turns, body, begin)
        return state, outputs.stack(), tf.nest.map_structure(lambda a: a.stack(), befores)

    def backward(self, befores: Any, constants: Any, to_last, to_outputs) -> tuple[list, list]:
        """Returns the gradients to the floats of s(0), and in float32 to those of c."""
        floats = _floats(constants)

        def body(t, to_state, to_floats):
            state = tf.nest.map_structure(lambda stack: stack[t], befores)
            sources = _floats(state)
            with tf.GradientTape() as tape:
                tape.watch([sources, floats])
                new_state, output = self.turn(state, constants)
            gradients: Any = tape.gradient(  # of a gather it is sparse
                [*_floats(new_state), output],
                [*sources, *floats],
                output_gradients=[*to_state, to_outputs[t]],
                unconnected_gradients=tf.UnconnectedGradients.ZERO,
            )
            to_state = [tf.convert_to_tensor(g) for g in gradients[: len(sources)]]
            more = gradients[len(sources) :]
            sums = [a + tf.cast(b, tf.float32) for a, b in zip(to_floats, more, strict=True)]
            return t - 1, to_state, sums

        begin = self.turns - 1, to_last, [tf.zeros(value.shape) for value in floats]
        _, to_first, to_floats = self._while(lambda t: t >= 0, body, begin)
        return to_first, to_floats

    def _array(self, shape, dtype=tf.float32):
        return tf.TensorArray(dtype, self.turns, element_shape=shape)

    def _while(self, more, body, begin):
        return tf.while_loop(lambda t, *_: more(t), body, begin, maximum_iterations=self.turns)

    def __call__(self, state: Any, constants: Any) -> tuple[Any, tf.Tensor]:
        """Runs all turns: returns the last state and the outputs `[turns, *output_shape]`.

        Gradients flow to floats of the state and of the constants, and to nothing else that `turn`
        uses. The state's floats are float32.
        """

        @custom_gradient
        def run(state_floats, floats):
            own_state, own_constants = _filled(state, state_floats), _filled(constants, floats)
            last, outputs, befores = self.forward(own_state, own_constants)

            def gradient(*upstream):
                *to_parts, to_outputs = upstream
                parts = zip(tf.nest.flatten(last), to_parts, strict=True)
                to_last = [to_part for part, to_part in parts if _is_float(part)]
                to_first, to_floats = self.backward(befores, own_constants, to_last, to_outputs)
                pairs = zip(to_floats, floats, strict=True)
                return to_first, [tf.cast(to_value, value.dtype) for to_value, value in pairs]

            return [*tf.nest.flatten(last), outputs], gradient

        *last, outputs = run(_floats(state), _floats(constants))
        return tf.nest.pack_sequence_as(state, last), outputs


def _is_float(value):
    return tf.is_tensor(value) and value.dtype.is_floating


def _floats(nest):
    """The tensors of floats in a nest."""
    return [value for value in tf.nest.flatten(nest) if _is_float(value)]


def _filled(nest, floats):
    """A nest whose tensors of floats are replaced, in their order."""
    floats = iter(floats)
    return tf.nest.map_structure(lambda v: next(floats) if _is_float(v) else v, nest)
