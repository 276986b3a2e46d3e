"""What an update computes where: the towers' own tensors as a table, all of it as a graph."""

import itertools
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import tensorflow as tf

from rrn.distribute.variables import short_device
from rrn.variables.recorder import Record

Names = Mapping[str, str]  # a stand-in's short name -> the device that it stands in for


def list_activations(towers: Mapping[str, Record]) -> list[dict[str, Any]]:
    """Describes the tensors of every tower that `rrn.variables.recorder.recording` has recorded.

    Returns:
      A row for each, tower by tower: {"tower", "name", "shape", "dtype", "device"}. A size that
      differs from batch to batch is None.
    """
    return [
        {
            "tower": tower,
            "name": activation.name,
            "shape": activation.shape,
            "dtype": activation.dtype,
            "device": short_device(activation.device),
        }
        for tower, record in towers.items()
        for activation in record.activations
    ]


def format_activations(rows: Sequence[Mapping[str, Any]], num_steps: int) -> str:
    """Writes what `list_activations` returned, what towers have of their own, as a table.

    Of a network's steps the first alone is shown, and of the tensors of a list that are alike one.

    Args:
      num_steps: how many steps the network makes; the rows may be of fewer.
    """
    table = [("tower", "tensor of its own", "shape", "type", "device")]
    shown = [row for row in rows if _step(row) in (None, 1)]
    for key, group in itertools.groupby(shown, _kind):
        names = [row["name"] for row in group]
        count = f" ({len(names)})" if len(names) > 1 else ""
        tower, _, shape, dtype, device = key
        table.append((tower, names[0] + count, shape, dtype, device))
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = ["  ".join(f"{c:<{w}}" for c, w in zip(row, widths, strict=True)) for row in table]
    lines = [line.rstrip() for line in lines]
    if traced := max((_step(row) or 0 for row in rows), default=0):
        like = "each step has tensors like these on the same devices"
        lines.append(f"step 1 of {num_steps}, {traced} of them traced; {like}")
    return "\n".join(lines)


def _kind(row):
    """(tower, name without its number in a list, shape, dtype, device), as text."""
    sizes = ["?" if size is None else str(size) for size in row["shape"] or ()]
    shape = "?" if row["shape"] is None else "x".join(sizes) or "scalar"
    name = re.sub(r"/\d+$", "", row["name"])
    return row["tower"], name, shape, row["dtype"], row["device"]


def _step(row):
    """The number of the step in which the tensor is made, None outside of all steps."""
    found = re.search(r"\bstep_(\d+)", row["name"])
    return int(found[1]) if found else None


def graph_with_variables(
    function: Any, variables: Sequence[tf.Variable], names: Names | None = None
) -> Any:
    """Makes the GraphDef of a traced function, in which variables have their names and devices.

    Each is a node "variables/NAME". In TensorFlow's own graph a variable is an argument without a
    device.

    Args:
      variables: variables or shards that it may read or change.
      names: devices' names, where other devices stand in for them.
    """
    names = names or {}
    graph_def = function.graph.as_graph_def()
    by_handle = {id(variable.handle): variable for variable in variables}
    renamed, places = {}, {}
    for outside, inside in function.graph.captures:
        if id(outside) in by_handle:
            node, variable = inside.op.name, by_handle[id(outside)]
            renamed[node] = f"variables/{variable.name.removesuffix(':0')}"
            places[node] = variable.device
    for node in graph_def.node:
        if device := places.get(node.name, node.device):
            node.device = names.get(short_device(device), device)
        node.name = renamed.get(node.name, node.name)
        for i, source in enumerate(node.input):
            operation, colon, output = source.partition(":")
            node.input[i] = renamed.get(operation, operation) + colon + output
    return graph_def


def write_graph(folder: Path, graph_def: Any) -> None:
    """Writes a graph that `tensorboard --logdir` of the folder, or of one above it, shows."""
    writer = tf.summary.create_file_writer(str(folder))
    with writer.as_default():
        tf.summary.graph(graph_def)
    writer.close()
