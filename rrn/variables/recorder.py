"""What towers read and compute, to be shown: their reads of variables, and their hidden states.

The recorder is opened around what is traced; each tower is a scope in it.
"""

import contextlib
import dataclasses
import threading
from collections.abc import Iterator, Mapping
from typing import Any

import tensorflow as tf


class _Local(threading.local):
    records: Any = None  # tower's name -> `Record`
    record: Any = None  # that of the tower whose scope is open


_local = _Local()


@dataclasses.dataclass
class Record:
    """What one tower has read and computed.

    Attributes:
      device: the tower's device, that of a tensor which has none of its own within XLA.
      reads: maps a variable's reference (`variable.ref()`) to how many times it was read.
      tensors: (name, shape, device) of recorded tensors; an unknown size is None.
    """

    scope: str
    device: str
    reads: dict[Any, int] = dataclasses.field(default_factory=dict)
    tensors: list[tuple[str, list[int | None], str]] = dataclasses.field(default_factory=list)


@contextlib.contextmanager
def recording() -> Iterator[dict[str, Record]]:
    """Keeps what towers note in this thread until it ends.

    Yields:
      Tower's name -> its `Record`. Of a tower that is traced several times the last trace counts.
    """
    _local.records = {}
    try:
        yield _local.records
    finally:
        _local.records = None


@contextlib.contextmanager
def tower_scope(name: str, device: str = "") -> Iterator[None]:
    """Within it, operations and records are a tower's, such as "tower 0", in a scope "tower_0"."""
    with tf.name_scope(name.replace(" ", "_")) as scope:
        if _local.records is not None:
            _local.record = _local.records[name] = Record(scope, device)
        try:
            yield
        finally:
            _local.record = None


def record(name: str, tensor: tf.Tensor) -> None:
    """Notes a tensor, if a recorder is open, by its name in the tower's name scope."""
    record = _local.record  # AutoGraph knows no :=
    if record is not None:
        full = f"{tf.get_current_name_scope()}/{name}".removeprefix(record.scope)
        record.tensors.append((full, list(tensor.shape), tensor.device or record.device))


def record_reads(counts: Mapping[Any, int]) -> None:
    """Notes `ReadingScope.counts`, if a recorder is open."""
    record = _local.record
    if record is not None:
        for variable, count in counts.items():
            record.reads[variable] = record.reads.get(variable, 0) + count
