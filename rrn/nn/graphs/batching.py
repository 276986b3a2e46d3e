"""Sparse graphs of different sizes, side by side in the batches of a `tf.data` pipeline."""

from collections.abc import Callable

import tensorflow as tf

from rrn.nn.checks import check_sizes
from rrn.nn.graphs.graph import GraphValue
from rrn.nn.graphs.sparse import SparseGraph

FIELDS = "senders", "receivers", "num_nodes", "node_graph", "num_graphs"


def batch_graphs(
    batch_size: int, drop_remainder: bool = False
) -> Callable[[tf.data.Dataset], tf.data.Dataset]:
    """Makes what `tf.data.Dataset.apply` takes to batch elements that hold sparse graphs.

    An element is any nest of `SparseGraph`s and tensors. In a batch

    - a `SparseGraph` is all elements' graphs side by side, as one `SparseGraph`;
    - values of nodes or of edges are all elements' rows, one after the other: `[rows of all, ...]`.
      Such a tensor's first axis has no fixed size, or the size of a graph's nodes or edges. Where
      graphs have no fixed sizes, every tensor of two axes or more is one;
    - any other tensor, as an answer about a whole graph, is stacked: `[batch, ...]`.

    Args:
      drop_remainder: whether a last batch with fewer elements is left out.

    Raises:
      ValueError: batch_size is below 1; at the data set, its elements hold graphs of another form.
    """
    check_sizes("batch_graphs", batch_size=batch_size)

    def batch(dataset):
        specs = tf.nest.flatten(dataset.element_spec)
        graphs = [spec for spec in specs if isinstance(spec, SparseGraph.Spec)]
        sizes = {rows.shape[0] for spec in graphs for rows in (spec.senders, spec.node_graph)}

        def apart(*element):
            return tuple(_parts(value) for value in tf.nest.flatten(element))

        def together(*values):
            joined = [_joined(*pair, sizes) for pair in zip(specs, values, strict=True)]
            return tf.nest.pack_sequence_as(dataset.element_spec, joined)

        return dataset.map(apart).ragged_batch(batch_size, drop_remainder).map(together)

    return batch


def _parts(value):
    """A `SparseGraph` as a dict of its tensors; a tensor as it is."""
    if isinstance(value, SparseGraph):
        return {name: getattr(value, name) for name in FIELDS}
    if isinstance(value, GraphValue):
        got = type(value).__name__
        raise ValueError(f"batch_graphs: an element's graphs must be SparseGraphs, got a {got}")
    return value


def _joined(spec, value, sizes):
    """A batch's value, of an element's spec; see `batch_graphs`."""
    if not isinstance(spec, SparseGraph.Spec):
        rank = spec.shape.rank
        rows = rank and (spec.shape[0] in {None, *sizes} or (rank > 1 and None in sizes))
        return _ragged(value).values if rows else value
    nodes, graphs = (tf.cumsum(value[name], exclusive=True) for name in ("num_nodes", "num_graphs"))

    def shifted(name, firsts):
        rows = _ragged(value[name])
        return rows.values + tf.gather(firsts, rows.value_rowids())

    return SparseGraph(
        shifted("senders", nodes),
        shifted("receivers", nodes),
        tf.reduce_sum(value["num_nodes"]),
        shifted("node_graph", graphs),
        tf.reduce_sum(value["num_graphs"]),
    )


def _ragged(rows):
    """Rows of each element; those of fixed sizes come as one tensor."""
    from_tensor = tf.RaggedTensor.from_tensor  # pyright: ignore[reportAttributeAccessIssue] (no stub)
    return rows if isinstance(rows, tf.RaggedTensor) else from_tensor(rows)
