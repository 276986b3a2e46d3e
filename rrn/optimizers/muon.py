"""Muon for matrices, with Adam for all other variables."""

import collections
import re
from collections.abc import Sequence

import tensorflow as tf

from rrn.compiling import is_compiling
from rrn.hardware import multiplies_bfloat16_faster
from rrn.optimizers.optimizer import Optimizer, create_slot
from rrn.optimizers.tensorflow1 import Adam
from rrn.variables.reading import Variable, shards
from rrn.variables.sharded import ShardedVariable, known_size

SIZE_FOR_BFLOAT16 = 128  # of the shorter side: casts of smaller matrices take what products save


class Muon(Optimizer):
    """Changes matrices by updates with equally long directions, and other variables as Adam.

    At every update, with the gradient g of a matrix w:

        m = μ m + g
        w = w - rate λ w - 0.2 sqrt(max(rows, columns)) rate O(g + μ m)

    (Jordan et al. 2024, with the factor of Liu et al., arXiv 2502.16982, for which Adam's rates
    fit.) O is `orthogonalized`, so that a direction in which the gradients are small is learned,
    too; of all matrices of one shape together.

    All other variables are Adam's. A matrix in shards is put together on the device of its first
    shard. Muon does not lock a variable while it changes it, as Adam does: of two workers that
    update at the same time, one may overwrite the other's m.

    Args:
      exclude: a regular expression that must be found in some matrix's name, or empty. Such
        matrices are Adam's, too; Jordan advises this for the weights of inputs and outputs.
      weight_decay: λ. What is Adam's does not decay.
      momentum: μ.
    """

    def __init__(self, variables: Sequence[Variable], exclude="", weight_decay=0.0, momentum=0.95):
        super().__init__(variables, name="muon")
        self.weight_decay, self.momentum = weight_decay, momentum
        matrices = [variable for variable in variables if variable.shape.rank == 2]
        self.matrices = _not_excluded(matrices, exclude) if exclude else matrices
        by_muon = {id(matrix) for matrix in self.matrices}
        self.adam = Adam([variable for variable in variables if id(variable) not in by_muon])
        self.m = [create_slot(variable, "m") for variable in self.matrices]

    def apply(self, gradients, rate, update) -> None:
        pairs = zip(shards(self.variables_), gradients, strict=True)
        of_shard = {shard.ref(): gradient for shard, gradient in pairs}
        others = shards(self.adam.variables_)
        self.adam.apply([of_shard[shard.ref()] for shard in others], rate, update)
        together = collections.defaultdict(list)  # matrices of one shape on one device
        for variable, m in zip(self.matrices, self.m, strict=True):
            own = [of_shard[part.ref()] for part in shards([variable])]
            if all(gradient is not None for gradient in own):
                shape = known_size(variable, 0), known_size(variable, 1)
                ahead = self._ahead(variable, m, own)
                together[shards([variable])[0].device, shape].append((variable, ahead))
        for (device, shape), pairs in together.items():
            matrices, ahead = zip(*pairs, strict=True)
            with tf.device(device):
                step = rate * 0.2 * max(shape) ** 0.5
                changes = step * orthogonalized(tf.stack(ahead), product_type(matrices[0]))
            for variable, change in zip(matrices, tf.unstack(changes), strict=True):
                self._change(variable, change, rate)

    def _ahead(self, variable, m, gradients):
        """The sum g + μ m of a matrix, with the m after g, on the device of its first shard."""
        parts = []
        for part, gradient in zip(shards([m]), gradients, strict=True):
            with tf.device(part.device):
                gradient = tf.convert_to_tensor(gradient)
                moved = part.assign(self.momentum * part + gradient)
                parts.append(gradient + self.momentum * moved)
        with tf.device(shards([variable])[0].device):
            return parts[0] if len(parts) == 1 else tf.concat(parts, _axis(variable))

    def _change(self, variable, change, rate):
        """Subtracts a change and the decay from a matrix."""
        parts, axis = shards([variable]), _axis(variable)
        lengths = [known_size(part, axis) for part in parts]
        changes = [change] if len(parts) == 1 else tf.split(change, lengths, axis)
        for part, part_change in zip(parts, changes, strict=True):
            with tf.device(part.device):
                decay = rate * self.weight_decay * part if self.weight_decay else 0.0
                part.assign_sub(part_change + decay, read_value=False)


def _axis(variable):
    """The axis along which a matrix lies in shards."""
    return variable.axis if isinstance(variable, ShardedVariable) else 0


def _not_excluded(matrices, pattern):
    """The matrices in whose names the pattern is not found."""
    try:
        names = [matrix.name.removesuffix(":0") for matrix in matrices]
        pairs = zip(matrices, names, strict=True)
        kept = [matrix for matrix, name in pairs if not re.search(pattern, name)]
    except re.error as error:
        raise ValueError(f"exclude: {pattern!r} is no regular expression: {error}") from None
    if len(kept) == len(matrices):
        found = ", ".join(names)
        raise ValueError(f"exclude: {pattern!r} is found in none of the matrices {found}")
    return kept


def product_type(matrix: Variable) -> tf.DType:
    """Chooses the products' type: bfloat16, as Jordan's, for large matrices where it is faster.

    A change in bfloat16 differs from that in float32 by some hundredths of its length.
    """
    on_cpu = "GPU" not in shards([matrix])[0].device and not is_compiling()
    large = min(known_size(matrix, 0), known_size(matrix, 1)) >= SIZE_FOR_BFLOAT16
    return tf.bfloat16 if on_cpu and large and multiplies_bfloat16_faster() else tf.float32


def orthogonalized(matrices: tf.Tensor, dtype: tf.DType = tf.float32) -> tf.Tensor:
    """Makes each matrix's singular values about equal and keeps its singular vectors.

    Five steps of Newton and Schulz's iteration, with Jordan's coefficients, make of float32
    matrices U S V' `[..., rows, columns]` U f(S) V', with f(S) between 0.7 and 1.2 or so. The
    products are of type dtype.
    """
    upright = known_size(matrices, -2) > known_size(matrices, -1)  # the smaller Gram matrix

    def product(a, b, **transposed):
        return tf.cast(tf.matmul(a, b, **transposed), tf.float32)

    a, b, c = map(tf.constant, (3.4445, -4.7750, 2.0315))
    x = matrices / (tf.norm(matrices, axis=[-2, -1], keepdims=True) + 1e-7)  # none is above 1
    for _ in range(5):
        low = tf.cast(x, dtype)
        gram = product(low, low, transpose_a=upright, transpose_b=not upright)
        low_gram = tf.cast(gram, dtype)
        polynomial = tf.cast(b * gram + c * product(low_gram, low_gram), dtype)
        x = a * x + (product(low, polynomial) if upright else product(polynomial, low))
    return x
