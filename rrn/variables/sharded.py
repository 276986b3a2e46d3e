"""A variable on several devices: shards along one of its axes.

TensorFlow's own `ShardedVariable` is cut along the first axis alone. The kernel of a 3 x 3
convolution has three rows along it, so that two servers could not share it evenly.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.python.distribute import sharded_variable
from tensorflow.python.training.saving.saveable_object_util import ResourceVariableSaveable


def known_size(value: Any, axis: int) -> int:
    """Finds the size of an axis of a variable or tensor.

    Raises:
      ValueError: it is not known before anything runs.
    """
    size = value.shape[axis]  # AutoGraph knows no :=
    if size is None:
        raise ValueError(f"the size of axis {axis} must be known, got shape {value.shape}")
    return size


class ShardedVariable(tf.Module):
    """Variables of one shape but for an axis, along which they are the parts of a larger one.

    `variables` are the shards, and so are the `variables` of a module that has this one.
    `tf.convert_to_tensor` concatenates them. A checkpoint holds them as one whole tensor, from
    which whole variables, or other shards, can be restored.
    """

    def __init__(self, parts: Sequence[tf.Variable], name: str, axis: int = 0):
        super().__init__()
        self._name, self.axis, self._parts = name, axis, list(parts)
        self._lengths = [known_size(part, axis) for part in parts]
        shape = parts[0].shape.as_list()
        shape[axis] = sum(self._lengths)
        self.shape, self.dtype = tf.TensorShape(shape), parts[0].dtype

    def assign(self, value: tf.Tensor | np.ndarray) -> None:
        """Sets the shards from their values put together, of the whole variable's shape."""
        value = tf.convert_to_tensor(value, self.dtype)
        self.shape.assert_is_compatible_with(value.shape)
        parts = tf.split(value, self._lengths, self.axis)
        for variable, part in zip(self.variables, parts, strict=True):
            variable.assign(part)

    def __tf_tensor__(self, dtype=None, name=None):
        whole = tf.concat(self.variables, self.axis, name=name or "concat")
        return whole if dtype is None else tf.cast(whole, dtype)

    # For `tf.train.Checkpoint`: every shard is saved, and restored, as a slice of the whole.

    def _gather_saveables_for_checkpoint(self):
        slice_of = tf.Variable.SaveSliceInfo  # pyright: ignore[reportAttributeAccessIssue] (no stub)

        def saveables(name=self.name):
            starts = np.cumsum([0, *self._lengths])
            saved = []
            for part, start in zip(self.variables, starts, strict=False):
                offset = [0] * self.shape.rank
                offset[self.axis] = int(start)
                shapes = self.shape.as_list(), offset, part.shape.as_list()
                part_of = slice_of(name, *shapes).spec
                saved.append(ResourceVariableSaveable(part, part_of, name))
            return saved

        return {"VARIABLE_VALUE": saveables}  # as a whole variable's

    def _trackable_children(self, *args, **kwargs):
        return {}  # the shards are not saved once more


# TensorFlow's own are those of its strategies with a partitioner; they are read alike.
SHARDED = ShardedVariable, sharded_variable.ShardedVariable
