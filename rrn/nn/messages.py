"""The message function: the sum of the messages to each node, with few operations on edges.

- The first layer is linear in [h_i, h_j, e_ij]. h is multiplied on nodes, which have fewer rows,
  and the products are added along the edges.
- The last layer is linear, so messages are summed before it: Σ_i (W a_ij + b) = W Σ_i a_ij +
  degree_j b. Only the layers between run on edges.
- A linear layer that follows is multiplied out with the last one, once for all steps.
- The products with edge features and with globals do not change from step to step, and are
  computed once.

The result is that of `rrn.nn.plain.messages` and `rrn.nn.plain.sum_messages`, or that sum divided
by the degree. `make_aggregation` chooses between this way and the general path,
`rrn.nn.aggregation`.
"""

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from rrn.nn.aggregation import Aggregation, ConcatenatedMLP, EdgeMessages
from rrn.nn.checks import check_edges
from rrn.nn.edge_layers import EdgeLayerSums
from rrn.nn.graphs import Graph, RegularGraph
from rrn.nn.layers import MLP
from rrn.nn.relu_sums import ReluSums
from rrn.variables.reading import read


def fused_sums(graph: Graph, mlp: MLP, edge_size: int) -> Callable[..., tf.Tensor] | None:
    """Finds a faster way to sum the messages of an MLP than `Graph.message_sums`.

    On edges run the MLP's `hidden_layers`, φ: a ReLU, then each layer between the first and the
    last with a ReLU after it.

    Returns:
      None if there is no faster way for this graph and MLP; else a function (senders, receivers,
      edges, edge_kernel, edge_weights) that computes Σ_i w_ij φ(s_i + r_j + e_ij K) for every node,
      `[nodes, output_size]`. Its arguments are s and r `[nodes, size]`, the edges' features e
      `[*edge_shape, edge_size]` and K `[edge_size, size]`, None without; and w `[*edge_shape]`,
      None for ones.
    """
    if isinstance(graph, RegularGraph) and graph.neighbours.shape.num_elements() != 0:
        if ReluSums.suits(graph, mlp, edge_size):
            return ReluSums(graph)
        if EdgeLayerSums.suits(graph, mlp, edge_size):
            return EdgeLayerSums(graph, mlp)
    return None


class MessageFunction(Aggregation):
    """m_j = Σ_i f([h_i, h_j, e_ij, u]), the sum of the messages to each node, or their mean.

    f is an MLP of at least one ReLU layer, u the features of the graph. With edge weights w_ij the
    sum is Σ_i w_ij m_ij, and the mean Σ_i w_ij m_ij / Σ_i w_ij; a node without senders gets zeros.
    """

    mlp: MLP

    def __init__(
        self,
        node_size: int,
        hidden_sizes: Sequence[int],
        output_size: int,
        edge_size: int = 0,
        global_size: int = 0,
        compute_dtype: tf.DType | str = tf.float32,
        mean: bool = False,
        name: str = "message_fn",
    ):
        super().__init__(output_size, edge_size, global_size, name)
        self.node_size, self.mean = node_size, mean
        if not hidden_sizes:
            raise ValueError("MessageFunction: hidden_sizes must have at least one size, got none")
        input_size = 2 * node_size + edge_size + global_size
        self.mlp = MLP([input_size, *hidden_sizes, output_size], compute_dtype, name=name)
        self.input_dtype = tf.as_dtype(compute_dtype)

    def prepare(self, graph, edges=None, globals_=None, next_kernel=None) -> dict[str, Any]:
        """Computes what is the same at every step; see `Aggregation.prepare`.

        Args:
          next_kernel: `[output_size, next_size]`, by which the sums of messages are multiplied.

        Returns:
          A dict of
            "kernels": the rows of the first layer's kernel that multiply h_i, h_j and e_ij;
            "edges": the products of edge features and edge_kernel `[*edge_shape, size]`. Where
              there are fused sums, the features themselves;
            "global_terms": the products with globals, and the first layer's bias, `[nodes, size]`;
            "output": the last layer's kernel and bias, multiplied out with `next_kernel`;
            "degrees": of a mean the number of messages to each node, `[nodes]`;
            "summed_biases": degrees times the output's bias, `[nodes, output_size]`.
        """
        edges, globals_ = super().prepare(graph, edges, globals_)
        first, last = self.mlp.layers[0], self.mlp.layers[-1]
        sizes = [self.node_size, self.node_size, self.edge_size, self.global_size]
        sender_kernel, receiver_kernel, edge_kernel, global_kernel = first.split_kernel(sizes)
        if edges is None:
            edge_kernel = None
        elif fused_sums(graph, self.mlp, self.edge_size) is None:
            edges = tf.nest.map_structure(lambda e: first.product(e, edge_kernel), edges)
        global_terms = None
        if globals_ is not None:
            global_terms = first.add_bias(first.product(globals_, global_kernel))
            global_terms = graph.broadcast_globals_to_nodes(global_terms)
        if next_kernel is None:
            dtype = last.compute_dtype
            output = read(last.w, dtype), read(last.b, dtype)
        else:
            output = last.followed_by(next_kernel)
        degrees = graph.degrees()
        return {
            "kernels": (sender_kernel, receiver_kernel, edge_kernel),
            "edges": edges,
            "global_terms": global_terms,
            "output": output,
            "degrees": degrees if self.mean else None,
            "summed_biases": _summed_biases(output[1], degrees),
        }

    def prepare_followed(self, kernel, *values) -> tuple[dict[str, Any], None]:
        return self.prepare(*values, next_kernel=kernel), None

    def __call__(self, graph, nodes, prepared, edge_weights=None) -> tf.Tensor:
        """Sums the messages to every node, times `next_kernel` if `prepare` was given one."""
        edge_weights = check_edges("MessageFunction: edge_weights", graph, edge_weights)
        first, last = self.mlp.layers[0], self.mlp.layers[-1]
        nodes = tf.cast(nodes, first.compute_dtype)  # once, so that gradients are cast once, too
        sender_kernel, receiver_kernel, edge_kernel = prepared["kernels"]
        senders = first.product(nodes, sender_kernel)
        receivers = first.product(nodes, receiver_kernel)
        if prepared["global_terms"] is None:
            receivers = first.add_bias(receivers)
        else:
            receivers += prepared["global_terms"]
        edges, fused = prepared["edges"], fused_sums(graph, self.mlp, self.edge_size)
        if fused is not None:
            sums = fused(senders, receivers, edges, edge_kernel, edge_weights)
        else:
            on_edges = self.mlp.hidden_layers
            sums = graph.message_sums(on_edges, senders, receivers, edges, edge_weights)
        output_kernel, output_bias = prepared["output"]
        degrees, biases = prepared["degrees"], prepared["summed_biases"]
        if edge_weights is not None:
            degrees = graph.degrees(edge_weights)
            biases = _summed_biases(output_bias, degrees)
        sums = last.product(sums, output_kernel) + biases
        if self.mean:
            means = tf.math.divide_no_nan(tf.cast(sums, tf.float32), degrees[:, None])
            return tf.cast(means, sums.dtype)
        return sums


def make_aggregation(
    message_fn: tf.Module | None,
    aggregate: str,
    hidden_size: int,
    hidden_sizes: Sequence[int],
    edge_size: int,
    global_size: int,
    compute_dtype: tf.DType | str,
) -> Aggregation:
    """Chooses how a network's messages are computed.

    The sum or mean of an MLP's messages has few operations on edges, `MessageFunction`. An
    `Aggregation` does what it likes. Everything else is called on every edge, `EdgeMessages`.

    Args:
      message_fn: a module that is called on every edge, an `Aggregation`, or None for an MLP.
    """
    sizes = edge_size, global_size
    if isinstance(message_fn, Aggregation):
        name = f"message_fn is the aggregation {type(message_fn).__name__}"
        if aggregate != "sum":
            raise ValueError(f"{name}, which aggregates by itself: aggregate must not be given")
        own = message_fn.edge_size, message_fn.global_size
        if sizes not in (own, (0, 0)):
            raise ValueError(
                f"{name}, made for edge_size={own[0]} and global_size={own[1]}; the network is "
                f"given edge_size={edge_size} and global_size={global_size}"
            )
        return message_fn
    if message_fn is None and aggregate in ("sum", "mean"):
        mean = aggregate == "mean"
        return MessageFunction(hidden_size, hidden_sizes, hidden_size, *sizes, compute_dtype, mean)
    if message_fn is None:
        outputs = hidden_size + (aggregate == "softmax")
        all_sizes = [2 * hidden_size + edge_size + global_size, *hidden_sizes, outputs]
        mlp = MLP(all_sizes, compute_dtype, name="message_fn")
        message_fn = ConcatenatedMLP(mlp, scored=aggregate == "softmax")
    return EdgeMessages(message_fn, hidden_size, aggregate, *sizes, compute_dtype)


def _summed_biases(bias, degrees):
    """degree_j bias, `[nodes, size]`."""
    return tf.cast(degrees, bias.dtype)[:, None] * bias
