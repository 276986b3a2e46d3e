"""Where variables live, and the list of them that shows how they are shared."""

import tensorflow as tf

from rrn.distribute.devices import CPU

POLICIES = ("cpu", "first_device")


def variable_scope(policy, devices):
    """A scope in which variables are created: on the CPU, or on the first tower's device."""
    if policy not in POLICIES:
        raise ValueError(f"variables.policy must be one of {', '.join(POLICIES)}, got {policy!r}")
    return tf.device(CPU if policy == "cpu" else devices[0])


def short_device(name):
    """CPU:0 for /job:localhost/replica:0/task:0/device:CPU:0; another machine's job stays."""
    spec = tf.DeviceSpec.from_string(name)
    local = spec.job in (None, "localhost")
    place = "" if local else f"/job:{spec.job}/task:{spec.task}/"
    return f"{place}{spec.device_type}:{spec.device_index}"


def list_variables(variables, tower_reads, stage_variables):
    """A row for each variable, by name: {"name", "shape", "dtype", "bytes", "stages", "device",
    "readers"}.

    tower_reads: tower's name -> (variable reference -> number of reads in one update).
    stage_variables: stage's name -> the variables that it trains.
    "stages" are those that train the variable. "readers" maps the towers that read the variable to
    how many times each reads it in an update.
    """
    trained = {name: {v.ref() for v in group} for name, group in stage_variables.items()}
    return [
        {
            "name": variable.name.removesuffix(":0"),
            "shape": list(variable.shape),
            "dtype": variable.dtype.name,
            "bytes": variable.shape.num_elements() * variable.dtype.size,
            "stages": [name for name, group in trained.items() if variable.ref() in group],
            "device": short_device(variable.device),
            "readers": {
                tower: reads[variable.ref()]
                for tower, reads in tower_reads.items()
                if variable.ref() in reads
            },
        }
        for variable in sorted(variables, key=lambda variable: variable.name)
    ]


def format_variables(rows):
    """The rows as a table with totals."""
    stages = [", ".join(row["stages"]) for row in rows]
    width = max(map(len, ["trained in", *stages])) + 2
    columns = f"{'name':<36}{'shape':<14}{'bytes':>10}  {'trained in':<{width}}{'device':<8}"
    lines = [columns + "readers (reads an update)"]
    for row, trained_in in zip(rows, stages, strict=True):
        readers = ", ".join(f"{tower} {count}" for tower, count in row["readers"].items())
        shape = "x".join(map(str, row["shape"]))
        lines.append(
            f"{row['name']:<36}{shape:<14}{row['bytes']:>10,}  {trained_in:<{width}}"
            f"{row['device']:<8}{readers}"
        )
    total = sum(row["bytes"] for row in rows)
    lines.append(f"{len(rows)} variables, {total // 4:,} parameters, {total:,} bytes")
    return "\n".join(lines)
