"""What every optimizer has: its variables, its slots, and `apply`; and clipping."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import tensorflow as tf

from rrn.variables.reading import Variable, map_shards, shards

Gradient = tf.Tensor | tf.IndexedSlices | None


class Optimizer(tf.Module):
    """Changes variables, whole or in shards, by their gradients; the base of all optimizers."""

    def __init__(self, variables: Sequence[Variable], name: str):
        super().__init__(name=name)
        self.variables_ = variables

    def apply(
        self, gradients: Sequence[Gradient], rate: float | tf.Tensor, update: int | tf.Tensor
    ) -> None:
        """Makes one update.

        Args:
          gradients: one for each variable or shard, in the variables' order. A variable whose
            gradient is None keeps its value and its slots.
          update: the number of updates before this one.
        """
        raise NotImplementedError

    def _each(
        self, gradients: Sequence[Gradient], *slots: Sequence[Variable]
    ) -> Iterator[tuple[Any, ...]]:
        """Yields each shard that has a gradient, with its slots and the gradient, on its device."""
        lists = shards(self.variables_), *map(shards, slots), gradients
        for variable, *own, gradient in zip(*lists, strict=True):
            if gradient is not None:
                with tf.device(variable.device):
                    yield variable, *own, tf.convert_to_tensor(gradient)


def create_slot(
    variable: Variable, name: str, initial: Callable[[tf.Variable], tf.Tensor] = tf.zeros_like
) -> Variable:
    """Creates a variable that is not trainable, on another one's device and in the same shards.

    Its name follows the variable's: `m` gives `linear/w/m`.
    """

    def create(shard):
        with tf.device(shard.device):
            full_name = f"{shard.name.removesuffix(':0')}/{name}"
            return tf.Variable(initial(shard), trainable=False, name=full_name)

    return map_shards(create, variable)


def clip_by_global_norm(
    gradients: Sequence[Gradient], clip_norm: float
) -> tuple[list[tf.Tensor | None], tf.Tensor]:
    """Scales gradients so that the norm of all of them together is at most `clip_norm`.

    `tf.clip_by_global_norm` would take the norm of a sparse gradient's rows before those of one
    index are added up, and would round gradients within the norm.

    Each gradient is scaled on its own device; a norm of 0 scales nothing.

    Returns:
      The gradients as tensors, None where there was None; and their global norm before, a scalar.
    """
    gradients = [_on_its_device(gradient, tf.convert_to_tensor) for gradient in gradients]
    norm = tf.linalg.global_norm([g for g in gradients if g is not None])
    if not clip_norm:
        return gradients, norm
    scale = clip_norm / tf.maximum(norm, clip_norm)
    return [_on_its_device(gradient, lambda g: g * scale) for gradient in gradients], norm


def _on_its_device(gradient, function):
    if gradient is None:
        return None
    with tf.device(gradient.device):
        return function(gradient)
