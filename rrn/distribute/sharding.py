"""Which parameter server holds which part of which variable. No TensorFlow here: only sizes.

A variable is cut along one of its axes. A policy is a function from the variables' lengths along
these axes, their bytes and a number of servers to (server, first slice, number of slices) for each
shard of each variable, in order along the axis.
"""

import itertools
from collections.abc import Callable, Sequence
from typing import NamedTuple

TOLERANCE = 0.01  # `balanced` splits what would make a server this much larger than the mean


class VariableSize(NamedTuple):
    """A variable before it exists; its bytes are those of its values, without slots."""

    name: str
    shape: tuple[int, ...]
    bytes: int


class Shard(NamedTuple):
    """What a server holds of a variable: `length` slices along the axis, from the slice `first`."""

    server: int
    axis: int
    first: int
    length: int


Parts = list[list[tuple[int, int, int]]]


def whole(lengths: Sequence[int], sizes: Sequence[int], num_servers: int) -> Parts:
    """Plans every variable on the first server."""
    return [[(0, 0, length)] for length in lengths]


def round_robin(lengths: Sequence[int], sizes: Sequence[int], num_servers: int) -> Parts:
    """Deals whole variables to the servers in the order of their creation."""
    return _deal(lengths, [1] * len(lengths), num_servers)


def fixed_shards(lengths: Sequence[int], sizes: Sequence[int], num_servers: int) -> Parts:
    """Cuts every variable into a shard for each server, or fewer if it has fewer slices."""
    pairs = zip(lengths, sizes, strict=True)
    counts = [min(num_servers, length) if size else 1 for length, size in pairs]
    return _deal(lengths, counts, num_servers)


def _deal(lengths, counts, num_servers):
    """Shards of about equally many slices, dealt to the servers one after the other."""
    servers = itertools.cycle(range(num_servers))
    bounds = [
        [length * i // count for i in range(count + 1)]
        for length, count in zip(lengths, counts, strict=True)
    ]
    return [
        [(next(servers), start, end - start) for start, end in itertools.pairwise(own)]
        for own in bounds
    ]


def balanced(lengths: Sequence[int], sizes: Sequence[int], num_servers: int) -> Parts:
    """Puts the largest first onto the emptiest server; cuts only what would make it too large."""
    loads = [0.0] * num_servers
    mean = sum(sizes) / num_servers
    plan = [[] for _ in lengths]
    for number in sorted(range(len(lengths)), key=lambda n: -sizes[n]):
        length, size, first = lengths[number], sizes[number], 0
        if not size:  # nothing to cut
            plan[number].append((loads.index(min(loads)), 0, length))
            continue
        slice_bytes = size / length
        while first < length:
            server = loads.index(min(loads))
            free, count = mean - loads[server], length - first
            if count * slice_bytes > free + TOLERANCE * mean:
                count = min(count, max(1, round(free / slice_bytes)))
            plan[number].append((server, first, count))
            loads[server] += count * slice_bytes
            first += count
    return plan


POLICIES: dict[str, Callable[[Sequence[int], Sequence[int], int], Parts]] = {
    "cpu": whole,
    "first_device": whole,
    "round_robin": round_robin,
    "fixed_shards": fixed_shards,
    "balanced": balanced,
}


def place(
    policy: str, variables: Sequence[VariableSize], num_servers: int, axis: str = "longest"
) -> list[list[Shard]]:
    """Makes the plan of a policy of `POLICIES`: for each variable a list of its shards.

    Args:
      axis: the axis along which variables are cut: its number, or the last one if a variable has
        fewer; or "longest", the first of several.
    """
    shapes = [variable.shape or (1,) for variable in variables]
    axes = [
        shape.index(max(shape)) if axis == "longest" else min(int(axis), len(shape) - 1)
        for shape in shapes
    ]
    lengths = [shape[number] for shape, number in zip(shapes, axes, strict=True)]
    plan = POLICIES[policy](lengths, [variable.bytes for variable in variables], num_servers)
    return [
        [Shard(server, number, first, length) for server, first, length in parts]
        for number, parts in zip(axes, plan, strict=True)
    ]


def server_bytes(
    plan: Sequence[Sequence[Shard]], variables: Sequence[VariableSize], num_servers: int
) -> list[int]:
    """Counts the bytes that a plan puts on each server."""
    loads = [0] * num_servers
    for variable, shards in zip(variables, plan, strict=True):
        total = sum(shard.length for shard in shards) or 1
        for shard in shards:
            loads[shard.server] += variable.bytes * shard.length // total
    return loads
