"""Adam and RMSProp as TensorFlow 1 has them, Muon, the learning rate's course, clipping, and
averaged weights.
"""

import contextlib
import math
import re

import tensorflow as tf

from rrn.reading import map_shards, shards


def learning_rate(config, update):
    """The rate of an update (a float32 scalar).

    Linear warm-up over `warmup_updates`; then constant, or with `decay` = "cosine" half a cosine
    down to zero at `num_updates`, or with "exponential" times `decay_rate` in every `decay_updates`
    updates, smoothly (no staircase).
    """
    update = tf.cast(update, tf.float32)
    rate = tf.constant(config.learning_rate, tf.float32)
    if config.warmup_updates:
        rate *= tf.minimum(1.0, (update + 1.0) / config.warmup_updates)
    since_warmup = tf.maximum(update - config.warmup_updates, 0.0)
    if config.decay == "cosine":
        decay_updates = max(config.num_updates - config.warmup_updates, 1)
        rate *= 0.5 * (1.0 + tf.cos(math.pi * tf.minimum(since_warmup / decay_updates, 1.0)))
    elif config.decay == "exponential":
        if not (0.0 < config.decay_rate <= 1.0 and config.decay_updates > 0):
            raise ValueError(
                "train.decay exponential needs a decay_rate in (0, 1] and decay_updates above 0, "
                f"got {config.decay_rate} and {config.decay_updates}"
            )
        rate *= config.decay_rate ** (since_warmup / config.decay_updates)
    elif config.decay != "constant":
        raise ValueError(
            f"train.decay must be constant, cosine or exponential, got {config.decay!r}"
        )
    return rate


def clip_by_global_norm(gradients, clip_norm):
    """(gradients scaled to a global norm of at most `clip_norm`, their norm before); 0: none."""
    # A sparse gradient may hold a row several times; the norm is that of their sum.
    gradients = [None if g is None else _where_it_is(g, tf.convert_to_tensor) for g in gradients]
    norm = tf.linalg.global_norm([g for g in gradients if g is not None])
    if not clip_norm:
        return gradients, norm
    scale = clip_norm / tf.maximum(norm, clip_norm)
    scaled = [None if g is None else _where_it_is(g, lambda g: g * scale) for g in gradients]
    return scaled, norm


def _where_it_is(gradient, function):
    with tf.device(gradient.device):
        return function(gradient)


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
        """One update; `update` counts from 0, `gradients` are the variables' shards'. A variable
        whose gradient is None keeps value and slots.
        """
        t = tf.cast(update + 1, tf.float32)
        lists = shards(self.variables_), shards(self.m), shards(self.v), gradients
        for variable, m, v, gradient in zip(*lists, strict=True):
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
                    use_locking=True,  # workers may update at the same time
                )


class RMSProp(tf.Module):
    """s = ρ s + (1 - ρ) g²;  m = μ m + rate g / sqrt(s + ε);  w = w - m

    (TensorFlow 1's formula: ε is within the root, and s starts at 1.) Slots stand beside their
    variable.
    """

    def __init__(self, variables, rho=0.9, momentum=0.0, epsilon=1e-10):
        super().__init__(name="rmsprop")
        self.rho, self.momentum, self.epsilon = rho, momentum, epsilon
        self.variables_ = variables
        self.s = [_slot(variable, "s", tf.ones_like) for variable in variables]
        self.m = [_slot(variable, "m") for variable in variables]

    def apply(self, gradients, rate, update):
        """As `Adam.apply`; RMSProp is the same at every update."""
        lists = shards(self.variables_), shards(self.s), shards(self.m), gradients
        for variable, s, m, gradient in zip(*lists, strict=True):
            if gradient is None:
                continue
            with tf.device(variable.device):
                tf.raw_ops.ResourceApplyRMSProp(
                    var=variable.handle,
                    ms=s.handle,
                    mom=m.handle,
                    lr=rate,
                    rho=self.rho,
                    momentum=self.momentum,
                    epsilon=self.epsilon,
                    grad=tf.convert_to_tensor(gradient),
                    use_locking=True,
                )


class Muon(tf.Module):
    """For matrices m = μ m + g;  w = w - 0.2 sqrt(max(rows, columns)) rate O(g + μ m)

    (Jordan et al. 2024, with the factor of Liu et al., arXiv 2502.16982, for which Adam's rates
    fit.) O is `orthogonalized`: all directions of the update have the same length, so that one in
    which the gradients are small is learned, too. All other variables are Adam's, and so are the
    matrices in whose names the regular expression `exclude` is found, if it is not empty (Jordan's
    advice for the weights of inputs and outputs). A matrix in shards is put together on the device
    of its first. Unlike Adam's, updates that workers make at the same time are not locked: one may
    overwrite another's m.

    Raises:
      ValueError: `exclude` is no regular expression, or is found in no matrix's name.
    """

    def __init__(self, variables, exclude="", momentum=0.95):
        super().__init__(name="muon")
        self.momentum, self.variables_ = momentum, variables
        matrices = [variable for variable in variables if variable.shape.rank == 2]
        excluded = _found(exclude, matrices) if exclude else set()
        self.matrices = [matrix for matrix in matrices if id(matrix) not in excluded]
        by_muon = {id(matrix) for matrix in self.matrices}
        self.adam = Adam([variable for variable in variables if id(variable) not in by_muon])
        self.m = [_slot(variable, "m") for variable in self.matrices]

    def apply(self, gradients, rate, update):
        """As `Adam.apply`."""
        pairs = zip(shards(self.variables_), gradients, strict=True)
        gradients = {shard.ref(): gradient for shard, gradient in pairs}
        others = shards(self.adam.variables_)
        self.adam.apply([gradients[shard.ref()] for shard in others], rate, update)
        for variable, m in zip(self.matrices, self.m, strict=True):
            parts = shards([variable])
            part_gradients = [gradients[part.ref()] for part in parts]
            if any(gradient is None for gradient in part_gradients):
                continue
            ahead = [
                self._ahead(part_m, gradient)
                for part_m, gradient in zip(shards([m]), part_gradients, strict=True)
            ]
            with tf.device(parts[0].device):
                step = rate * 0.2 * max(variable.shape) ** 0.5
                change = step * orthogonalized(tf.concat(ahead, axis=0))
            rows = [part.shape[0] for part in parts]
            for part, part_change in zip(parts, tf.split(change, rows), strict=True):
                with tf.device(part.device):
                    part.assign_sub(part_change)

    def _ahead(self, m, gradient):
        """g + μ m, with the m after g."""
        with tf.device(m.device):
            gradient = tf.convert_to_tensor(gradient)
            return gradient + self.momentum * m.assign(self.momentum * m + gradient)


def _found(pattern, matrices):
    """The `id`s of the matrices in whose names the pattern is found."""
    try:
        found = {id(matrix) for matrix in matrices if re.search(pattern, matrix.name)}
    except re.error as error:
        message = f"train.muon_exclude {pattern!r} is no regular expression: {error}"
        raise ValueError(message) from None
    if not found:
        names = ", ".join(matrix.name.removesuffix(":0") for matrix in matrices)
        raise ValueError(f"train.muon_exclude {pattern!r} is found in none of {names}")
    return found


def orthogonalized(matrix):
    """U f(S) V' of `matrix` = U S V', f taking singular values to between 0.7 and 1.2 or so, by
    five steps of Newton and Schulz's iteration (with Jordan's coefficients).
    """
    upright = matrix.shape[0] > matrix.shape[1]  # products with the smaller Gram matrix
    x = matrix / (tf.norm(matrix) + 1e-7)  # no singular value is above 1
    for _ in range(5):
        gram = tf.matmul(x, x, transpose_a=upright, transpose_b=not upright)
        polynomial = -4.7750 * gram + 2.0315 * tf.matmul(gram, gram)
        x = 3.4445 * x + (tf.matmul(x, polynomial) if upright else tf.matmul(polynomial, x))
    return x


OPTIMIZERS = {"adam": Adam, "rmsprop": RMSProp, "muon": Muon}


def create_optimizer(config, variables):
    """The variables' optimizer, `config.optimizer`; Muon's takes `config.muon_exclude`."""
    name = config.optimizer
    if name not in OPTIMIZERS:
        raise ValueError(f"train.optimizer must be one of {', '.join(OPTIMIZERS)}, got {name!r}")
    if name == "muon":
        return Muon(variables, config.muon_exclude)
    return OPTIMIZERS[name](variables)


def _slot(variable, name, initial=tf.zeros_like):
    def create(shard):
        with tf.device(shard.device):
            full_name = f"{shard.name.removesuffix(':0')}/{name}"
            return tf.Variable(initial(shard), trainable=False, name=full_name)

    return map_shards(create, variable)


class AveragedWeights(tf.Module):
    """Exponential averages of the variables: a = decay a + (1 - decay) w after every update."""

    def __init__(self, variables, decay):
        super().__init__(name="averages")
        self.decay, self.variables_ = decay, variables
        self.averages = [_slot(variable, "average") for variable in variables]
        self._set(self.averages, variables)

    def update(self):
        for average, variable in zip(shards(self.averages), shards(self.variables_), strict=True):
            with tf.device(variable.device):
                average.assign_add((1.0 - self.decay) * (variable - average))

    @contextlib.contextmanager
    def in_place(self):
        """Within it the variables hold their averages."""
        values = [_where_it_is(shard, tf.identity) for shard in shards(self.variables_)]
        self._set(self.variables_, self.averages)
        try:
            yield
        finally:
            for value, variable in zip(values, shards(self.variables_), strict=True):
                variable.assign(value)

    def _set(self, variables, others):
        for variable, other in zip(shards(variables), shards(others), strict=True):
            variable.assign(other)
