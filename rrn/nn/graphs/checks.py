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
        hint = "; all rows must have the same length" if isinstance(value, (list, tuple)) else ""
        raise ValueError(f"{name} must be integers, got {reprlib.repr(value)}{hint}") from None
    check_rank(name, tensor, rank)
    check_integers(name, tensor)
    known = tf.get_static_value(tensor) if rank == 0 or tensor.dtype != tf.int32 else None
    if known is not None:
        _check_known(name, known)
    return tf.cast(tensor, tf.int32)


def _check_known(name, known):
    """Refuses integers that int32 has not, and a number below 0."""
    known = np.asarray(known)
    others = known[known != known.astype(np.int32)]
    if others.size:
        least, most = np.iinfo(np.int32).min, np.iinfo(np.int32).max
        raise ValueError(f"{name} must be from {least} to {most}, got {others.flat[0]}")
    if known.ndim == 0 and known < 0:
        raise ValueError(f"{name} must be at least 0, got {known}")


def check_graph(name: str, graph: Any) -> None:
    """Refuses what is no `Graph`."""
    if not isinstance(graph, Graph):
        raise ValueError(f"{name}: graph must be an rrn.Graph, got {type(graph).__name__}")


def check_nodes(name: str, graph: Graph, nodes: Any) -> tf.Tensor:
    """Takes values of nodes, and refuses those that are not one row for each node of a graph.

    Args:
      name: the function and the argument.
      graph: the graph.
      nodes: what should be `[nodes, size]`, a tensor, an array or nested lists.

    Returns:
      The values as a tensor.

    Raises:
      ValueError: the values have another shape.
    """
    check_shape(name, nodes, "[nodes, size]", [graph.known_sizes().nodes, None])
    return tf.convert_to_tensor(nodes)


def check_globals(name: str, graph: Graph, globals_: Any, size: int | None = None) -> tf.Tensor:
    """Takes globals, and refuses those that are not one row for each graph.

    Args:
      name: the function and the argument.
      graph: the graph or graphs.
      globals_: what should be `[graphs, size]`, a tensor, an array or nested lists.
      size: the size of a row, None where any is right.

    Returns:
      The globals as a tensor.

    Raises:
      ValueError: the globals have another shape.
    """
    axes = "[graphs, size]" if size is None else "[graphs, global_size]"
    check_shape(name, globals_, axes, [graph.known_sizes().graphs, size])
    return tf.convert_to_tensor(globals_)


def check_edges(name: str, graph: Graph, values: Any, *last: int | None) -> Any:
    """Takes values of edges, and refuses those that have not the graph's edge shape.

    Args:
      name: the function and the argument.
      graph: the graph.
      values: a tensor, an array or nested lists, a list of such for a union, or None, which is
        right.
      *last: the size of a last axis, None where any is right. Weights have no such axis.

    Returns:
      The values as tensors; None for None.

    Raises:
      ValueError: the values are not a list where they should be, or have another shape.
    """
    if values is None:
        return None
    return check_edge_values(name, graph.known_sizes().edge_shape, values, *last)


def check_edge_values(
    name: str, shape: tf.TensorShape | list, values: Any, *last: int | None
) -> EdgeValues:
    """Takes values of edges, and refuses those that have not an edge shape; None is wrong, too.

    Args:
      shape: the edge shape, of a union a list of such; see `KnownSizes`.
      values, *last: see `check_edges`.

    Returns:
      The values as tensors; as they are where nothing is known of the edge shape.

    Raises:
      ValueError: the values are not a list where they should be, or have another shape.
    """
    if isinstance(shape, list):
        check_list(name, values, len(shape))
        pairs = enumerate(zip(shape, values, strict=True))
        return [check_edge_values(f"{name}[{i}]", *pair, *last) for i, pair in pairs]
    if shape.rank is None:
        return values
    axes = "[*edge_shape, size]" if last else "[*edge_shape]"
    check_shape(name, values, axes, [*shape, *last])
    return tf.convert_to_tensor(values)


def check_message_sums(
    graph: Graph,
    senders: Any,
    receivers: Any,
    edges: Any,
    edge_weights: Any,
) -> tuple[tf.Tensor, tf.Tensor, Any, Any]:
    """Takes the arguments of `Graph.message_sums`, and refuses wrong ones.

    Args:
      graph: the graph.
      senders, receivers, edges, edge_weights: see `Graph.message_sums`.

    Returns:
      (senders, receivers, edges, edge_weights) as tensors, the weights in float32.

    Raises:
      ValueError: an argument has a shape that does not fit the graph.
    """
    name = f"{type(graph).__name__}.message_sums"
    senders = check_nodes(f"{name}: senders", graph, senders)
    receivers = check_nodes(f"{name}: receivers", graph, receivers)
    edges = check_edges(f"{name}: edges", graph, edges, senders.shape[-1])
    weights = check_edges(f"{name}: edge_weights", graph, edge_weights)
    if weights is not None:
        weights = tf.nest.map_structure(lambda w: tf.cast(w, tf.float32), weights)
    return senders, receivers, edges, weights


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
