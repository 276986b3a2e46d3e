"""Variables created on their devices, and tables of who reads and trains them where."""

import contextlib
import dataclasses
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import tensorflow as tf

from rrn.distribute.devices import CPU, cpu_beside
from rrn.distribute.sharding import Shard, VariableSize, place
from rrn.variables.reading import Variable, shards
from rrn.variables.recorder import Record
from rrn.variables.sharded import ShardedVariable


@dataclasses.dataclass
class Placement:
    """Which device holds which part of which variable.

    Attributes:
      variables: names and sizes, in the order of creation; empty if `plan` is.
      plan: for each variable its shards, in order along its axis; empty if all are whole on the
        first server.
    """

    variables: list[VariableSize]
    servers: list[str]
    plan: list[list[Shard]]

    def scope(self) -> contextlib.AbstractContextManager:
        """Makes a scope in which the planned variables are created, once, on their devices."""
        plans = iter(self.plan) if self.plan else itertools.repeat([Shard(0, 0, 0, 0)])

        def create(
            next_creator, initial_value: tf.Tensor | Callable[[], tf.Tensor], name=None, **options
        ):
            value = initial_value() if callable(initial_value) else initial_value
            value = tf.convert_to_tensor(value, options.get("dtype"))
            plan = next(plans)

            def create_on(server, value, name):
                with tf.device(self.servers[server]):
                    return next_creator(initial_value=value, name=name, **options)

            if len(plan) == 1:
                return create_on(plan[0].server, value, name)
            parts = [
                create_on(shard.server, _cut(value, shard), f"{name}/part_{i}")
                for i, shard in enumerate(plan)
            ]
            full_name = parts[0].name.removesuffix("/part_0:0")
            return ShardedVariable(parts, full_name, plan[0].axis)

        return tf.variable_creator_scope(create)


def _cut(value, shard):
    return tf.gather(value, tf.range(shard.first, shard.first + shard.length), axis=shard.axis)


def plan_placement(
    create: Callable[[], Any],
    policy: str,
    devices: Sequence[str],
    servers: Sequence[str] = (),
    axis: str = "longest",
    pinned: Callable[[Any], Iterable[Variable]] = lambda created: (),
) -> Placement:
    """Plans where the variables that a function creates are to be; see `Placement.scope`.

    Args:
      policy: a name in `rrn.distribute.sharding.POLICIES`. "cpu" puts all variables on this
        process's CPU, or on the first server if there are any. "first_device" puts them on the
        first tower's device. "auto" is "first_device" for a single tower on a GPU, which saves
        copies in every update; else "cpu".
      axis: the axis along which variables are cut, see `rrn.distribute.sharding.place`.
      pinned: a function from what `create` returned to the variables that "first_device" leaves on
        the CPU.
    """
    if policy == "auto":
        alone = len(devices) == 1 and "GPU" in devices[0] and not servers
        policy = "first_device" if alone else "cpu"
    if policy == "cpu":
        return Placement([], list(servers) or [CPU], [])
    if policy == "first_device" and servers:
        raise ValueError("policy first_device has no use for parameter servers: ps=0")
    if policy != "first_device" and not servers:
        raise ValueError(
            f"policy {policy} needs parameter servers: --local_cluster=ps=N,worker=M or TF_CONFIG"
        )
    variables, on_cpu = _measure(create, pinned)
    plan = place(policy, variables, len(servers) or 1, axis)
    if policy == "first_device":
        servers = [devices[0], cpu_beside(devices[0])]
        plan = [
            [shard._replace(server=int(cpu)) for shard in shards_]
            for shards_, cpu in zip(plan, on_cpu, strict=True)
        ]
    return Placement(variables, list(servers), plan)


def _measure(create, pinned):
    """The sizes of the variables that `create` makes, and whether each is pinned; runs nothing."""
    made = []

    def keep(next_creator, **arguments):
        made.append(next_creator(**arguments))
        return made[-1]

    with tf.Graph().as_default(), tf.variable_creator_scope(keep):
        tf.random.set_seed(0)  # this graph's; where operations are deterministic it must have one
        found = {id(variable) for variable in pinned(create())}
    sizes = [
        VariableSize(
            variable.name.removesuffix(":0"),
            tuple(variable.shape),
            variable.shape.num_elements() * variable.dtype.size,
        )
        for variable in made
    ]
    return sizes, [id(variable) in found for variable in made]


def short_device(name: str) -> str:
    """Shortens a device's name to CPU:0, or /job:worker/task:1/CPU:0 of another process."""
    spec = tf.DeviceSpec.from_string(name)
    process = "" if spec.job in (None, "localhost") else f"/job:{spec.job}/task:{spec.task}/"
    return f"{process}{spec.device_type}:{spec.device_index}"


def list_variables(
    variables: Sequence[Variable],
    towers: Mapping[str, Record],
    stage_variables: Mapping[str, Sequence[Variable]],
) -> list[dict[str, Any]]:
    """Describes each variable, or each of its shards, in rows sorted by name.

    Args:
      towers: what `rrn.variables.recorder.recording` has recorded; may be empty.
      stage_variables: maps a training stage's name to the variables that it trains.

    Returns:
      Rows with "stages", those that train it, and "readers", the reads of each tower in an update.
    """
    trained = {name: {v.ref() for v in shards(group)} for name, group in stage_variables.items()}

    def row(variable):
        name, key = variable.name.removesuffix(":0"), variable.ref()
        return {
            "name": name,
            "shape": list(variable.shape),
            "dtype": variable.dtype.name,
            "bytes": variable.shape.num_elements() * variable.dtype.size,
            "stages": [stage for stage, group in trained.items() if key in group],
            "device": short_device(variable.device),
            "readers": {
                tower: record.reads[key] for tower, record in towers.items() if key in record.reads
            },
        }

    return [row(variable) for variable in sorted(shards(variables), key=lambda v: v.name)]


def format_variables(rows: Sequence[Mapping[str, Any]]) -> str:
    """Writes what `list_variables` returned as a table, with totals below."""
    table = [("name", "shape", "bytes", "trained in", "device", "readers (reads an update)")]
    for row in rows:
        readers = ", ".join(f"{tower} {count}" for tower, count in row["readers"].items())
        shape, stages = "x".join(map(str, row["shape"])), ", ".join(row["stages"])
        table.append((row["name"], shape, f"{row['bytes']:,}", stages, row["device"], readers))
    total = sum(row["bytes"] for row in rows)
    totals = f"{len(rows)} variables, {total // 4:,} parameters, {total:,} bytes"
    return f"{_aligned(table)}\n{totals}"


def format_hidden(towers: Mapping[str, Record]) -> str:
    """Writes a table of every tower's hidden states: after which step, shape, device."""
    table = [("tower", "hidden state", "shape", "device")]
    for tower, record in towers.items():
        for name, shape, device in record.tensors:
            sizes = "x".join("?" if size is None else str(size) for size in shape)
            table.append((tower, name, sizes, short_device(device)))
    return _aligned(table)


def _aligned(table):
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    rows = (zip(row, widths, strict=True) for row in table)
    return "\n".join("  ".join(f"{c:<{w}}" for c, w in row).rstrip() for row in rows)
