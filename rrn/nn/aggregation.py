"""What nodes receive at a step: the interface `Aggregation`, and any message function.

`EdgeMessages` is the general path. It calls a module on every edge and aggregates the results at
the receivers. `rrn.nn.messages` has the fast way for an MLP, for sums and means.
"""

from typing import Any

import tensorflow as tf

from rrn.nn import checks
from rrn.nn.graphs import EdgeValues, Graph
from rrn.nn.layers import MLP, gather


class Aggregation(tf.Module):
    """What every node receives from its senders: m_j, from the states of all nodes.

    A class of your own that inherits from it and has `__call__` may be a network's `message_fn`.
    Edges have edge_size features, graphs global_size globals; 0 without.
    """

    mlp: MLP | None = None  # the message function, where it is an MLP that a task may regularize
    input_dtype = tf.float32  # of the states

    def __init__(
        self, output_size: int, edge_size: int = 0, global_size: int = 0, name: str = "message_fn"
    ):
        super().__init__(name=name)
        checks.check_sizes(type(self).__name__, output_size=output_size)
        checks.check_sizes(type(self).__name__, 0, edge_size=edge_size, global_size=global_size)
        self.output_size, self.edge_size, self.global_size = output_size, edge_size, global_size

    def prepare(
        self, graph: Graph, edges: EdgeValues | None = None, globals_: tf.Tensor | None = None
    ) -> Any:
        """Computes what is the same at every step: what calls take as `prepared`.

        By default it is (edges, globals_).

        Args:
          edges: `[*edge_shape, edge_size]`, a list of such for a union; None without.
          globals_: `[graphs, global_size]`; None without.
        """
        name = type(self).__name__
        if (edges is None, globals_ is None) != (self.edge_size == 0, self.global_size == 0):
            got = ["None" if x is None else "values" for x in (edges, globals_)]
            raise ValueError(
                f"{name} was made for edge_size={self.edge_size} and "
                f"global_size={self.global_size}, got edges={got[0]} and globals_={got[1]}"
            )
        edges = checks.check_edges(f"{name}: edges", graph, edges, self.edge_size)
        if globals_ is not None:
            name = f"{name}: globals_"
            globals_ = checks.check_globals(name, graph, globals_, self.global_size)
        return edges, globals_

    def prepare_followed(
        self, kernel: tf.Tensor | None, *values: Any
    ) -> tuple[Any, tf.Tensor | None]:
        """Prepares `values` for a kernel `[output_size, next_size]` by which m_j is multiplied.

        Returns:
          (what `prepare` returns, the kernel; None if the aggregation multiplies by it itself).
        """
        return self.prepare(*values), kernel

    def __call__(
        self, graph: Graph, nodes: tf.Tensor, prepared: Any, edge_weights: EdgeValues | None = None
    ) -> tf.Tensor:
        """Computes what every node receives, `[nodes, output_size]`.

        Args:
          nodes: `[nodes, node_size]`, the states h, in a network float32.
          edge_weights: `[*edge_shape]`, how often each edge counts, as for edge dropout; None for
            ones.
        """
        raise NotImplementedError(f"{type(self).__name__} has no __call__")


class EdgeMessages(Aggregation):
    """Any message function, called on every edge: m_j = aggregate of f(h_i, h_j, e_ij, g) over i.

        sum        Σ_i w_ij m_ij
        mean       Σ_i w_ij m_ij / Σ_i w_ij
        max        the largest m_ij in every column, of the edges with w_ij > 0
        softmax    Σ_i a_ij m_ij, with a_ij = w_ij exp(s_ij) / Σ_i w_ij exp(s_ij)

    A weight w_ij says how often an edge counts, by default once. A node without senders gets zeros.

    f is called once for all edges of all graphs, with (senders `[edges, node_size]`, receivers
    `[edges, node_size]`, edges `[edges, edge_size]` or None, globals_ `[edges, global_size]` or
    None), all in `compute_dtype`. It returns messages `[edges, output_size]`. For "softmax" it
    returns the pair (messages, scores), with scores s `[edges, heads]`: each of the heads weighs an
    equal part of a message's columns. In a `FullyConnectedGraph` f gets the rows of padding, too;
    what it makes of them is left out, and has to be finite.

    Messages are aggregated in float32. f reads its variables with `rrn.variables.reading.read`, as
    rrn's layers do: compiled or recomputed steps and Keras layers refuse what is read otherwise.
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
        self.mlp = function.mlp if isinstance(function, ConcatenatedMLP) else None
        self.compute_dtype = checks.float_type("EdgeMessages: compute_dtype", compute_dtype)

    def prepare(self, graph, edges=None, globals_=None) -> tuple:
        """Returns what each edge has: (sender, receiver, present, features, globals), or None.

        Each has a row for every row of `Graph.edge_ends`; `present` is 1 or 0, in float32.
        """
        edges, globals_ = super().prepare(graph, edges, globals_)
        senders, receivers, present = graph.edge_ends()
        if present is not None:
            present = tf.cast(present, tf.float32)
        if edges is not None:
            edges = tf.cast(_by_row(edges, [self.edge_size]), self.compute_dtype)
        if globals_ is not None:
            globals_ = tf.cast(globals_, self.compute_dtype)
            globals_ = gather(graph.broadcast_globals_to_nodes(globals_), receivers)
        return senders, receivers, present, edges, globals_

    def __call__(self, graph, nodes, prepared, edge_weights=None) -> tf.Tensor:
        nodes = checks.check_nodes("EdgeMessages: nodes", graph, nodes)
        edge_weights = checks.check_edges("EdgeMessages: edge_weights", graph, edge_weights)
        senders, receivers, weights, edges, globals_ = prepared
        nodes = tf.cast(nodes, tf.float32)  # gradients of a gather are added up in its type
        ends = [tf.gather(nodes, rows) for rows in (senders, receivers)]
        ends = [tf.cast(rows, self.compute_dtype) for rows in ends]
        messages, scores = self._messages(senders.shape[0], *ends, edges, globals_)
        if edge_weights is not None:
            rows = tf.cast(_by_row(edge_weights, []), tf.float32)
            weights = rows if weights is None else rows * weights
        aggregated = AGGREGATES[self.aggregate]
        return aggregated(messages, scores, weights, receivers, tf.shape(nodes)[0])

    def _messages(self, rows, *ends_and_values):
        """(messages, scores) in float32, of the right shapes; no scores but for attention."""
        name = f"What the message function {type(self.function).__name__} returns"
        messages, scores = self.function(*ends_and_values), None
        if self.aggregate == "softmax":
            messages, scores = messages
            checks.check_shape(f"{name} as scores", scores, "[edges, heads]", [rows, None])
            scores = tf.cast(scores, tf.float32)
            if not scores.shape[1] or self.output_size % scores.shape[1]:
                right = f"a number of heads that divides output_size {self.output_size}"
                raise ValueError(f"{name} as scores must have {right}, got {scores.shape}")
        sizes = [rows, self.output_size]
        checks.check_shape(f"{name} as messages", messages, "[edges, output_size]", sizes)
        return tf.cast(messages, tf.float32), scores


class ConcatenatedMLP(tf.Module):
    """An MLP as a message function of the general path: f([h_i, h_j, e_ij, g]).

    With `scored`, its last output is the score of the edge, for attention.
    """

    def __init__(self, mlp: MLP, scored: bool = False):
        super().__init__()
        self.mlp, self.scored = mlp, scored

    def __call__(self, *ends_and_values: tf.Tensor | None) -> tf.Tensor | list[tf.Tensor]:
        """Applies the MLP to every edge; see `EdgeMessages`."""
        parts = [part for part in ends_and_values if part is not None]
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


AGGREGATES = {"sum": _sum, "mean": _mean, "max": _max, "softmax": _softmax}
