"""Sparse graphs of different sizes, side by side in the batches of a `tf.data` pipeline."""

from collections.abc import Callable

import tensorflow as tf

from rrn.nn.checks import check_sizes
from rrn.nn.graphs.graph import GraphValue
from rrn.nn.graphs.sparse import SparseGraph


def batch_graphs(
    batch_size: int, drop_remainder: bool = False
) -> Callable[[tf.data.Dataset], tf.data.Dataset]:
    """Makes what `tf.data.Dataset.apply` takes to batch elements that hold sparse graphs.

    An element is any nest of `SparseGraph`s and tensors. In a batch

    - a `SparseGraph` is all elements' graphs side by side, as one `SparseGraph`;
    - a tensor whose first axis has no fixed size, as values of nodes or of edges have, is all
      elements' rows, one after the other: `[rows of all, ...]`;
    - any other tensor, as an answer about a whole graph, is stacked: `[batch, ...]`.

    Args:
      drop_remainder: whether a last batch with fewer elements is left out.

    Raises:
      ValueError: batch_size is below 1; at the data set, its elements hold graphs of another form.
    """
    check_sizes("batch_graphs", batch_size=batch_size)

    def batch(dataset):
        def apart(*element):
            return tuple(_parts(value) for value in tf.nest.flatten(element))

        def together(*values):
            joined = [_joined(value) for value in values]
            return tf.nest.pack_sequence_as(dataset.element_spec, joined)

        return dataset.map(apart).ragged_batch(batch_size, drop_remainder).map(together)

    return batch


FIELDS = "senders", "receivers", "num_nodes", "node_graph", "num_graphs"


def _parts(value):
    """A `SparseGraph` as a dict of its tensors; a tensor as it is."""
    if not isinstance(value, SparseGraph):
        if isinstance(value, GraphValue):
            got = type(value).__name__
            raise ValueError(f"batch_graphs: an element's graphs must be SparseGraphs, got a {got}")
        return value
    return {name: getattr(value, name) for name in FIELDS}


def _joined(value):
    """What a batch has in place of the value of an element; see `batch_graphs`."""
    if not isinstance(value, dict):
        return value.values if isinstance(value, tf.RaggedTensor) else value
    nodes, graphs = (tf.cumsum(value[name], exclusive=True) for name in ("num_nodes", "num_graphs"))

    def shifted(name, firsts):
        rows = value[name]
        return rows.values + tf.gather(firsts, rows.value_rowids())

    return SparseGraph(
        shifted("senders", nodes),
        shifted("receivers", nodes),
        tf.reduce_sum(value["num_nodes"]),
        shifted("node_graph", graphs),
        tf.reduce_sum(value["num_graphs"]),
    )
