"""Computing activations again in the backward pass instead of keeping them in memory."""

from collections.abc import Callable, Sequence

import tensorflow as tf

from rrn.variables.reading import reading_scope, values_of


def recomputed(function: Callable, variables: Sequence[tf.Variable]) -> Callable:
    """Makes a function whose activations are not kept, but computed again in the backward pass.

    Its arguments and results are the given function's. The variables are read once, here. Every
    call is given what was read, as it is given its arguments: gradients flow to the variables and
    to the arguments, and to nothing else.

    Args:
      function: from nests of tensors (and of anything else) to nests of tensors. It computes the
        same whenever it is called with the same arguments; so it draws nothing.
      variables: all variables that the function reads with `rrn.variables.reading.read`.
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
