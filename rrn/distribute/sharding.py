"""Which parameter server holds which part of which variable. No TensorFlow here: only sizes.

A variable is cut along one of its axes. A policy says how many shards it has and where they are: it
is a function from lengths along these axes and a number of servers to a plan, for each variable a
list of its shards, in their order along the axis.
"""

import itertools
from collections.abc import Callable, Sequence
from typing import NamedTuple

TOLERANCE = 0.01  # `balanced` splits what would make a server this much larger than the mean
AXES = "longest", "0", "1", "2", "3"


class VariableSize(NamedTuple):
    """A variable before it exists.

    Attributes:
      bytes: the bytes of its values, without the optimizer's slots.
    """

    name: str
    shape: tuple[int, ...]
    bytes: int


class Length(NamedTuple):
    """How long a variable is along the axis that it may be cut along.

    Attributes:
      length: the length along it; a scalar's is 1.
      bytes: the bytes of the whole variable.
    """

    axis: int
    length: int
    bytes: int  # of the whole variable


class Shard(NamedTuple):
    """What a server holds of a variable.

    Attributes:
      first: the first slice that the server holds.
      length: how many slices it holds.
    """

    server: int
    axis: int
    first: int
    length: int


Plan = list[list[Shard]]


def measure(variable: VariableSize, axis: str) -> Length:
    """Chooses the axis along which a variable may be cut.

    Args:
      axis: the axis, one of `AXES`. "longest" is the longest, the first one of several. A variable
        that does not have the axis is cut along its last.
    """
    shape = variable.shape or (1,)
    number = shape.index(max(shape)) if axis == "longest" else min(int(axis), len(shape) - 1)
    return Length(number, shape[number], variable.bytes)


def whole(lengths: Sequence[Length], num_servers: int) -> Plan:
    """Plans every variable on the first server."""
    return [[Shard(0, axis, 0, length)] for axis, length, _ in lengths]


def round_robin(lengths: Sequence[Length], num_servers: int) -> Plan:
    """Deals whole variables to the servers in the order of their creation."""
    return _deal(lengths, num_servers, lambda variable: 1)


def fixed_shards(lengths: Sequence[Length], num_servers: int) -> Plan:
    """Cuts every variable into as many shards as there are servers, or slices if it has fewer.

    A variable without values is one shard.
    """

    def count(variable):
        return min(num_servers, variable.length) if variable.bytes else 1

    return _deal(lengths, num_servers, count)


def _deal(lengths, num_servers, num_shards):
    """Shards of about equally many slices, dealt to the servers one after the other."""
    plan, dealt = [], 0
    for variable in lengths:
        count = num_shards(variable)
        bounds = [variable.length * i // count for i in range(count + 1)]
        plan.append(
            [
                Shard((dealt + i) % num_servers, variable.axis, start, end - start)
                for i, (start, end) in enumerate(itertools.pairwise(bounds))
            ]
        )
        dealt += count
    return plan


def balanced(lengths: Sequence[Length], num_servers: int) -> Plan:
    """Puts the largest first onto the emptiest server; cuts only what would make it too large."""
    loads = [0.0] * num_servers
    mean = sum(variable.bytes for variable in lengths) / num_servers
    plan = [[] for _ in lengths]
    for number in sorted(range(len(lengths)), key=lambda n: -lengths[n].bytes):
        (axis, length, size), first = lengths[number], 0
        if not size:  # nothing to cut
            plan[number].append(Shard(loads.index(min(loads)), axis, 0, length))
            continue
        slice_bytes = size / length
        while first < length:
            server = loads.index(min(loads))
            room, left = mean - loads[server], length - first
            count = left
            if left * slice_bytes > room + TOLERANCE * mean:
                count = min(left, max(1, round(room / slice_bytes)))
            plan[number].append(Shard(server, axis, first, count))
            loads[server] += count * slice_bytes
            first += count
    return plan


POLICIES: dict[str, Callable[[Sequence[Length], int], Plan]] = {
    "cpu": whole,
    "first_device": whole,
    "round_robin": round_robin,
    "fixed_shards": fixed_shards,
    "balanced": balanced,
}
CUTTING = "fixed_shards", "balanced"  # the policies that need an axis


def place(
    policy: str, variables: Sequence[VariableSize], num_servers: int, axis: str = "longest"
) -> Plan:
    """Makes the plan of a policy of `POLICIES`; see `measure` for the axis.

    Raises:
      ValueError: there is no such policy or axis, or an axis is given to a policy that cuts
        nothing.
    """
    if policy not in POLICIES:
        raise ValueError(f"policy must be one of {', '.join(POLICIES)}, got {policy!r}")
    if axis not in AXES:
        raise ValueError(f"axis must be one of {', '.join(AXES)}, got {axis!r}")
    if axis != "longest" and policy not in CUTTING:
        raise ValueError(f"axis {axis}: policy {policy} cuts nothing, leave it 'longest'")
    return POLICIES[policy]([measure(variable, axis) for variable in variables], num_servers)


def server_bytes(plan: Plan, variables: Sequence[VariableSize], num_servers: int) -> list[int]:
    """Counts the bytes that a plan puts on each server."""
    loads = [0] * num_servers
    for variable, shards in zip(variables, plan, strict=True):
        total = sum(shard.length for shard in shards) or 1
        for shard in shards:
            loads[shard.server] += variable.bytes * shard.length // total
    return loads


def imbalance(plan: Plan, variables: Sequence[VariableSize], num_servers: int) -> float:
    """Measures how unevenly a plan fills the servers.

    It is the largest server's bytes over the servers' mean: 1 is even, also where there are no
    bytes, and `num_servers` the worst.
    """
    loads = server_bytes(plan, variables, num_servers)
    return max(loads) * num_servers / sum(loads) if sum(loads) else 1.0
