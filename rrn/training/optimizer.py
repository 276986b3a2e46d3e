"""Adam as TensorFlow 1 has it, the learning rate's course, clipping, and averaged weights."""

import contextlib
import math

import tensorflow as tf


def learning_rate(config, update):
    """The rate of an update (a float32 scalar).

    Linear warm-up over `warmup_updates`; then constant, or with `decay` = "cosine" half a cosine
    down to zero at `num_updates`.
    """
    update = tf.cast(update, tf.float32)
    rate = tf.constant(config.learning_rate, tf.float32)
    if config.warmup_updates:
        rate *= tf.minimum(1.0, (update + 1.0) / config.warmup_updates)
    if config.decay == "cosine":
        decay_updates = max(config.num_updates - config.warmup_updates, 1)
        progress = tf.clip_by_value((update - config.warmup_updates) / decay_updates, 0.0, 1.0)
        rate *= 0.5 * (1.0 + tf.cos(math.pi * progress))
    elif config.decay != "constant":
        raise ValueError(f"train.decay must be constant or cosine, got {config.decay!r}")
    return rate


def clip_by_global_norm(gradients, clip_norm):
    """(gradients scaled to a global norm of at most `clip_norm`, their norm before); 0: none."""
    # A sparse gradient may hold a row several times; the norm is that of their sum.
    gradients = [None if g is None else tf.convert_to_tensor(g) for g in gradients]
    norm = tf.linalg.global_norm([g for g in gradients if g is not None])
    if not clip_norm:
        return gradients, norm
    scale = clip_norm / tf.maximum(norm, clip_norm)
    return [None if g is None else g * scale for g in gradients], norm


class Adam(tf.Module):
    """At update t = 1, 2, ...:  rate_t = rate sqrt(1 - β2^t) / (1 - β1^t);
    m = β1 m + (1 - β1) g;  v = β2 v + (1 - β2) g²;  w = w - rate_t m / (sqrt(v) + ε)

    (TensorFlow 1's formula: ε is added to the uncorrected sqrt(v).) Slots stand beside their
    variable.
    """

    def __init__(self, variables, beta_1=0.9, beta_2=0.999, epsilon=1e-8):
        super().__init__(name="adam")
        self.beta_1, self.beta_2, self.epsilon = beta_1, beta_2, epsilon
        self.variables_ = variables
        self.m = [_slot(variable, "m") for variable in variables]
        self.v = [_slot(variable, "v") for variable in variables]

    def apply(self, gradients, rate, update):
        """One update; `update` counts from 0. A variable whose gradient is None keeps value and
        slots.
        """
        t = tf.cast(update + 1, tf.float32)
        for variable, m, v, gradient in zip(
            self.variables_, self.m, self.v, gradients, strict=True
        ):
            if gradient is None:
                continue
            with tf.device(variable.device):
                tf.raw_ops.ResourceApplyAdam(
                    var=variable.handle,
                    m=m.handle,
                    v=v.handle,
                    beta1_power=self.beta_1**t,
                    beta2_power=self.beta_2**t,
                    lr=rate,
                    beta1=self.beta_1,
                    beta2=self.beta_2,
                    epsilon=self.epsilon,
                    grad=tf.convert_to_tensor(gradient),
                )


def _slot(variable, name):
    with tf.device(variable.device):
        name = f"{variable.name.removesuffix(':0')}/{name}"
        return tf.Variable(tf.zeros_like(variable), trainable=False, name=name)


class AveragedWeights(tf.Module):
    """Exponential averages of the variables: a = decay a + (1 - decay) w after every update."""

    def __init__(self, variables, decay):
        super().__init__(name="averages")
        self.decay, self.variables_ = decay, variables
        self.averages = [_slot(variable, "average") for variable in variables]
        for average, variable in zip(self.averages, variables, strict=True):
            average.assign(variable)

    def update(self):
        for average, variable in zip(self.averages, self.variables_, strict=True):
            with tf.device(variable.device):
                average.assign_add((1.0 - self.decay) * (variable - average))

    @contextlib.contextmanager
    def in_place(self):
        """Within it the variables hold their averages."""
        values = [tf.identity(variable) for variable in self.variables_]
        for average, variable in zip(self.averages, self.variables_, strict=True):
            variable.assign(average)
        try:
            yield
        finally:
            for value, variable in zip(values, self.variables_, strict=True):
                variable.assign(value)
