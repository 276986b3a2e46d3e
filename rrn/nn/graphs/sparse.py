"""Any graph, as a list of edges."""

import tensorflow as tf

from rrn.nn.checks import index_tensor, known_value, validate_indices
from rrn.nn.graphs.graph import EdgeEnds, GraphValue, KnownSizes
from rrn.nn.layers import gather


class SparseGraph(GraphValue):
    """Any graph or graphs: the k-th edge runs from node `senders[k]` to node `receivers[k]`.

    The edge shape is `[edges]`. All that it is made of are int32 tensors, so that a traced function
    takes graphs of any sizes; `spec` is their type.

    Args:
      senders, receivers: integers `[edges]`, from 0 to num_nodes - 1.
      num_nodes: the number of nodes of all graphs.
      node_graph: integers `[nodes]`, the graph of every node; one graph if not given.
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
        self.senders = index_tensor("SparseGraph: senders", senders, "[edges]", [None])
        edges = [self.senders.shape[0]]
        self.receivers = index_tensor("SparseGraph: receivers", receivers, "[edges]", edges)
        self.num_nodes = index_tensor("SparseGraph: num_nodes", num_nodes, "[]", [])
        num_graphs = index_tensor("SparseGraph: num_graphs", num_graphs, "[]", [])
        if node_graph is None:
            known = tf.get_static_value(num_graphs)
            if known is not None and known > 1:
                raise ValueError(
                    f"SparseGraph: num_graphs={known} needs node_graph, the graph of every node, "
                    "got None"
                )
            node_graph = tf.zeros([self.num_nodes], tf.int32)
        # In the order of the fields, which is that of a saved signature's arguments.
        nodes = [tf.get_static_value(self.num_nodes)]
        self.node_graph = index_tensor("SparseGraph: node_graph", node_graph, "[nodes]", nodes)
        self.num_graphs = num_graphs

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

    def edge_ends(self) -> EdgeEnds:
        return EdgeEnds(self.senders, self.receivers)

    def _message_sums(self, edge_fn, senders, receivers, edges, edge_weights):
        pairs = gather(senders, self.senders) + gather(receivers, self.receivers)
        messages = edge_fn(pairs if edges is None else pairs + edges)
        sums = tf.cast(messages, tf.float32)
        if edge_weights is not None:
            sums *= edge_weights[:, None]
        sums = tf.math.unsorted_segment_sum(sums, self.receivers, self.num_nodes)
        return tf.cast(sums, messages.dtype)

    def _degrees(self, edge_weights):
        weights = tf.ones(self.edge_shape()) if edge_weights is None else edge_weights
        return tf.math.unsorted_segment_sum(weights, self.receivers, self.num_nodes)

    def _sum_nodes(self, nodes):
        return tf.math.unsorted_segment_sum(nodes, self.node_graph, self.num_graphs)

    def _broadcast(self, globals_):
        return gather(globals_, self.node_graph)

    def validate(self) -> None:
        name = "SparseGraph.validate:"
        nodes = known_value(f"{name} num_nodes", self.num_nodes)
        graphs = known_value(f"{name} num_graphs", self.num_graphs)
        bounds = {"senders": nodes, "receivers": nodes, "node_graph": graphs}
        for field, bound in bounds.items():
            indices = known_value(f"{name} {field}", getattr(self, field))
            validate_indices(f"{name} {field}", indices, bound)
