"""What nodes hear at a step: the interface `Aggregation`, and any message function of one's own.

`EdgeMessages` is the general path. It calls a module on every edge and aggregates the results at
the receivers; nothing is known of the module, so that nothing is moved from edges to nodes.
`rrn.nn.messages` has the fast way for an MLP and sums.
"""

from typing import Any, NamedTuple

import tensorflow as tf

from rrn.nn.checks import check_shape, check_sizes, float_type
from rrn.nn.graphs import EdgeValues, Graph
from rrn.nn.graphs.checks import check_edges, check_globals, check_graph, check_nodes
from rrn.nn.layers import MLP
from rrn.variables.reading import checked_reads

AGGREGATES = "sum", "mean", "max", "softmax"


class Aggregation(tf.Module):
    """What every node hears of its senders: m_j, from the states of all nodes.

    A class of your own that inherits from it and has `__call__` may be a network's `message_fn`.
    Its `prepare` may compute what is the same at every step.

    Args:
      output_size: the size of what a node hears.
      edge_size: the number of an edge's features, 0 without.
      global_size: the number of a graph's globals, 0 without.

    Raises:
      ValueError: output_size is below 1, or edge_size or global_size below 0.
    """

    def __init__(
        self, output_size: int, edge_size: int = 0, global_size: int = 0, name: str = "message_fn"
    ):
        super().__init__(name=name)
        check_sizes(type(self).__name__, output_size=output_size)
        check_sizes(type(self).__name__, 0, edge_size=edge_size, global_size=global_size)
        self.output_size, self.edge_size, self.global_size = output_size, edge_size, global_size

    def prepare(
        self, graph: Graph, edges: EdgeValues | None = None, globals_: tf.Tensor | None = None
    ) -> Any:
        """Computes what is the same at every step.

        Args:
          edges: `[*edge_shape, edge_size]`, a list of such for a union; None without.
          globals_: `[graphs, global_size]`; None without.

        Returns:
          What calls take as `prepared`, a nest of tensors and None; here (edges, globals_).

        Raises:
          ValueError: edges or globals are missing, are given to an aggregation without, or do not
            fit the graph.
        """
        name = type(self).__name__
        check_graph(name, graph)
        if (edges is None, globals_ is None) != (self.edge_size == 0, self.global_size == 0):
            got = ["None" if x is None else "values" for x in (edges, globals_)]
            raise ValueError(
                f"{name} was made for edge_size={self.edge_size} and "
                f"global_size={self.global_size}, got edges={got[0]} and globals_={got[1]}"
            )
        edges = check_edges(f"{name}: edges", graph, edges, self.edge_size)
        if globals_ is not None:
            globals_ = check_globals(f"{name}: globals_", graph, globals_, self.global_size)
        return edges, globals_

    def __call__(
        self,
        graph: Graph,
        nodes: tf.Tensor,
        prepared: Any,
        edge_weights: EdgeValues | None = None,
    ) -> tf.Tensor:
        """Computes what every node hears.

        Args:
          nodes: `[nodes, node_size]`, the states h, in a network float32.
          prepared: what `prepare` returned for this graph.
          edge_weights: `[*edge_shape]`, how often each edge counts, as for edge dropout; None for
            ones.

        Returns:
          `[nodes, output_size]`.

        Raises:
          NotImplementedError: the class has no `__call__` of its own.
        """
        raise NotImplementedError(f"{type(self).__name__} has no __call__")


class PreparedEdges(NamedTuple):
    """What `EdgeMessages` computes once for all steps, with a row for each place of an edge.

    Attributes:
      senders, receivers: integers `[rows]`; see `rrn.nn.graphs.EdgeEnds`.
      present: 1 for an edge and 0 for padding, `[rows]`; None where all are edges.
      edges: the edges' features `[rows, edge_size]`; None without.
      globals_: the globals of the receivers' graphs `[rows, global_size]`; None without.
    """

    senders: tf.Tensor
    receivers: tf.Tensor
    present: tf.Tensor | None
    edges: tf.Tensor | None
    globals_: tf.Tensor | None


class EdgeMessages(Aggregation):
    """Any message function, called on every edge: m_j = aggregate of f(h_i, h_j, e_ij, g) over i.

        sum        Σ_i w_ij m_ij
        mean       Σ_i w_ij m_ij / Σ_i w_ij
        max        the largest m_ij in every column, of the edges with w_ij > 0
        softmax    Σ_i a_ij m_ij, with a_ij = w_ij exp(s_ij) / Σ_i w_ij exp(s_ij)

    The weights w are 1 if none are given: a weight says how often an edge counts, and 0 leaves it
    out. So of a mean, a maximum or attention, edge dropout leaves out edges and scales nothing up.
    A node that hears nobody gets zeros, whatever the aggregate.

    f is called once for all edges of all graphs, with the rows of each edge: (senders
    `[edges, node_size]`, receivers `[edges, node_size]`, edges `[edges, edge_size]` or None,
    globals_ `[edges, global_size]` or None), all in `compute_dtype`. It returns messages
    `[edges, output_size]`. For "softmax" it returns the pair (messages, scores), with scores s
    `[edges, heads]`: each of the heads weighs an equal part of a message's columns. In a
    `FullyConnectedGraph` the rows of padding are there, too. What f makes of them is left out, and
    has to be finite.

    Messages are aggregated in float32. f reads its variables with `rrn.variables.reading.read`, as
    rrn's own layers do: compiled or recomputed steps and Keras layers refuse what is read
    otherwise.

    Args:
      compute_dtype: the type of what f is called with.

    Raises:
      ValueError: function is no module that can be called, there is no such aggregate, a size is
        too small, or compute_dtype is no type of floats.
    """

    def __init__(
        self,
        function: tf.Module,
        output_size: int,
        aggregate: str = "sum",
        edge_size: int = 0,
        global_size: int = 0,
        compute_dtype: tf.DType | str = tf.float32,
    ):
        super().__init__(output_size, edge_size, global_size)
        if not isinstance(function, tf.Module) or not callable(function):
            raise ValueError(
                "EdgeMessages: the message function must be a tf.Module with __call__(senders, "
                f"receivers, edges, globals_), whose variables can be found, got {function!r}"
            )
        if aggregate not in AGGREGATES:
            known = ", ".join(AGGREGATES)
            raise ValueError(f"EdgeMessages: aggregate must be one of {known}, got {aggregate!r}")
        self.function, self.aggregate = function, aggregate
        self.compute_dtype = float_type("EdgeMessages: compute_dtype", compute_dtype)

    def prepare(
        self, graph: Graph, edges: EdgeValues | None = None, globals_: tf.Tensor | None = None
    ) -> PreparedEdges:
        edges, globals_ = super().prepare(graph, edges, globals_)
        senders, receivers, present = graph.edge_ends()
        if present is not None:
            present = tf.cast(present, tf.float32)
        if edges is not None:
            edges = tf.cast(_by_row(edges, [self.edge_size]), self.compute_dtype)
        if globals_ is not None:
            globals_ = tf.cast(globals_, self.compute_dtype)
            globals_ = tf.gather(graph.broadcast_globals_to_nodes(globals_), receivers)
        return PreparedEdges(senders, receivers, present, edges, globals_)

    def __call__(
        self,
        graph: Graph,
        nodes: tf.Tensor,
        prepared: PreparedEdges,
        edge_weights: EdgeValues | None = None,
    ) -> tf.Tensor:
        nodes = check_nodes("EdgeMessages: nodes", graph, nodes)
        edge_weights = check_edges("EdgeMessages: edge_weights", graph, edge_weights)
        nodes = tf.cast(nodes, tf.float32)  # gradients of a gather are added up in its type
        ends = (tf.gather(nodes, places) for places in (prepared.senders, prepared.receivers))
        ends = (tf.cast(rows, self.compute_dtype) for rows in ends)
        with checked_reads(f"The message function {type(self.function).__name__}"):
            result = self.function(*ends, prepared.edges, prepared.globals_)
        messages, scores = self._checked(result, prepared.senders.shape[0])
        weights = prepared.present
        if edge_weights is not None:
            rows = tf.cast(_by_row(edge_weights, []), tf.float32)
            weights = rows if weights is None else rows * weights
        receivers, num_nodes = prepared.receivers, tf.shape(nodes)[0]
        return _AT_RECEIVERS[self.aggregate](messages, scores, weights, receivers, num_nodes)

    def _checked(self, result, rows):
        """(messages, scores) in float32, of the right shapes; no scores but for attention."""
        name, scores = f"What the message function {type(self.function).__name__} returns", None
        if self.aggregate == "softmax":
            if not isinstance(result, (list, tuple)) or len(result) != 2:
                got = type(result).__name__
                raise ValueError(
                    f'{name} must be a pair (messages, scores) for aggregate="softmax", got a {got}'
                )
            result, scores = result
            check_shape(f"{name} as scores", scores, "[edges, heads]", [rows, None])
            scores = tf.cast(scores, tf.float32)
            if not scores.shape[1] or self.output_size % scores.shape[1]:
                raise ValueError(
                    f"{name} as scores must have shape [edges, heads] with a number of heads that "
                    f"divides output_size {self.output_size}, got {scores.shape}"
                )
        axes = "[edges, output_size]"
        check_shape(f"{name} as messages", result, axes, [rows, self.output_size])
        return tf.cast(result, tf.float32), scores


class ConcatenatedMLP(tf.Module):
    """An MLP as a message function of the general path: f([h_i, h_j, e_ij, g]).

    Args:
      mlp: f. With `scored`, its last output is the score of the edge, for attention.
    """

    def __init__(self, mlp: MLP, scored: bool = False):
        super().__init__()
        self.mlp, self.scored = mlp, scored

    def __call__(
        self,
        senders: tf.Tensor,
        receivers: tf.Tensor,
        edges: tf.Tensor | None,
        globals_: tf.Tensor | None,
    ) -> tf.Tensor | list[tf.Tensor]:
        """Applies the MLP to every edge; see `EdgeMessages` for what it is given.

        Returns:
          `[edges, output_size]`; if scored [messages, scores], with scores `[edges, 1]`.
        """
        parts = [part for part in (senders, receivers, edges, globals_) if part is not None]
        messages = self.mlp(tf.concat(parts, axis=-1))
        return tf.split(messages, [-1, 1], axis=-1) if self.scored else messages


def _by_row(values, size):
    """Values of the edge shape as rows, those of a union's parts one after the other."""
    rows = [tf.reshape(part, [-1, *size]) for part in tf.nest.flatten(values)]
    return tf.concat(rows, axis=0) if len(rows) > 1 else rows[0]


def _sum(messages, _, weights, receivers, num_nodes):
    weighted = messages if weights is None else messages * weights[:, None]
    return tf.math.unsorted_segment_sum(weighted, receivers, num_nodes)


def _mean(messages, _, weights, receivers, num_nodes):
    weights = tf.ones_like(messages[:, 0]) if weights is None else weights
    total = tf.math.unsorted_segment_sum(weights, receivers, num_nodes)[:, None]
    return tf.math.divide_no_nan(_sum(messages, _, weights, receivers, num_nodes), total)


def _max(messages, _, weights, receivers, num_nodes):
    lowest = messages.dtype.min  # what a segment without rows has
    if weights is not None:
        messages = tf.where(weights[:, None] > 0, messages, lowest)
    largest = tf.math.unsorted_segment_max(messages, receivers, num_nodes)
    return tf.where(largest > lowest, largest, 0.0)


def _softmax(messages, scores, weights, receivers, num_nodes):
    if weights is not None:
        scores = tf.where(weights[:, None] > 0, scores, scores.dtype.min)
    largest = tf.math.unsorted_segment_max(tf.stop_gradient(scores), receivers, num_nodes)
    terms = tf.exp(scores - tf.gather(largest, receivers))
    terms = terms if weights is None else terms * weights[:, None]
    totals = tf.math.unsorted_segment_sum(terms, receivers, num_nodes)
    columns = messages.shape[1] // scores.shape[1]  # of each head
    sums = _sum(messages * tf.repeat(terms, columns, axis=1), None, None, receivers, num_nodes)
    return tf.math.divide_no_nan(sums, tf.repeat(totals, columns, axis=1))


_AT_RECEIVERS = {"sum": _sum, "mean": _mean, "max": _max, "softmax": _softmax}
