"""Adam and RMSProp, with TensorFlow 1's formulas."""

from collections.abc import Sequence

import tensorflow as tf

from rrn.optimizers.optimizer import Optimizer, create_slot
from rrn.variables.reading import Variable


class Adam(Optimizer):
    """Changes variables as Kingma and Ba (2015) propose, with TensorFlow 1's formula.

    At update t = 1, 2, ..., with the gradient g of a variable w:

        rate_t = rate sqrt(1 - β2^t) / (1 - β1^t)
        m = β1 m + (1 - β1) g
        v = β2 v + (1 - β2) g²
        w = w - rate_t m / (sqrt(v) + ε)
    """

    def __init__(self, variables: Sequence[Variable], beta_1=0.9, beta_2=0.999, epsilon=1e-8):
        super().__init__(variables, name="adam")
        self.beta_1, self.beta_2, self.epsilon = beta_1, beta_2, epsilon
        self.m = [create_slot(variable, "m") for variable in variables]
        self.v = [create_slot(variable, "v") for variable in variables]

    def apply(self, gradients, rate, update) -> None:
        t = tf.cast(update + 1, tf.float32)
        beta_1, beta_2, epsilon = map(tf.constant, (self.beta_1, self.beta_2, self.epsilon))
        powers = tf.pow(beta_1, t), tf.pow(beta_2, t)
        for variable, m, v, gradient in self._each(gradients, self.m, self.v):
            tf.raw_ops.ResourceApplyAdam(
                var=variable.handle,
                m=m.handle,
                v=v.handle,
                beta1_power=powers[0],
                beta2_power=powers[1],
                lr=rate,
                beta1=beta_1,
                beta2=beta_2,
                epsilon=epsilon,
                grad=gradient,
                use_locking=True,  # workers may update at the same time
            )


class RMSProp(Optimizer):
    """Changes variables by gradients divided by their recent size, with TensorFlow 1's formula.

    At every update, with the gradient g of a variable w:

        s = ρ s + (1 - ρ) g²
        m = μ m + rate g / sqrt(s + ε)
        w = w - m

    s starts at 1; μ is the momentum.
    """

    def __init__(self, variables: Sequence[Variable], rho=0.9, momentum=0.0, epsilon=1e-10):
        super().__init__(variables, name="rmsprop")
        self.rho, self.momentum, self.epsilon = rho, momentum, epsilon
        self.s = [create_slot(variable, "s", tf.ones_like) for variable in variables]
        self.m = [create_slot(variable, "m") for variable in variables]

    def apply(self, gradients, rate, update) -> None:
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
                use_locking=True,  # as Adam
            )
