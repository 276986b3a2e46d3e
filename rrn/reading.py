"""Reading variables: once per scope, however many steps of a network ask for them.

A recurrent relational network uses the same variables at every step. Where they live on another
device or another machine, each read is a copy; within `reading_scope` a variable is read (and cast)
once, and every later `read` of it returns the same tensor. Gradients flow to the variable as usual.

A variable may be a `ShardedVariable`: rows of it, its shards, are variables of their own in several
places. Layers read it as any other. Gradients, updates and listings iterate over
`shards(variables)`; names, saving and loading use whole variables.
"""

import contextlib
import threading

import tensorflow as tf

ShardedVariable = tf.__internal__.distribute.ShardedVariable
_local = threading.local()


def shards(variables):
    """A list of `tf.Variable`s: the variables, each `ShardedVariable` replaced by its shards."""
    return [s for v in variables for s in (v.variables if isinstance(v, ShardedVariable) else [v])]


def map_shards(function, variable):
    """A variable of what `function` makes, a variable, of each of the variable's shards."""
    made = [function(shard) for shard in shards([variable])]
    if not isinstance(variable, ShardedVariable):
        return made[0]
    return ShardedVariable(made, made[0].name.removesuffix(":0").replace("/part_0", ""))


def module_variables(module):
    """A module's trainable variables, whole; `tf.Module.trainable_variables` are their shards."""
    variables = module._flatten(predicate=lambda v: isinstance(v, (tf.Variable, ShardedVariable)))
    return [variable for variable in variables if shards([variable])[0].trainable]


class ReadingScope:
    """What one reader has read: `counts` maps a variable's reference to its number of reads."""

    def __init__(self):
        self.counts = {}
        self._tensors = {}

    def give(self, variable, tensor):
        """Later reads of the variable return `tensor`."""
        self._tensors[variable.ref(), variable.dtype] = tensor

    def read(self, variable, dtype):
        sharded = isinstance(variable, ShardedVariable)
        key = (id(variable) if sharded else variable.ref(), dtype)
        if key not in self._tensors:
            if sharded and dtype == variable.dtype:
                parts = [self.read(shard, dtype) for shard in variable.variables]
                self._tensors[key] = tf.concat(parts, 0)
            elif dtype == variable.dtype:
                self._tensors[key] = tf.convert_to_tensor(variable)
                self.counts[variable.ref()] = self.counts.get(variable.ref(), 0) + 1
            else:
                self._tensors[key] = tf.cast(self.read(variable, variable.dtype), dtype)
        return self._tensors[key]


@contextlib.contextmanager
def reading_scope():
    """Yields the `ReadingScope` that serves every `read` of this thread until the scope ends."""
    outer = getattr(_local, "scope", None)
    _local.scope = ReadingScope()
    try:
        yield _local.scope
    finally:
        _local.scope = outer


def read(variable, dtype=None):
    """The variable's value, cast to `dtype` if given; from the current scope if there is one."""
    dtype = tf.as_dtype(dtype or variable.dtype)
    scope = getattr(_local, "scope", None) or ReadingScope()
    return scope.read(variable, dtype)
