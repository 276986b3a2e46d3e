"""Which parameter server holds which rows of which variable. No TensorFlow here: only sizes.

A policy is a function from variables and a number of servers to a plan: for each variable a list of
its shards, in the order of their rows.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

MIN_SHARD_BYTES = 256 * 1024  # `min_size` makes no smaller shards (TensorFlow's default, too)
TOLERANCE = 0.01  # `balanced` splits what would make a server this much larger than the mean


class VariableSize(NamedTuple):
    """A variable before it exists. `bytes` is that of its values, without the optimizer's slots."""

    name: str
    shape: tuple[int, ...]
    bytes: int

    @property
    def rows(self) -> int:
        return self.shape[0] if self.shape else 1


class Shard(NamedTuple):
    """`rows` rows of a variable from row `first` on, on the server with this number."""

    server: int
    first: int
    rows: int


Plan = list[list[Shard]]


def whole(variables: Sequence[VariableSize], num_servers: int) -> Plan:
    """Every variable on the first server."""
    return [[Shard(0, 0, variable.rows)] for variable in variables]


def round_robin(variables: Sequence[VariableSize], num_servers: int) -> Plan:
    """Whole variables, dealt to the servers in the order of their creation."""
    return _deal(variables, num_servers, lambda variable: 1)


def fixed_shards(variables: Sequence[VariableSize], num_servers: int) -> Plan:
    """Every variable in as many shards as there are servers, or rows if it has fewer."""
    return _deal(variables, num_servers, lambda variable: min(num_servers, variable.rows))


def min_size(variables: Sequence[VariableSize], num_servers: int) -> Plan:
    """As `fixed_shards`, but in fewer shards where they would be below `MIN_SHARD_BYTES`."""

    def count(variable):
        return max(1, min(num_servers, variable.rows, variable.bytes // MIN_SHARD_BYTES))

    return _deal(variables, num_servers, count)


def _deal(variables, num_servers, num_shards):
    """Shards of about equally many rows, dealt to the servers one after the other."""
    plan, dealt = [], 0
    for variable in variables:
        count = num_shards(variable)
        bounds = [variable.rows * i // count for i in range(count + 1)]
        plan.append(
            [
                Shard((dealt + i) % num_servers, bounds[i], bounds[i + 1] - bounds[i])
                for i in range(count)
            ]
        )
        dealt += count
    return plan


def balanced(variables: Sequence[VariableSize], num_servers: int) -> Plan:
    """Largest first onto the emptiest server; split is only what would make it too large."""
    loads = [0.0] * num_servers
    mean = sum(variable.bytes for variable in variables) / num_servers
    plan = [[] for _ in variables]
    for number in sorted(range(len(variables)), key=lambda n: -variables[n].bytes):
        variable, first = variables[number], 0
        row_bytes = variable.bytes / variable.rows
        while first < variable.rows:
            server = loads.index(min(loads))
            room, left = mean - loads[server], variable.rows - first
            rows = left
            if left * row_bytes > room + TOLERANCE * mean:
                rows = min(left, max(1, round(room / row_bytes)))
            plan[number].append(Shard(server, first, rows))
            loads[server] += rows * row_bytes
            first += rows
    return plan


POLICIES: dict[str, Callable[[Sequence[VariableSize], int], Plan]] = {
    "cpu": whole,
    "first_device": whole,
    "round_robin": round_robin,
    "fixed_shards": fixed_shards,
    "min_size": min_size,
    "balanced": balanced,
}


def place(policy: str, variables: Sequence[VariableSize], num_servers: int) -> Plan:
    """The plan of a policy, called by its name.

    Raises:
      ValueError: there is no such policy.
    """
    if policy not in POLICIES:
        raise ValueError(f"policy must be one of {', '.join(POLICIES)}, got {policy!r}")
    return POLICIES[policy](variables, num_servers)


def server_bytes(plan: Plan, variables: Sequence[VariableSize], num_servers: int) -> list[int]:
    """The bytes on each server."""
    loads = [0] * num_servers
    for variable, shards in zip(variables, plan, strict=True):
        for shard in shards:
            loads[shard.server] += variable.bytes * shard.rows // variable.rows
    return loads


def imbalance(plan: Plan, variables: Sequence[VariableSize], num_servers: int) -> float:
    """The largest server's bytes over the servers' mean: 1 is even, `num_servers` the worst."""
    loads = server_bytes(plan, variables, num_servers)
    return max(loads) * num_servers / sum(loads)
