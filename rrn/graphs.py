"""Who sends to whom: one interface, `Graph`, and four forms of it.

    SparseGraph          any graph or graphs, as a list of edges
    RegularGraph         the same graph many times; each of its nodes has k neighbours
    FullyConnectedGraph  every node hears every node of its graph; graphs may differ in size
    GraphUnion           graphs of any form side by side

The nodes of all graphs of a batch lie in one matrix `[nodes, size]`, graph after graph; there is no
axis for the batch. Where two forms describe the same graph, their results are the same.
"""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
import tensorflow as tf

from rrn.edge_layers import EdgeLayerSums
from rrn.layers import MLP
from rrn.relu_sums import ReluSums

BLOCK_EDGES = 2**14  # a CPU is fastest where a block's edges stay in its cache

# A value for every edge: a tensor, or for a `GraphUnion` a list with the values of each part.
EdgeValues = tf.Tensor | list
# What runs on edges: from `[rows, size]` to `[rows, output_size]`.
EdgeFunction = Callable[[tf.Tensor], tf.Tensor]


class FusedSums(Protocol):
    """Sums of messages with the layers on edges built in; what `Graph.fused_sums` returns."""

    def __call__(
        self,
        senders: tf.Tensor,
        receivers: tf.Tensor,
        edges: EdgeValues | None = None,
        edge_kernel: tf.Tensor | None = None,
        edge_weights: EdgeValues | None = None,
    ) -> tf.Tensor:
        """Computes Σ_i w_ij φ(s_i + r_j + e_ij K), with φ the layers on edges.

        Args:
          senders, receivers: `[nodes, size]`, the s_i and the r_j.
          edges: the edges' features `[*edge_shape, edge_size]`, None without.
          edge_kernel: `[edge_size, size]`, K; None without edges.
          edge_weights: `[*edge_shape]`, None for ones.

        Returns:
          `[nodes, output_size]`; the j-th row is node j's sum.
        """


class Graph(Protocol):
    """What the network asks of a graph, or of a batch of graphs.

    A class of your own that inherits from `Graph` and has these methods works in the network as
    well as the four forms here; only `fused_sums` may be left as it is.

    Values of edges are given in the graph's edge shape: features as `[*edge_shape, edge_size]` and
    weights as `[*edge_shape]`.
    """

    def edge_shape(self) -> EdgeValues:
        """Returns the edge shape, as an integer tensor; for a union a list of those."""

    def edge_list(self) -> tuple[tf.Tensor, tf.Tensor]:
        """Lists the edges one by one; edges from or to padding nodes are left out.

        Returns:
          (senders, receivers), integers `[edges]`: the k-th edge runs from node senders[k] to node
          receivers[k].
        """

    def message_sums(
        self,
        edge_fn: EdgeFunction,
        senders: tf.Tensor,
        receivers: tf.Tensor,
        edges: EdgeValues | None = None,
        edge_weights: EdgeValues | None = None,
    ) -> tf.Tensor:
        """Computes Σ_i w_ij edge_fn(s_i + r_j + e_ij) for every node j, i over its senders.

        Args:
          edge_fn: a function from `[rows, size]` to `[rows, output_size]`.
          senders, receivers: `[nodes, size]`, the s_i and the r_j.
          edges: `[*edge_shape, size]`, the e_ij; None for zeros.
          edge_weights: `[*edge_shape]`, the w_ij; None for ones.

        Returns:
          `[nodes, output_size]`. Messages of any type are added in float32.
        """

    def fused_sums(self, mlp: MLP, edge_size: int) -> FusedSums | None:
        """Offers a faster way to sum the messages of an MLP.

        Args:
          mlp: the message function. On edges run its `hidden_layers`: a ReLU, then each layer
            between the first and the last with a ReLU after it.
          edge_size: the number of an edge's features.

        Returns:
          A function that gives what `message_sums` gives with `mlp.hidden_layers` for edge_fn, or
          None if the graph has no faster way for this MLP.
        """
        return None

    def degrees(self, edge_weights: EdgeValues | None = None) -> tf.Tensor:
        """Computes Σ_i w_ij for every node j.

        Args:
          edge_weights: `[*edge_shape]`, the w_ij; None for ones.

        Returns:
          `[nodes]`; without weights, the number of each node's senders.
        """

    def sum_nodes(self, nodes: tf.Tensor) -> tf.Tensor:
        """Sums the nodes of each graph.

        Args:
          nodes: `[nodes, size]`.

        Returns:
          `[graphs, size]`. Padding nodes are not counted.
        """

    def broadcast_globals_to_nodes(self, globals_: tf.Tensor) -> tf.Tensor:
        """Gives every node its graph's row.

        Args:
          globals_: `[graphs, size]`.

        Returns:
          `[nodes, size]`; the j-th row is globals_[the graph of node j].
        """


@dataclasses.dataclass
class SparseGraph(Graph):
    """Any graph or graphs: the k-th edge runs from node `senders[k]` to node `receivers[k]`.

    The edge shape is `[edges]`.

    Args:
      senders, receivers: integers `[edges]`, from 0 to num_nodes - 1.
      num_nodes: the number of nodes of all graphs.
      node_graph: integers `[nodes]`, the graph of every node; one graph if not given.
      num_graphs: the number of graphs.

    Raises:
      ValueError: senders or receivers are not of rank 1.
    """

    senders: tf.Tensor
    receivers: tf.Tensor
    num_nodes: int | tf.Tensor
    node_graph: tf.Tensor | None = None
    num_graphs: int | tf.Tensor = 1

    def __post_init__(self):
        self.senders = tf.convert_to_tensor(self.senders)
        self.receivers = tf.convert_to_tensor(self.receivers)
        _check_rank("SparseGraph: senders", self.senders, 1)
        _check_rank("SparseGraph: receivers", self.receivers, 1)
        if self.node_graph is None:
            self.node_graph = tf.zeros([self.num_nodes], tf.int32)

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
        pairs = tf.gather(senders, self.senders) + tf.gather(receivers, self.receivers)
        messages = edge_fn(pairs if edges is None else pairs + edges)
        sums = tf.cast(messages, tf.float32)
        if edge_weights is not None:
            sums *= edge_weights[:, None]
        sums = tf.math.unsorted_segment_sum(sums, self.receivers, self.num_nodes)
        return tf.cast(sums, messages.dtype)

    def degrees(self, edge_weights: tf.Tensor | None = None) -> tf.Tensor:
        weights = tf.ones(self.edge_shape()) if edge_weights is None else edge_weights
        return tf.math.unsorted_segment_sum(weights, self.receivers, self.num_nodes)

    def sum_nodes(self, nodes: tf.Tensor) -> tf.Tensor:
        return tf.math.unsorted_segment_sum(nodes, self.node_graph, self.num_graphs)

    def broadcast_globals_to_nodes(self, globals_: tf.Tensor) -> tf.Tensor:
        return tf.gather(globals_, self.node_graph)


@dataclasses.dataclass
class RegularGraph(Graph):
    """Every graph of the batch is the same, and each of its nodes has k neighbours.

    The edge shape is `[batch, graph_nodes, k]`.

    Args:
      neighbours: integers `[graph_nodes, k]`; node j of a graph hears its nodes `neighbours[j]`.
      batch: the number of graphs.

    Attributes:
      edges_from: integers `[graph_nodes, k]`, the edges that leave each node, where edge k j + n is
        the n-th to node j. None if not k of them leave each, or if neighbours are not known before
        the run.

    Raises:
      ValueError: neighbours are not of rank 2.
    """

    neighbours: tf.Tensor
    batch: int | tf.Tensor

    def __post_init__(self):
        self.neighbours = tf.convert_to_tensor(self.neighbours)
        _check_rank("RegularGraph: neighbours", self.neighbours, 2)
        self.edges_from = _edges_by_sender(tf.get_static_value(self.neighbours))

    def edge_shape(self) -> tf.Tensor:
        return tf.stack([self.batch, *self.neighbours.shape])

    def edge_list(self) -> tuple[tf.Tensor, tf.Tensor]:
        nodes, k = self.neighbours.shape
        first = tf.range(self.batch)[:, None, None] * nodes
        senders = tf.cast(self.neighbours, tf.int32)
        receivers = tf.broadcast_to(tf.range(nodes)[:, None], [nodes, k])
        return tf.reshape(first + senders, [-1]), tf.reshape(first + receivers, [-1])

    def message_sums(
        self,
        edge_fn: EdgeFunction,
        senders: tf.Tensor,
        receivers: tf.Tensor,
        edges: tf.Tensor | None = None,
        edge_weights: tf.Tensor | None = None,
    ) -> tf.Tensor:
        # Block by block of a few graphs, where their number is known.
        sizes = self._block_sizes()

        def split(x):
            return [None] * len(sizes) if x is None else tf.split(x, sizes)

        blocks = zip(
            split(self._by_graph(senders)),
            split(self._by_graph(receivers)),
            split(edges),
            split(edge_weights),
            strict=True,
        )
        return tf.concat([self._block_sums(edge_fn, *block) for block in blocks], axis=0)

    def fused_sums(self, mlp: MLP, edge_size: int) -> FusedSums | None:
        if ReluSums.suits(self, mlp, edge_size):
            return ReluSums(self)
        if EdgeLayerSums.suits(self, mlp, edge_size):
            return EdgeLayerSums(self, mlp)
        return None

    def degrees(self, edge_weights: tf.Tensor | None = None) -> tf.Tensor:
        weights = tf.ones(self.edge_shape()) if edge_weights is None else edge_weights
        return tf.reshape(tf.reduce_sum(weights, axis=2), [-1])

    def sum_nodes(self, nodes: tf.Tensor) -> tf.Tensor:
        return tf.reduce_sum(self._by_graph(nodes), axis=1)

    def broadcast_globals_to_nodes(self, globals_: tf.Tensor) -> tf.Tensor:
        return tf.repeat(globals_, self.neighbours.shape[0], axis=0)

    def _by_graph(self, nodes):
        """`[nodes, size]` to `[batch, graph_nodes, size]`."""
        return tf.reshape(nodes, [self.batch, self.neighbours.shape[0], nodes.shape[-1]])

    def _block_sizes(self):
        """The numbers of graphs of each block, nearly equal; on a GPU all graphs are one block."""
        batch = tf.get_static_value(self.batch)
        if not batch or tf.config.list_logical_devices("GPU"):
            return [self.batch]
        edges = batch * self.neighbours.shape.num_elements()
        num_blocks = min(batch, -(-edges // BLOCK_EDGES))
        return [batch * (i + 1) // num_blocks - batch * i // num_blocks for i in range(num_blocks)]

    def _block_sums(self, edge_fn, senders, receivers, edges, edge_weights):
        """The sums of one block; all arguments are by graph."""
        pairs = self._gather_senders(senders) + tf.expand_dims(receivers, 2)
        pairs = pairs if edges is None else pairs + edges
        messages = edge_fn(tf.reshape(pairs, [-1, pairs.shape[-1]]))
        size = messages.shape[-1]
        messages = tf.reshape(messages, [-1, *self.neighbours.shape, size])
        if edge_weights is None:
            return tf.reshape(tf.reduce_sum(messages, axis=2), [-1, size])
        sums = tf.reduce_sum(tf.cast(messages, tf.float32) * edge_weights[..., None], axis=2)
        return tf.reshape(tf.cast(sums, messages.dtype), [-1, size])

    def _gather_senders(self, nodes):
        """`[batch, graph_nodes, size]` to `[batch, graph_nodes, k, size]`: the senders' rows."""
        if self.edges_from is None:
            return tf.gather(nodes, self.neighbours, axis=1)

        @tf.custom_gradient
        def gather(nodes):
            # The gradient is a gather as well. TensorFlow's own scatters row by row, and adds up in
            # bfloat16 where its input is bfloat16.
            def gradient(edges):
                edges = tf.reshape(edges, [-1, self.edges_from.size, edges.shape[-1]])
                return tf.reduce_sum(tf.gather(edges, self.edges_from, axis=1), axis=2)

            return tf.gather(nodes, self.neighbours, axis=1), gradient

        return gather(nodes)


def all_others(n: int) -> np.ndarray:
    """Makes the neighbours of a `RegularGraph` in which every node hears all others, not itself.

    Args:
      n: the number of nodes.

    Returns:
      Integers `[n, n - 1]`.
    """
    return np.array([[j for j in range(n) if j != i] for i in range(n)], np.int32)


def _edges_by_sender(neighbours):
    """`RegularGraph.edges_from` of neighbours `[nodes, k]`, or of None if they are not known."""
    if neighbours is None:
        return None
    nodes, k = neighbours.shape
    if (np.bincount(neighbours.reshape(-1), minlength=nodes) != k).any():
        return None
    return neighbours.reshape(-1).argsort(kind="stable").reshape(nodes, k)


@dataclasses.dataclass
class FullyConnectedGraph(Graph):
    """Every node sends to every node of its graph, itself included; padding nodes send nothing.

    Padding nodes receive messages, and what they hold means nothing. The edge shape is
    `[batch, senders, receivers]`.

    Args:
      mask: `[batch, graph_nodes]`, 1 for a node and 0 for padding.

    Raises:
      ValueError: the mask is not of rank 2.
    """

    mask: tf.Tensor

    def __post_init__(self):
        self.mask = tf.cast(self.mask, tf.float32)
        _check_rank("FullyConnectedGraph: mask", self.mask, 2)

    def edge_shape(self) -> tf.Tensor:
        batch, nodes = self._sizes()
        return tf.stack([batch, nodes, nodes])

    def edge_list(self) -> tuple[tf.Tensor, tf.Tensor]:
        nodes = tf.shape(self.mask)[1]
        real = self.mask > 0
        pairs = tf.where(real[:, :, None] & real[:, None, :])
        place, sender, receiver = tf.unstack(tf.cast(pairs, tf.int32), axis=1)
        return place * nodes + sender, place * nodes + receiver

    def message_sums(
        self,
        edge_fn: EdgeFunction,
        senders: tf.Tensor,
        receivers: tf.Tensor,
        edges: tf.Tensor | None = None,
        edge_weights: tf.Tensor | None = None,
    ) -> tf.Tensor:
        batch, nodes = self._sizes()
        size = senders.shape[-1]
        pairs = tf.reshape(senders, [batch, nodes, 1, size])
        pairs += tf.reshape(receivers, [batch, 1, nodes, size])
        messages = edge_fn(tf.reshape(pairs if edges is None else pairs + edges, [-1, size]))
        messages = tf.reshape(messages, [batch, nodes, nodes, messages.shape[-1]])
        return _weighted_sum(messages, self._weights(edge_weights))

    def degrees(self, edge_weights: tf.Tensor | None = None) -> tf.Tensor:
        degrees = tf.reduce_sum(self._weights(edge_weights), axis=1)
        return tf.reshape(tf.broadcast_to(degrees, tf.shape(self.mask)), [-1])

    def sum_nodes(self, nodes: tf.Tensor) -> tf.Tensor:
        nodes = tf.reshape(nodes, [*self._sizes(), nodes.shape[-1]])
        return tf.reduce_sum(nodes * self.mask[..., None], axis=1)

    def broadcast_globals_to_nodes(self, globals_: tf.Tensor) -> tf.Tensor:
        return tf.repeat(globals_, self._sizes()[1], axis=0)

    def _sizes(self):
        batch, dynamic_nodes = tf.unstack(tf.shape(self.mask))
        return batch, self.mask.shape[1] or dynamic_nodes

    def _weights(self, edge_weights):
        """Weights of the edges `[batch, senders, receivers or 1]`."""
        mask = self.mask[:, :, None]
        return mask if edge_weights is None else mask * edge_weights


@dataclasses.dataclass
class GraphUnion(Graph):
    """Several graphs (of any form) side by side: their nodes, one after the other, in one matrix.

    The edge shape is a list of the parts' edge shapes, and values of edges are lists with one entry
    for each part. Where graphs differ much in size, a union of parts, each padded to its own
    largest graph, has less padding than one `FullyConnectedGraph`.

    Args:
      parts: the graphs.
      part_nodes: integers `[parts]`, each part's number of nodes, padding included.
      part_graphs: integers `[parts]`, each part's number of graphs.
    """

    parts: Sequence[Graph]
    part_nodes: tf.Tensor | Sequence[int]
    part_graphs: tf.Tensor | Sequence[int]

    def edge_shape(self) -> list:
        return [part.edge_shape() for part in self.parts]

    def edge_list(self) -> tuple[tf.Tensor, tf.Tensor]:
        firsts = tf.unstack(tf.cumsum(self.part_nodes, exclusive=True), len(self.parts))
        lists = [part.edge_list() for part in self.parts]
        shifted = [(s + first, r + first) for (s, r), first in zip(lists, firsts, strict=True)]
        senders, receivers = zip(*shifted, strict=True)
        return tf.concat(senders, axis=0), tf.concat(receivers, axis=0)

    def message_sums(
        self,
        edge_fn: EdgeFunction,
        senders: tf.Tensor,
        receivers: tf.Tensor,
        edges: list | None = None,
        edge_weights: list | None = None,
    ) -> tf.Tensor:
        none = [None] * len(self.parts)
        arguments = zip(
            self.parts,
            self._split(senders),
            self._split(receivers),
            edges or none,
            edge_weights or none,
            strict=True,
        )
        return tf.concat([part.message_sums(edge_fn, *rest) for part, *rest in arguments], axis=0)

    def degrees(self, edge_weights: list | None = None) -> tf.Tensor:
        weights = edge_weights or [None] * len(self.parts)
        pairs = zip(self.parts, weights, strict=True)
        return tf.concat([part.degrees(weight) for part, weight in pairs], axis=0)

    def sum_nodes(self, nodes: tf.Tensor) -> tf.Tensor:
        pairs = zip(self.parts, self._split(nodes), strict=True)
        return tf.concat([part.sum_nodes(rows) for part, rows in pairs], axis=0)

    def broadcast_globals_to_nodes(self, globals_: tf.Tensor) -> tf.Tensor:
        rows = tf.split(globals_, self.part_graphs, num=len(self.parts))
        pairs = zip(self.parts, rows, strict=True)
        return tf.concat([part.broadcast_globals_to_nodes(g) for part, g in pairs], axis=0)

    def _split(self, nodes):
        return tf.split(nodes, self.part_nodes, num=len(self.parts))


def _check_rank(name, tensor, rank):
    if tensor.shape.rank != rank:
        raise ValueError(f"{name} must have rank {rank}, got shape {tensor.shape}")


def _weighted_sum(values, weights):
    """Σ_b values `[a, b, c, size]` times weights `[a, b, c]` or `[a, b, 1]`, in values' type.

    With weights `[a, b, 1]` it is a matrix product, which reads `values` once and accumulates in
    float32 whatever their type.
    """
    a, b, c, size = tf.unstack(tf.shape(values))
    weights = tf.cast(weights, values.dtype)
    if weights.shape[2] == 1:
        sums = tf.matmul(weights, tf.reshape(values, [a, b, c * size]), transpose_a=True)
        return tf.reshape(sums, [a * c, size])
    sums = tf.reduce_sum(tf.cast(values * weights[..., None], tf.float32), axis=1)
    return tf.cast(tf.reshape(sums, [a * c, size]), values.dtype)
