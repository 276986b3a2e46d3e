"""Wrong values of nodes, edges and graphs, named; see `rrn.nn.checks`.

Every check raises a ValueError, and `name` is the function and the argument.
"""

import reprlib
from typing import Any

import numpy as np
import tensorflow as tf

from rrn.nn.checks import check_integers, check_list, check_rank, check_shape
from rrn.nn.graphs.graph import EdgeValues, Graph


def index_tensor(name: str, value: Any, rank: int) -> tf.Tensor:
    """Makes an int32 tensor of indices or numbers with `rank` axes.

    Refuses another rank, what holds no integers or larger ones than int32 has, and a number below
    0.
    """
    try:
        tensor = tf.convert_to_tensor(value)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be integers, got {reprlib.repr(value)}") from None
    check_rank(name, tensor, rank)
    check_integers(name, tensor)
    known = tf.get_static_value(tensor) if rank == 0 or tensor.dtype != tf.int32 else None
    if known is not None:
        _check_known(name, known)
    return tf.cast(tensor, tf.int32)


def _check_known(name, known):
    """Refuses integers that int32 has not, and a number below 0."""
    known = np.asarray(known)
    too_large = known[known != known.astype(np.int32)]
    if too_large.size:
        raise ValueError(f"{name} must be at most {np.iinfo(np.int32).max}, got {too_large.max()}")
    if known.ndim == 0 and known < 0:
        raise ValueError(f"{name} must be at least 0, got {known}")


def check_graph(name: str, graph: Any) -> None:
    """Refuses what is no `Graph`."""
    if not isinstance(graph, Graph):
        raise ValueError(f"{name}: graph must be an rrn.Graph, got {type(graph).__name__}")


def check_nodes(name: str, graph: Graph, nodes: tf.Tensor) -> None:
    """Refuses values that are not `[nodes, size]`, one row for each node of a graph."""
    check_shape(name, nodes, "[nodes, size]", [graph.known_sizes().nodes, None])


def check_globals(name: str, graph: Graph, globals_: tf.Tensor, size: int | None = None) -> None:
    """Refuses globals that are not `[graphs, size]`, one row for each graph.

    With size None any size of a row is right.
    """
    axes = "[graphs, size]" if size is None else "[graphs, global_size]"
    check_shape(name, globals_, axes, [graph.known_sizes().graphs, size])


def check_edges(name: str, graph: Graph, values: EdgeValues | None, *last: int | None) -> None:
    """Refuses values of edges that have not the graph's edge shape.

    Args:
      values: a tensor, a list of tensors for a union, or None, which is right.
      *last: the size of a last axis, None where any is right. Weights have no such axis.
    """
    if values is not None:
        check_edge_values(name, graph.known_sizes().edge_shape, values, *last)


def check_edge_values(
    name: str, shape: tf.TensorShape | list, values: Any, *last: int | None
) -> None:
    """Refuses values of edges that have not an edge shape; None is wrong, too.

    Args:
      shape: the edge shape, of a union a list of such; see `KnownSizes`.
      values, *last: see `check_edges`.
    """
    if isinstance(shape, list):
        check_list(name, values, len(shape))
        for i, (part_shape, value) in enumerate(zip(shape, values, strict=True)):
            check_edge_values(f"{name}[{i}]", part_shape, value, *last)
    elif shape.rank is not None:
        axes = "[*edge_shape, size]" if last else "[*edge_shape]"
        check_shape(name, values, axes, [*shape, *last])


def check_message_sums(
    graph: Graph,
    senders: tf.Tensor,
    receivers: tf.Tensor,
    edges: EdgeValues | None,
    edge_weights: EdgeValues | None,
) -> None:
    """Refuses wrong arguments of `Graph.message_sums`."""
    name = f"{type(graph).__name__}.message_sums"
    check_nodes(f"{name}: senders", graph, senders)
    check_nodes(f"{name}: receivers", graph, receivers)
    check_edges(f"{name}: edges", graph, edges, senders.shape[-1])
    check_edges(f"{name}: edge_weights", graph, edge_weights)


def known_value(name: str, value: Any) -> np.ndarray:
    """Finds a value on the host, for `Graph.validate`.

    Refuses a value that is known only when a traced function runs.
    """
    known = tf.get_static_value(value)
    if known is None:
        raise ValueError(
            f"{name} is not known while a function is traced; call validate before, outside of it"
        )
    return np.asarray(known)


def validate_indices(name: str, indices: np.ndarray, bound: int | np.ndarray) -> None:
    """Refuses indices that are below 0, or not below a bound.

    The message has the first one that is out of range, and its place.
    """
    wrong = np.argwhere((indices < 0) | (indices >= bound))
    if len(wrong):
        place = wrong[0].tolist()
        raise ValueError(
            f"{name}{place} must be from 0 to {bound - 1}, got {indices[tuple(wrong[0])]} "
            f"({len(wrong)} of {indices.size} are out of range)"
        )
