"""Moving averages of variables."""

import contextlib
from collections.abc import Iterator, Sequence

import tensorflow as tf

from rrn.optimizers.optimizer import create_slot
from rrn.variables.reading import Variable, shards


class MovingAverages(tf.Module):
    """Exponential averages of variables: a = decay a + (1 - decay) w after every update.

    The averages begin with the variables' values, each on its variable's device.
    """

    def __init__(self, variables: Sequence[Variable], decay: float):
        super().__init__(name="averages")
        self.decay, self.variables_ = decay, variables
        self.averages = [create_slot(variable, "average") for variable in variables]
        _assign(self.averages, variables)

    def update(self) -> None:
        """Moves the averages towards the variables; to be called after every update of these."""
        rate = tf.constant(1.0 - self.decay)
        for average, variable in zip(shards(self.averages), shards(self.variables_), strict=True):
            with tf.device(variable.device):
                average.assign_add(rate * (variable - average), read_value=False)

    @contextlib.contextmanager
    def in_place(self) -> Iterator[None]:
        """Within it the variables hold their averages; afterwards they have their values back."""
        values = []
        for variable in shards(self.variables_):
            with tf.device(variable.device):
                values.append(tf.identity(variable))
        _assign(self.variables_, self.averages)
        try:
            yield
        finally:
            for value, variable in zip(values, shards(self.variables_), strict=True):
                variable.assign(value)


def _assign(variables, others):
    for variable, other in zip(shards(variables), shards(others), strict=True):
        variable.assign(other)
