"""What every optimizer has: its variables, its slots, and `apply`."""

from collections.abc import Callable, Sequence

import tensorflow as tf

from rrn.variables.reading import Variable, map_shards

Gradient = tf.Tensor | tf.IndexedSlices | None


class Optimizer(tf.Module):
    """Changes variables by their gradients; the base class of all optimizers.

    Args:
      variables: the variables to train, whole or in shards, in the order of their gradients.
      name: the first part of the slots' names in checkpoints.
    """

    def __init__(self, variables: Sequence[Variable], name: str):
        super().__init__(name=name)
        self.variables_ = variables

    def apply(
        self, gradients: Sequence[Gradient], rate: float | tf.Tensor, update: int | tf.Tensor
    ) -> None:
        """Makes one update.

        Args:
          gradients: one gradient for each variable, in the variables' order. Of a variable in
            shards, one for each shard. A variable whose gradient is None keeps its value and its
            slots.
          rate: the learning rate of this update.
          update: the number of updates before this one.
        """
        raise NotImplementedError


def create_slot(
    variable: Variable, name: str, initial: Callable[[tf.Variable], tf.Tensor] = tf.zeros_like
) -> Variable:
    """Creates a variable beside another one, on the same device and in the same shards.

    It is not trainable.

    Args:
      name: what follows the variable's name in the slot's: `m` gives `linear/w/m`.
      initial: a function from a variable, or a shard, to its slot's first value.
    """

    def create(shard):
        with tf.device(shard.device):
            full_name = f"{shard.name.removesuffix(':0')}/{name}"
            return tf.Variable(initial(shard), trainable=False, name=full_name)

    return map_shards(create, variable)
