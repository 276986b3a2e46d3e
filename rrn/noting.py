"""Tensors that a network notes, to be shown: messages, hidden states.

Nothing is kept where nobody listens. A tensor is noted under the name scope in which it is made, as
`tower_0/step_1/hidden`.
"""

import contextlib
import threading
from collections.abc import Iterator

import tensorflow as tf

_local = threading.local()


@contextlib.contextmanager
def noting() -> Iterator[list[tuple[str, tf.Tensor]]]:
    """Opens a scope that keeps what is noted in this thread until it ends.

    Yields:
      The notes, (name, tensor), in their order. A scope within it has notes of its own.
    """
    outer = getattr(_local, "notes", None)
    _local.notes = []
    try:
        yield _local.notes
    finally:
        _local.notes = outer


def note(name: str, tensor: tf.Tensor) -> None:
    """Notes a tensor, if a scope is open.

    Args:
      name: what it is; the current name scope comes before it.
      tensor: the tensor.
    """
    notes = getattr(_local, "notes", None)
    if notes is not None:
        notes.append((f"{tf.get_current_name_scope()}/{name}".lstrip("/"), tensor))
