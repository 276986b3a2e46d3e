"""Reading variables: once per scope, however many steps of a network ask for them.

A recurrent relational network uses the same variables at every step. Where they live on another
device or another machine, each read is a copy; within `reading_scope` a variable is read (and cast)
once, and every later `read` of it returns the same tensor. Gradients flow to the variable as usual.
"""

import contextlib
import threading

import tensorflow as tf

_local = threading.local()


class ReadingScope:
    """What one reader has read: `counts` maps a variable's reference to its number of reads."""

    def __init__(self):
        self.counts = {}
        self._tensors = {}

    def give(self, variable, tensor):
        """Later reads of the variable return `tensor`."""
        self._tensors[variable.ref(), variable.dtype] = tensor

    def read(self, variable, dtype):
        key = (variable.ref(), dtype)
        if key not in self._tensors:
            if dtype == variable.dtype:
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
