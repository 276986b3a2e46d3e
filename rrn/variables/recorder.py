"""What towers read and make, to be shown: variables, inputs, messages, hidden states.

Nothing is kept where nobody listens. The recorder is opened around what is traced; each tower is a
scope in it.
"""

import contextlib
import dataclasses
import threading
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import tensorflow as tf


class _Local(threading.local):
    """What a thread records; nothing at first."""

    records: Any = None  # tower's name -> `Record`
    record: Any = None  # that of the tower whose scope is open
    steps: int | None = None  # see `recording`


_local = _Local()


class Activation(NamedTuple):
    """A tensor of one tower.

    Attributes:
      shape: its shape; a size that differs from batch to batch is None. None where it has no known
        number of axes.
    """

    name: str
    shape: list[int | None] | None
    dtype: str
    device: str


@dataclasses.dataclass
class Record:
    """What one tower has read and made.

    Attributes:
      reads: maps a variable's reference (`variable.ref()`) to how many times it was read.
      activations: the tensors that were noted, in their order.
      num_steps: how many steps its networks make, the most if they differ; 0 without a network.
    """

    scope: str
    reads: dict[Any, int] = dataclasses.field(default_factory=dict)
    activations: list[Activation] = dataclasses.field(default_factory=list)
    num_steps: int = 0


@contextlib.contextmanager
def recording(steps: int | None = None) -> Iterator[dict[str, Record]]:
    """Keeps what towers note in this thread until it ends.

    Args:
      steps: how many of a network's steps are traced at most, where what is traced is shown and
        never run; None for all of them. See `traced_steps`.

    Yields:
      Tower's name -> its `Record`. Of a tower that is traced several times the last trace counts.
      What is noted within another `recording` in it is the other's alone.
    """
    outer = _local.records, _local.record, _local.steps
    _local.records, _local.record, _local.steps = {}, None, steps
    try:
        yield _local.records
    finally:
        _local.records, _local.record, _local.steps = outer


@contextlib.contextmanager
def tower_scope(name: str) -> Iterator[None]:
    """Within it, operations and what is noted are a tower's, such as "tower 0".

    The operations' name scope is then "tower_0".
    """
    records, outer = _local.records, _local.record
    with tf.name_scope(name.replace(" ", "_")) as scope:
        if records is not None:
            _local.record = records[name] = Record(scope)
        try:
            yield
        finally:
            _local.record = outer


def record(name: str, nest: Any, device: str = "") -> None:
    """Notes tensors, if a recorder is open.

    Args:
      name: what they are; the current name scope within the tower's comes before it. Tensors of a
        nest are named by their places in it: `inputs/facts/0`.
      device: the device of a tensor that has none of its own, as an argument of a function.
    """
    record = _local.record
    if record is None:
        return
    full = f"{tf.get_current_name_scope()}/{name}".lstrip("/").removeprefix(record.scope)
    for place, tensor in _by_name(full, nest):
        shape = tensor.shape.as_list() if tensor.shape.rank is not None else None
        found = Activation(place, shape, tensor.dtype.name, tensor.device or device)
        record.activations.append(found)


def traced_steps(num_steps: int) -> int:
    """Tells a network how many of its steps to trace, and notes how many it makes.

    Where an update is shown and never run, two steps are enough: the first has no state to go on
    from, and all others do what the second does, with the same variables.
    """
    record = _local.record
    if record is not None:
        record.num_steps = max(record.num_steps, num_steps)
    return min(num_steps, _local.steps or num_steps)


def record_reads(counts: Mapping[Any, int]) -> None:
    """Notes `ReadingScope.counts`, if a recorder is open."""
    record = _local.record
    if record is None:
        return
    for variable, count in counts.items():
        record.reads[variable] = record.reads.get(variable, 0) + count


def _by_name(name: str, nest: Any) -> Iterator[tuple[str, tf.Tensor]]:
    """The tensors of a nest, named by their places: `inputs/facts/0`."""
    if isinstance(nest, Mapping):
        for key in sorted(nest):
            yield from _by_name(f"{name}/{key}", nest[key])
        return
    leaves = tf.nest.flatten(nest, expand_composites=True)
    for i, leaf in enumerate(leaves):
        yield (name if len(leaves) == 1 else f"{name}/{i}"), leaf
