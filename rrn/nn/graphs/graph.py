"""What the network asks of a graph: the interface `Graph`, and the base of the four forms."""

import abc
from collections.abc import Callable
from typing import NamedTuple

import tensorflow as tf

from rrn.nn.checks import check_edges, check_globals, check_nodes

# A value for every edge: a tensor, or for a `GraphUnion` a list with the values of each part.
EdgeValues = tf.Tensor | list
# What runs on edges: from `[rows, size]` to `[rows, output_size]`.
EdgeFunction = Callable[[tf.Tensor], tf.Tensor]


class EdgeEnds(NamedTuple):
    """Where every edge runs, in the order of values of edges, row by row.

    Attributes:
      senders, receivers: integers `[rows]`; the k-th edge runs from node senders[k] to node
        receivers[k].
      present: booleans `[rows]`, False for what has a row in the edge shape and is no edge, as
        those from and to padding nodes; None where all are edges.
    """

    senders: tf.Tensor
    receivers: tf.Tensor
    present: tf.Tensor | None = None


class KnownSizes(NamedTuple):
    """What is known of a graph's sizes when a function is traced.

    Attributes:
      nodes, graphs: their numbers, padding nodes included; None where not known.
      edge_shape: the shape of a value for every edge; for a union a list with each part's.
    """

    nodes: int | None = None
    graphs: int | None = None
    edge_shape: tf.TensorShape | list = tf.TensorShape(None)  # pyright: ignore[reportArgumentType] (stubs lack None)


class Graph(abc.ABC):
    """What the network asks of a graph, or of a batch of graphs.

    A class of your own that inherits from `Graph` and has these methods works in the network as
    well as the four forms here; only `known_sizes` and `validate` may be left as they are. One that
    inherits from `GraphValue` can be an argument of a `tf.function`, too.

    Values of edges are given in the graph's edge shape: features as `[*edge_shape, edge_size]` and
    weights as `[*edge_shape]`.
    """

    def known_sizes(self) -> KnownSizes:
        """Says what is known of the sizes without running anything; wrong calls are found by it."""
        return KnownSizes()

    @abc.abstractmethod
    def edge_shape(self) -> EdgeValues:
        """Computes the edge shape, an integer tensor; for a union a list of those."""

    @abc.abstractmethod
    def edge_ends(self) -> EdgeEnds:
        """Lists the ends of everything that has a row in the edge shape."""

    def edge_list(self) -> tuple[tf.Tensor, tf.Tensor]:
        """Lists (senders, receivers), integers `[edges]`, without edges from or to padding."""
        senders, receivers, present = self.edge_ends()
        if present is None:
            return senders, receivers
        return tf.boolean_mask(senders, present), tf.boolean_mask(receivers, present)

    @abc.abstractmethod
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
          senders, receivers: `[nodes, size]`, the s_i and the r_j.
          edges: `[*edge_shape, size]`, the e_ij; None for zeros.
          edge_weights: `[*edge_shape]`, the w_ij; None for ones.

        Returns:
          `[nodes, output_size]`. Messages of any type are added in float32.
        """

    @abc.abstractmethod
    def degrees(self, edge_weights: EdgeValues | None = None) -> tf.Tensor:
        """Computes Σ_i w_ij for every node j, `[nodes]`, with w `[*edge_shape]`, ones if None."""

    @abc.abstractmethod
    def sum_nodes(self, nodes: tf.Tensor) -> tf.Tensor:
        """Sums the nodes of each graph without padding: `[nodes, size]` to `[graphs, size]`."""

    @abc.abstractmethod
    def broadcast_globals_to_nodes(self, globals_: tf.Tensor) -> tf.Tensor:
        """Gives every node its graph's row: `[graphs, size]` to `[nodes, size]`."""

    def validate(self) -> None:
        """Checks the values that a graph was made of, on the host; other methods trust them.

        With a wrong index some operations fail on a CPU. Others add messages to a wrong node, or
        lose them, and say nothing. Call `validate` once for graphs that come from outside, not
        within a `tf.function`.
        """
        raise NotImplementedError(f"{type(self).__name__} has no validate")


class GraphValue(tf.experimental.ExtensionType, Graph):
    """A graph that TensorFlow takes as a value, as it takes a tensor; see `ExtensionType`.

    Its methods refuse values that do not fit the graph. What they compute is in those of the same
    names with an underscore, which a form has.
    """

    def message_sums(self, edge_fn, senders, receivers, edges=None, edge_weights=None) -> tf.Tensor:
        name = f"{type(self).__name__}.message_sums"
        senders = check_nodes(f"{name}: senders", self, senders)
        receivers = check_nodes(f"{name}: receivers", self, receivers)
        edges = check_edges(f"{name}: edges", self, edges, senders.shape[-1])
        weights = check_edges(f"{name}: edge_weights", self, edge_weights)
        if weights is not None:
            weights = tf.nest.map_structure(lambda w: tf.cast(w, tf.float32), weights)
        return self._message_sums(edge_fn, senders, receivers, edges, weights)

    def degrees(self, edge_weights: EdgeValues | None = None) -> tf.Tensor:
        name = f"{type(self).__name__}.degrees: edge_weights"
        weights = check_edges(name, self, edge_weights)
        if weights is not None:
            weights = tf.nest.map_structure(lambda w: tf.cast(w, tf.float32), weights)
        return self._degrees(weights)

    def sum_nodes(self, nodes: tf.Tensor) -> tf.Tensor:
        nodes = check_nodes(f"{type(self).__name__}.sum_nodes: nodes", self, nodes)
        half = nodes.dtype in (tf.bfloat16, tf.float16)  # which is added in float32
        sums = self._sum_nodes(tf.cast(nodes, tf.float32) if half else nodes)
        return tf.cast(sums, nodes.dtype)

    def broadcast_globals_to_nodes(self, globals_: tf.Tensor) -> tf.Tensor:
        name = f"{type(self).__name__}.broadcast_globals_to_nodes: globals_"
        return self._broadcast(check_globals(name, self, globals_))

    def _message_sums(self, edge_fn, senders, receivers, edges, edge_weights) -> tf.Tensor:
        raise NotImplementedError

    def _degrees(self, edge_weights) -> tf.Tensor:
        raise NotImplementedError

    def _sum_nodes(self, nodes) -> tf.Tensor:
        raise NotImplementedError

    def _broadcast(self, globals_) -> tf.Tensor:
        raise NotImplementedError
