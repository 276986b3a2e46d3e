"""Any graph, as a list of edges."""

import tensorflow as tf

from rrn.nn.graphs.checks import (
    check_edges,
    check_globals,
    check_message_sums,
    check_nodes,
    check_shape,
    index_tensor,
    known_value,
    validate_indices,
)
from rrn.nn.graphs.graph import EdgeFunction, GraphValue, KnownSizes


class SparseGraph(GraphValue):
    """Any graph or graphs: the k-th edge runs from node `senders[k]` to node `receivers[k]`.

    The edge shape is `[edges]`. All that it is made of are int32 tensors, so that a traced function
    takes graphs of any sizes; `spec` is their type.

    Args:
      senders, receivers: integers `[edges]`, from 0 to num_nodes - 1.
      num_nodes: the number of nodes of all graphs.
      node_graph: integers `[nodes]`, the graph of every node; one graph if not given.

    Raises:
      ValueError: an argument has a wrong rank or holds no integers, there are not as many senders
        as receivers, or more than one graph without `node_graph`.
    """

    __name__ = "rrn.SparseGraph"  # in SavedModels

    senders: tf.Tensor
    receivers: tf.Tensor
    num_nodes: tf.Tensor
    node_graph: tf.Tensor
    num_graphs: tf.Tensor

    def __init__(
        self,
        senders: tf.Tensor,
        receivers: tf.Tensor,
        num_nodes: int | tf.Tensor,
        node_graph: tf.Tensor | None = None,
        num_graphs: int | tf.Tensor = 1,
    ):
        self.senders = index_tensor("SparseGraph: senders", senders, 1)
        self.receivers = index_tensor("SparseGraph: receivers", receivers, 1)
        self.num_nodes = index_tensor("SparseGraph: num_nodes", num_nodes, 0)
        num_graphs = index_tensor("SparseGraph: num_graphs", num_graphs, 0)
        if node_graph is None:
            known = tf.get_static_value(num_graphs)
            if known is not None and known > 1:
                raise ValueError(
                    f"SparseGraph: num_graphs={known} needs node_graph, the graph of every node, "
                    "got None"
                )
            node_graph = tf.zeros([self.num_nodes], tf.int32)
        # In the order of the fields, which is that of a saved signature's arguments.
        self.node_graph = index_tensor("SparseGraph: node_graph", node_graph, 1)
        self.num_graphs = num_graphs
        check_shape("SparseGraph: receivers", self.receivers, "[edges]", self.senders.shape)
        nodes = tf.get_static_value(self.num_nodes)
        check_shape("SparseGraph: node_graph", self.node_graph, "[nodes]", [nodes])

    @classmethod
    def spec(cls) -> tf.TypeSpec:
        """Describes sparse graphs of any sizes, such as for an `input_signature`."""
        row, number = tf.TensorSpec([None], tf.int32), tf.TensorSpec([], tf.int32)
        return cls.Spec(row, row, number, row, number)

    def known_sizes(self) -> KnownSizes:
        nodes, graphs = map(tf.get_static_value, (self.num_nodes, self.num_graphs))
        return KnownSizes(
            self.node_graph.shape[0] if nodes is None else int(nodes),
            None if graphs is None else int(graphs),
            self.senders.shape,
        )

    def edge_shape(self) -> tf.Tensor:
        return tf.shape(self.senders)

    def edge_list(self) -> tuple[tf.Tensor, tf.Tensor]:
        return self.senders, self.receivers

    def message_sums(
        self,
        edge_fn: EdgeFunction,
        senders: tf.Tensor,
        receivers: tf.Tensor,
        edges: tf.Tensor | None = None,
        edge_weights: tf.Tensor | None = None,
    ) -> tf.Tensor:
        senders, receivers, edges, edge_weights = check_message_sums(
            self, senders, receivers, edges, edge_weights
        )
        pairs = tf.gather(senders, self.senders) + tf.gather(receivers, self.receivers)
        messages = edge_fn(pairs if edges is None else pairs + edges)
        sums = tf.cast(messages, tf.float32)
        if edge_weights is not None:
            sums *= edge_weights[:, None]
        sums = tf.math.unsorted_segment_sum(sums, self.receivers, self.num_nodes)
        return tf.cast(sums, messages.dtype)

    def degrees(self, edge_weights: tf.Tensor | None = None) -> tf.Tensor:
        edge_weights = check_edges("SparseGraph.degrees: edge_weights", self, edge_weights)
        weights = tf.ones(self.edge_shape()) if edge_weights is None else edge_weights
        return tf.math.unsorted_segment_sum(weights, self.receivers, self.num_nodes)

    def sum_nodes(self, nodes: tf.Tensor) -> tf.Tensor:
        nodes = check_nodes("SparseGraph.sum_nodes: nodes", self, nodes)
        return tf.math.unsorted_segment_sum(nodes, self.node_graph, self.num_graphs)

    def broadcast_globals_to_nodes(self, globals_: tf.Tensor) -> tf.Tensor:
        name = "SparseGraph.broadcast_globals_to_nodes: globals_"
        globals_ = check_globals(name, self, globals_)
        return tf.gather(globals_, self.node_graph)

    def validate(self) -> None:
        name = "SparseGraph.validate:"
        nodes = known_value(f"{name} num_nodes", self.num_nodes)
        graphs = known_value(f"{name} num_graphs", self.num_graphs)
        bounds = {"senders": nodes, "receivers": nodes, "node_graph": graphs}
        for field, bound in bounds.items():
            indices = known_value(f"{name} {field}", getattr(self, field))
            validate_indices(f"{name} {field}", indices, bound)
