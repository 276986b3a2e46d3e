"""Where variables live, and the list of them that shows how they are shared."""

import dataclasses

import tensorflow as tf

from rrn.distribute.devices import CPU
from rrn.distribute.sharding import POLICIES, VariableSize, imbalance, place, server_bytes
from rrn.reading import ShardedVariable, shards


@dataclasses.dataclass
class Placement:
    """Which device holds which rows of which variable, in the order of their creation.

    servers: names of devices; plan: for each of `variables` the list of its
    `rrn.distribute.sharding.Shard`s; places: name of what was created, a variable or a shard of
    one -> its device.
    """

    variables: list
    servers: list
    plan: list
    places: dict = dataclasses.field(default_factory=dict)

    def scope(self, stand_in=None):
        """A scope in which variables are created in their places, split into their shards.

        stand_in: the device on which they are created instead, if given.
        """
        plans = iter(self.plan)

        def create(next_creator, initial_value, name=None, **options):
            value = initial_value() if callable(initial_value) else initial_value
            value = tf.convert_to_tensor(value, options.get("dtype"))
            plan = next(plans)

            def create_shard(shard, name):
                rows = value if len(plan) == 1 else value[shard.first : shard.first + shard.rows]
                place = self.servers[shard.server]
                with tf.device(stand_in or place):
                    made = next_creator(initial_value=rows, name=name, **options)
                self.places[made.name.removesuffix(":0")] = place
                return made

            if len(plan) == 1:
                return create_shard(plan[0], name)
            parts = [create_shard(shard, f"{name}/part_{i}") for i, shard in enumerate(plan)]
            return ShardedVariable(parts, parts[0].name.removesuffix("/part_0:0"))

        return tf.variable_creator_scope(create)

    def balance(self, policy):
        """A line with each server's bytes, and the imbalance."""
        args = self.plan, self.variables, len(self.servers)
        loads = ", ".join(f"{load:,}" for load in server_bytes(*args))
        return f"{policy:<14}largest server / mean {imbalance(*args):.3f}  (bytes: {loads})"


def plan_placement(create, policy, devices, servers=()):
    """The `Placement` by `policy` of the variables that `create()` makes.

    devices: the towers'; servers: the parameter servers' devices, if there are any. "cpu" is the
    first server where there are servers.

    Raises:
      ValueError: no such policy, or one that does not fit the servers.
    """
    if policy == "first_device" and servers:
        raise ValueError("variables.policy=first_device has no use for parameter servers: ps=0")
    if policy == "first_device":
        servers = devices[:1]
    elif policy == "cpu" and not servers:
        servers = [CPU]
    elif policy in POLICIES and not servers:
        raise ValueError(
            f"variables.policy={policy} needs parameter servers: --local_cluster=ps=N,worker=M or "
            "TF_CONFIG"
        )
    variables = variable_sizes(create)
    return Placement(variables, list(servers), place(policy, variables, len(servers)))


def variable_sizes(create):
    """`VariableSize`s of what `create()` makes, in order; nothing is computed, no memory taken."""
    sizes = []

    def note(next_creator, **arguments):
        variable = next_creator(**arguments)
        shape = tuple(variable.shape)
        count = variable.shape.num_elements()
        sizes.append(
            VariableSize(variable.name.removesuffix(":0"), shape, count * variable.dtype.size)
        )
        return variable

    with tf.Graph().as_default(), tf.variable_creator_scope(note):
        tf.random.set_seed(0)  # this graph's; where operations are deterministic it must have one
        create()
    return sizes


def format_policies(variables, servers):
    """For every policy that puts variables on servers, the servers' bytes and the imbalance."""
    return "\n".join(
        Placement(variables, servers, place(policy, variables, len(servers))).balance(policy)
        for policy in POLICIES
        if policy != "first_device"
    )


def short_device(name):
    """CPU:0 for /job:localhost/replica:0/task:0/device:CPU:0; another machine's job stays."""
    spec = tf.DeviceSpec.from_string(name)
    local = spec.job in (None, "localhost")
    place = "" if local else f"/job:{spec.job}/task:{spec.task}/"
    return f"{place}{spec.device_type}:{spec.device_index}"


def list_variables(variables, tower_reads, stage_variables, places=None):
    """A row for each variable, or each of its shards, by name: {"name", "shape", "dtype", "bytes",
    "stages", "device", "readers"}.

    tower_reads: tower's name -> (variable reference -> number of reads in one update).
    stage_variables: stage's name -> the variables that it trains.
    places: names of shards -> the devices they are for, where they stand elsewhere now.
    "stages" are those that train the variable. "readers" maps the towers that read the variable to
    how many times each reads it in an update.
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
            "device": short_device((places or {}).get(name, variable.device)),
            "readers": {tower: reads[key] for tower, reads in tower_reads.items() if key in reads},
        }

    return [row(variable) for variable in sorted(shards(variables), key=lambda v: v.name)]


def format_variables(rows):
    """The rows as a table with totals."""
    table = [("name", "shape", "bytes", "trained in", "device", "readers (reads an update)")]
    for row in rows:
        shape, size = "x".join(map(str, row["shape"])), f"{row['bytes']:,}"
        readers = ", ".join(f"{tower} {count}" for tower, count in row["readers"].items())
        table.append((row["name"], shape, size, ", ".join(row["stages"]), row["device"], readers))
    n, s, b, t, d, _ = (max(map(len, column)) for column in zip(*table, strict=True))
    lines = [
        f"{name:<{n}}  {shape:<{s}}  {size:>{b}}  {stages:<{t}}  {device:<{d}}  {readers}"
        for name, shape, size, stages, device, readers in table
    ]
    total = sum(row["bytes"] for row in rows)
    lines.append(f"{len(rows)} variables, {total // 4:,} parameters, {total:,} bytes")
    return "\n".join(lines)
