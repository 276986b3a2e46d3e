"""Reading variables: once per scope, however many steps of a network ask for them.

A recurrent relational network uses the same variables at every step. Where they live on another
device or machine, each read is a copy. Within `reading_scope` a variable is read (and cast) once,
and every later `read` of it returns the same tensor. Gradients flow to the variable as usual.

A variable may be a `ShardedVariable`, or TensorFlow's own of that name. Layers read it as any
other. Gradients, updates and listings iterate over `shards(variables)`; names, saving and loading
use whole variables.
"""

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import tensorflow as tf

from rrn.variables.sharded import SHARDED, ShardedVariable

Variable = tf.Variable | ShardedVariable
_local = threading.local()


def shards(variables: Iterable[Variable]) -> list[tf.Variable]:
    """Lists variables in their order, with each `ShardedVariable` replaced by its shards."""
    return [s for v in variables for s in (v.variables if isinstance(v, SHARDED) else [v])]


def map_shards(function: Callable[[tf.Variable], tf.Variable], variable: Variable) -> Variable:
    """Makes a variable, such as an optimizer's slot, shard by shard from those of another one."""
    parts = [function(shard) for shard in shards([variable])]
    if not isinstance(variable, ShardedVariable):
        return parts[0]
    name = parts[0].name.removesuffix(":0").replace("/part_0", "")
    return ShardedVariable(parts, name, variable.axis)


def module_variables(module: tf.Module) -> list[Variable]:
    """Lists a module's trainable variables, whole, in the order of `tf.Module.variables`.

    `tf.Module.trainable_variables` lists the shards of a `ShardedVariable` instead.
    """
    flatten = module._flatten  # pyright: ignore[reportAttributeAccessIssue] (no stub)
    every = flatten(predicate=lambda v: isinstance(v, (tf.Variable, ShardedVariable)))
    every = [variable for variable in every if shards([variable])[0].trainable]
    parts = {id(part) for v in every if isinstance(v, ShardedVariable) for part in v.variables}
    return [variable for variable in every if id(variable) not in parts]


class ReadingScope:
    """What one reader has read.

    Args:
      given: a variable's reference -> the value that reads return; others are read themselves.

    Attributes:
      counts: a variable's reference -> how often it was read. Shards are counted one by one.
    """

    def __init__(self, given: Mapping[Any, tf.Tensor] | None = None):
        self.counts = {}
        self.given, self._tensors = given or {}, {}

    def read(self, variable: Variable, dtype: tf.DType) -> tf.Tensor:
        """Reads a variable, once for each type to which it is cast.

        A `ShardedVariable` is put together from its shards.
        """
        sharded = isinstance(variable, SHARDED)
        key = (id(variable) if sharded else variable.ref(), dtype)
        if key not in self._tensors:
            if dtype != variable.dtype:
                self._tensors[key] = tf.cast(self.read(variable, variable.dtype), dtype)
            elif sharded:
                parts = [self.read(shard, dtype) for shard in variable.variables]
                self._tensors[key] = tf.concat(parts, getattr(variable, "axis", 0))
            else:
                given = self.given.get(variable.ref())
                self._tensors[key] = tf.convert_to_tensor(variable) if given is None else given
                self.counts[variable.ref()] = self.counts.get(variable.ref(), 0) + 1
        return self._tensors[key]


@contextlib.contextmanager
def reading_scope(given: Mapping[Any, tf.Tensor] | None = None) -> Iterator[ReadingScope]:
    """Opens a scope, with values from `values_of`, for every `read` of this thread.

    A scope within it has reads of its own.
    """
    outer = getattr(_local, "scope", None)
    _local.scope = ReadingScope(given)
    try:
        yield _local.scope
    finally:
        _local.scope = outer


@contextlib.contextmanager
def checked_reads(name: str) -> Iterator[None]:
    """Raises ValueError where a user's code in it reads trainable variables without `read`.

    If values are given, gradients would not reach such variables, and XLA could not read them.
    """
    scope = getattr(_local, "scope", None)
    if scope is None or not scope.given:
        yield
        return
    with tf.GradientTape() as tape:
        yield
    directly = [variable.name for variable in tape.watched_variables()]
    if directly:
        raise ValueError(
            f"{name} must read its variables with rrn.variables.reading.read, and read otherwise: "
            f"{', '.join(directly)}"
        )


def values_of(variables: Iterable[Variable]) -> dict[Any, tf.Tensor]:
    """Reads variables or shards for code that cannot: a loop's body, or XLA on another device.

    Returns:
      A variable's, or shard's, reference -> its value, which `reading_scope` takes.
    """
    return {shard.ref(): read(shard) for shard in shards(variables)}


def read(variable: Variable, dtype: tf.DType | str | None = None) -> tf.Tensor:
    """Reads a variable, from the current scope if there is one, as `dtype` if that is given."""
    dtype = tf.as_dtype(dtype or variable.dtype)
    scope = getattr(_local, "scope", None) or ReadingScope()
    return scope.read(variable, dtype)
