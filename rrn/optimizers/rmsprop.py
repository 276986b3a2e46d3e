"""RMSProp, with TensorFlow 1's formula."""

from collections.abc import Sequence

import tensorflow as tf

from rrn.optimizers.optimizer import Gradient, Optimizer, create_slot
from rrn.variables.reading import Variable


class RMSProp(Optimizer):
    """Changes variables by gradients divided by their recent size, with TensorFlow 1's formula.

    At every update, with the gradient g of a variable w:

        s = ρ s + (1 - ρ) g²
        m = μ m + rate g / sqrt(s + ε)
        w = w - m

    In this formula ε is within the root, and s starts at 1. μ is the momentum.
    """

    def __init__(
        self,
        variables: Sequence[Variable],
        rho: float = 0.9,
        momentum: float = 0.0,
        epsilon: float = 1e-10,
    ):
        super().__init__(variables, name="rmsprop")
        self.rho, self.momentum, self.epsilon = rho, momentum, epsilon
        self.s = [create_slot(variable, "s", tf.ones_like) for variable in variables]
        self.m = [create_slot(variable, "m") for variable in variables]

    def apply(
        self, gradients: Sequence[Gradient], rate: float | tf.Tensor, update: int | tf.Tensor
    ) -> None:
        for variable, s, m, gradient in self._each(gradients, self.s, self.m):
            tf.raw_ops.ResourceApplyRMSProp(
                var=variable.handle,
                ms=s.handle,
                mom=m.handle,
                lr=rate,
                rho=self.rho,
                momentum=self.momentum,
                epsilon=self.epsilon,
                grad=gradient,
                use_locking=True,  # workers may update at the same time
            )
