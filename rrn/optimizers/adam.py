"""Adam, with TensorFlow 1's formula."""

from collections.abc import Sequence

import tensorflow as tf

from rrn.optimizers.optimizer import Gradient, Optimizer, create_slot
from rrn.variables.reading import Variable


class Adam(Optimizer):
    """Changes variables as Kingma and Ba (2015) propose, with TensorFlow 1's formula.

    At update t = 1, 2, ..., with the gradient g of a variable w:

        rate_t = rate sqrt(1 - β2^t) / (1 - β1^t)
        m = β1 m + (1 - β1) g
        v = β2 v + (1 - β2) g²
        w = w - rate_t m / (sqrt(v) + ε)

    The formula adds ε to the uncorrected sqrt(v).
    """

    def __init__(
        self,
        variables: Sequence[Variable],
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-8,
    ):
        super().__init__(variables, name="adam")
        self.beta_1, self.beta_2, self.epsilon = beta_1, beta_2, epsilon
        self.m = [create_slot(variable, "m") for variable in variables]
        self.v = [create_slot(variable, "v") for variable in variables]

    def apply(
        self, gradients: Sequence[Gradient], rate: float | tf.Tensor, update: int | tf.Tensor
    ) -> None:
        t = tf.cast(update + 1, tf.float32)
        for variable, m, v, gradient in self._each(gradients, self.m, self.v):
            tf.raw_ops.ResourceApplyAdam(
                var=variable.handle,
                m=m.handle,
                v=v.handle,
                beta1_power=tf.pow(self.beta_1, t),
                beta2_power=tf.pow(self.beta_2, t),
                lr=rate,
                beta1=self.beta_1,
                beta2=self.beta_2,
                epsilon=self.epsilon,
                grad=gradient,
                use_locking=True,  # workers may update at the same time
            )
