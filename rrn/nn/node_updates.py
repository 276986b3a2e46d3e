"""What a node makes of the messages at a step: the interface `NodeUpdate`, and the paper's.

h_j(t), c_j(t) = g(m_j(t), x_j, h_j(t-1), c_j(t-1))
"""

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from rrn.nn.cells import GRUCell, LSTMCell
from rrn.nn.checks import check_shape
from rrn.nn.layers import MLP

CELLS = {"lstm": LSTMCell, "gru": GRUCell}


class NodeUpdate(tf.Module):
    """g: h(t), c(t) = g(m(t), x, h(t-1), c(t-1)), for all nodes at once.

    A class of your own that inherits from it and has `__call__` may be a network's `node_update`.
    h is what messages and readouts take. c is whatever else the update keeps of each node: a nest
    of tensors `[nodes, ...]` of any types, or (). Floats are float32, whatever the network's
    `compute_dtype`; rrn's layers cast by themselves.

    It reads its variables with `rrn.variables.reading.read`, as rrn's own layers do: compiled or
    recomputed steps and Keras layers refuse what is read otherwise.
    """

    input_dtype = tf.float32  # of the messages and of x

    def initial_state(self, x: tf.Tensor) -> tuple[tf.Tensor, Any]:
        """Makes (h, c) before the first step, of the nodes' inputs x `[nodes, hidden_size]`.

        By default it is (x, ()). The first step's messages are those of x in any case.
        """
        return x, ()

    def prepare(self, x: tf.Tensor) -> tuple[Any, tf.Tensor | None]:
        """Computes what is the same at every step, of the nodes' inputs x `[nodes, hidden_size]`.

        Returns:
          (what calls take for x, a nest of tensors; a kernel `[message_size, size]` by which the
          messages are multiplied before a call takes them, or None). By default (x, None).
        """
        return x, None

    def start(self, messages, x, hidden, cell) -> tuple[tf.Tensor, Any]:
        """Makes a first step, of `initial_state`, for updates that need fewer operations for it."""
        return self(messages, x, hidden, cell)

    def __call__(
        self, messages: tf.Tensor, x: Any, hidden: tf.Tensor, cell: Any
    ) -> tuple[tf.Tensor, Any]:
        """Makes a step.

        Args:
          messages: m(t) `[nodes, message_size]`.
          x: `[nodes, hidden_size]`, or what `prepare` made of it.
          hidden, cell: h(t-1) `[nodes, hidden_size]` and c(t-1).

        Returns:
          (h(t), c(t)), of the shapes of `initial_state`.
        """
        raise NotImplementedError(f"{type(self).__name__} has no __call__")


class PostUpdate(NodeUpdate):
    """The paper's update: post, an MLP, and a recurrent cell after it.

        z(t) = post([m(t), x]);  h(t), c(t) = cell(z(t), h(t-1), c(t-1))
        h(t) = post([m(t), x, h(t-1)])                                    without a cell

    A cell's own h and c start at zero.
    """

    def __init__(
        self,
        message_size: int,
        hidden_size: int,
        hidden_sizes: Sequence[int],
        cell: str | None,
        compute_dtype: tf.DType | str = tf.float32,
    ):
        super().__init__(name="node_update")
        self.input_dtype = tf.as_dtype(compute_dtype)
        self._inputs = [message_size, hidden_size] + ([] if cell else [hidden_size])
        sizes = [sum(self._inputs), *hidden_sizes, hidden_size]
        self.node_fn = MLP(sizes, compute_dtype, name="node_fn")
        self.cell = CELLS[cell](hidden_size, hidden_size, compute_dtype) if cell else None

    def initial_state(self, x: tf.Tensor) -> tuple[tf.Tensor, Any]:
        if self.cell is None:
            return super().initial_state(x)
        zeros = tf.zeros_like(x, tf.float32)
        return zeros, zeros if isinstance(self.cell, LSTMCell) else ()

    def prepare(self, x: tf.Tensor) -> tuple[tuple, tf.Tensor]:
        """Returns ((input_terms, kernels), the messages' rows of post's first kernel).

        input_terms are what x contributes to post's first layer, bias included. kernels are post's
        last layer and the cell multiplied out; without a cell h's rows of post's first kernel.
        """
        first, last = self.node_fn.layers[0], self.node_fn.layers[-1]
        message_kernel, x_kernel, *hidden_kernel = first.split_kernel(self._inputs)
        input_terms = first.add_bias(first.product(x, x_kernel))
        kernels = self.cell.following(last) if self.cell else hidden_kernel
        return (input_terms, kernels), message_kernel

    def start(self, messages, x, hidden, cell) -> tuple[tf.Tensor, Any]:
        if self.cell is None:
            return self(messages, x, hidden, cell)
        input_terms, kernels = x
        z = self.node_fn.hidden_layers(messages + input_terms)
        return self.cell.advance(z, None, *kernels)  # without the products with zeros

    def __call__(self, messages, x, hidden, cell) -> tuple[tf.Tensor, Any]:
        input_terms, kernels = x
        z = messages + input_terms
        if self.cell is not None:
            z = self.node_fn.hidden_layers(z)
            return self.cell.advance(z, (hidden, cell), *kernels)
        first, last = self.node_fn.layers[0], self.node_fn.layers[-1]
        z = self.node_fn.hidden_layers(z + first.product(hidden, *kernels))
        return tf.cast(last(z), tf.float32), ()


def as_state(
    name: str, hidden: tf.Tensor, cell: Any, like: tuple[tf.Tensor, Any]
) -> tuple[tf.Tensor, Any]:
    """Takes (h, c) in the types, the shapes and the structure of another state of the update."""
    tf.nest.assert_same_structure(cell, like[1], check_types=False)
    parts, right = [hidden, *tf.nest.flatten(cell)], tf.nest.flatten(like)
    for i, (part, one) in enumerate(zip(parts, right, strict=True)):
        check_shape(f"{name}: {'hidden' if i == 0 else 'cell'}", part, "[nodes, ...]", one.shape)
    parts = [tf.cast(part, one.dtype) for part, one in zip(parts, right, strict=True)]
    return parts[0], tf.nest.pack_sequence_as(like[1], parts[1:])
