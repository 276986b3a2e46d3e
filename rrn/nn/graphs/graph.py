"""What the network asks of a graph: the interface `Graph`."""

import abc
from collections.abc import Callable
from typing import NamedTuple

import tensorflow as tf

# A value for every edge: a tensor, or for a `GraphUnion` a list with the values of each part.
EdgeValues = tf.Tensor | list
# What runs on edges: from `[rows, size]` to `[rows, output_size]`.
EdgeFunction = Callable[[tf.Tensor], tf.Tensor]


class EdgeEnds(NamedTuple):
    """Where every edge runs, in the order of values of edges, row by row.

    Attributes:
      senders, receivers: integers `[rows]`; the k-th edge runs from node senders[k] to node
        receivers[k].
      present: booleans `[rows]`, False for what has a place in the edge shape and is no edge, as
        those from and to padding nodes; None where all are edges.
    """

    senders: tf.Tensor
    receivers: tf.Tensor
    present: tf.Tensor | None = None


class KnownSizes(NamedTuple):
    """What is known of a graph's sizes when a function is traced.

    Attributes:
      nodes, graphs: their numbers, padding nodes included; None where not known.
      edge_shape: the shape of a value for every edge, a `tf.TensorShape`; for a union a list with
        the shape of each part.
    """

    nodes: int | None = None
    graphs: int | None = None
    edge_shape: tf.TensorShape | list = tf.TensorShape(None)  # pyright: ignore[reportArgumentType] (stubs lack None)


class Graph(abc.ABC):
    """What the network asks of a graph, or of a batch of graphs.

    A class of your own that inherits from `Graph` and has these methods works in the network as
    well as the four forms here; only `known_sizes`, `edge_ends` and `validate` may be left as they
    are. One that inherits from `GraphValue` can be an argument of a `tf.function`, too.

    Values of edges are given in the graph's edge shape: features as `[*edge_shape, edge_size]` and
    weights as `[*edge_shape]`.
    """

    def known_sizes(self) -> KnownSizes:
        """Says what is known of the sizes without running anything; wrong calls are found by it.

        By default nothing is known.
        """
        return KnownSizes()

    @abc.abstractmethod
    def edge_shape(self) -> EdgeValues:
        """Computes the edge shape, an integer tensor; for a union a list of those."""

    @abc.abstractmethod
    def edge_list(self) -> tuple[tf.Tensor, tf.Tensor]:
        """Lists the edges one by one; edges from or to padding nodes are left out.

        Returns:
          (senders, receivers), integers `[edges]`: the k-th edge runs from node senders[k] to node
          receivers[k].
        """

    def edge_ends(self) -> EdgeEnds:
        """Lists the ends of everything that has a place in the edge shape.

        By default they are those of `edge_list`, which is right where that leaves out none.
        """
        return EdgeEnds(*self.edge_list())

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
          edge_fn: a function from `[rows, size]` to `[rows, output_size]`.
          senders, receivers: `[nodes, size]`, the s_i and the r_j.
          edges: `[*edge_shape, size]`, the e_ij; None for zeros.
          edge_weights: `[*edge_shape]`, the w_ij; None for ones.

        Returns:
          `[nodes, output_size]`. Messages of any type are added in float32.
        """

    @abc.abstractmethod
    def degrees(self, edge_weights: EdgeValues | None = None) -> tf.Tensor:
        """Computes Σ_i w_ij for every node j, with w `[*edge_shape]`, ones if None.

        Returns:
          `[nodes]`; without weights, the number of each node's senders.
        """

    @abc.abstractmethod
    def sum_nodes(self, nodes: tf.Tensor) -> tf.Tensor:
        """Sums the nodes of each graph: `[nodes, size]` to `[graphs, size]`.

        Padding nodes are not counted.
        """

    @abc.abstractmethod
    def broadcast_globals_to_nodes(self, globals_: tf.Tensor) -> tf.Tensor:
        """Gives every node its graph's row: `[graphs, size]` to `[nodes, size]`."""

    def validate(self) -> None:
        """Checks the values that a graph was made of, on the host; other methods trust them.

        With a wrong index some operations fail on a CPU. Others add messages to a wrong node, or
        lose them, and say nothing. Call `validate` once for graphs that come from outside, not
        within a `tf.function`.

        Raises:
          ValueError: an index is out of range, numbers do not fit each other, or values are not
            known yet.
        """
        raise NotImplementedError(f"{type(self).__name__} has no validate")


class GraphValue(tf.experimental.ExtensionType, Graph):
    """A graph that TensorFlow takes as a value, as it takes a tensor; see `ExtensionType`.

    It can be an argument of a `tf.function` or of a SavedModel's function, an element of a
    `tf.data` pipeline, and a part of a union.
    """

    def __init_subclass__(cls, **options):
        """Keeps a form's constructor in classes that inherit from the form and have none."""
        super().__init_subclass__(**options)
        made = getattr(cls.__init__, "__wrapped__", None)
        if "__init__" not in vars(cls) and made:
            cls.__init__ = made  # TensorFlow wraps it anew; else it makes one from the fields
