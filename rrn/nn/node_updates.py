"""What a node makes of the messages at a step: the interface `NodeUpdate`, and the paper's.

h_j(t), c_j(t) = g(m_j(t), x_j, h_j(t-1), c_j(t-1))
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import tensorflow as tf

from rrn.nn.cells import GRUCell, LSTMCell
from rrn.nn.checks import check_shape
from rrn.nn.layers import MLP

CELLS = {"lstm": LSTMCell, "gru": GRUCell}


class NodeUpdate(tf.Module):
    """g: h(t), c(t) = g(m(t), x, h(t-1), c(t-1)), for all nodes at once.

    A class of your own that inherits from it and has `__call__` may be a network's `node_update`.
    h is what messages and readouts see. c is whatever else the update keeps of each node: a nest of
    tensors `[nodes, ...]` of any types, or (), nothing; `initial_state` says what. Everything of
    floats is float32, whatever the network's `compute_dtype`; rrn's layers cast by themselves.

    It reads its variables with `rrn.variables.reading.read`, as rrn's own layers do: compiled or
    recomputed steps and Keras layers refuse what is read otherwise.
    """

    def initial_state(self, x: tf.Tensor) -> tuple[tf.Tensor, Any]:
        """Makes the state before the first step, of the nodes' inputs x `[nodes, hidden_size]`.

        Returns:
          (h, c), as the first step's call takes them; here (x, ()). The first step's messages are
          those of x in any case.
        """
        return x, ()

    def prepare(self, x: tf.Tensor) -> tuple[Any, tf.Tensor | None]:
        """Computes what is the same at every step, of the nodes' inputs x `[nodes, hidden_size]`.

        Returns:
          (what calls take for x, a nest of tensors; a matrix `[message_size, size]` by which the
          messages are multiplied before a call takes them, None for no multiplication). Here x and
          None.
        """
        return x, None

    def start(
        self, messages: tf.Tensor, x: Any, hidden: tf.Tensor, cell: Any
    ) -> tuple[tf.Tensor, Any]:
        """Makes a first step of all nodes, for updates that need fewer operations for it.

        hidden and cell are what `initial_state` returned. By default it is a call.
        """
        return self(messages, x, hidden, cell)

    def __call__(
        self, messages: tf.Tensor, x: Any, hidden: tf.Tensor, cell: Any
    ) -> tuple[tf.Tensor, Any]:
        """Makes a step.

        Args:
          messages: `[nodes, message_size]`, m(t).
          x: `[nodes, hidden_size]`, or what `prepare` made of it.
          hidden: `[nodes, hidden_size]`, h(t-1).
          cell: c(t-1).

        Returns:
          (h(t), c(t)), of the shapes of `initial_state`.

        Raises:
          NotImplementedError: the class has no `__call__` of its own.
        """
        raise NotImplementedError(f"{type(self).__name__} has no __call__")


class PreparedPost(NamedTuple):
    """What `PostUpdate` computes once for all steps.

    Attributes:
      input_terms: `[nodes, hidden_size]`, what x contributes to post's first layer, bias included.
      kernels: with a cell, those of post's last layer and the cell multiplied out; without, the
        rows of post's first kernel that multiply h.
    """

    input_terms: tf.Tensor
    kernels: Sequence[tf.Tensor]


class PostUpdate(NodeUpdate):
    """The paper's update: post, an MLP, and a recurrent cell after it.

        z(t) = post([m(t), x]);  h(t), c(t) = cell(z(t), h(t-1), c(t-1))
        h(t) = post([m(t), x, h(t-1)])                                    without a cell

    A cell's own h and c start at zero. Two linear layers in a row are multiplied out once for all
    steps, and what x contributes is computed once.

    Raises:
      ValueError: a size is below 1, or compute_dtype is no type of floats.
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
        self._inputs = [message_size, hidden_size] + ([] if cell else [hidden_size])
        sizes = [sum(self._inputs), *hidden_sizes, hidden_size]
        self.node_fn = MLP(sizes, compute_dtype, name="node_fn")
        self.cell = CELLS[cell](hidden_size, hidden_size, compute_dtype) if cell else None

    def initial_state(self, x: tf.Tensor) -> tuple[tf.Tensor, Any]:
        if self.cell is None:
            return super().initial_state(x)
        zeros = tf.zeros_like(x, tf.float32)
        return zeros, zeros if isinstance(self.cell, LSTMCell) else ()

    def prepare(self, x: tf.Tensor) -> tuple[PreparedPost, tf.Tensor]:
        first, last = self.node_fn.layers[0], self.node_fn.layers[-1]
        message_kernel, x_kernel, *hidden_kernel = first.split_kernel(self._inputs)
        input_terms = first.add_bias(first.product(x, x_kernel))
        kernels = self.cell.following(last) if self.cell else hidden_kernel
        return PreparedPost(input_terms, kernels), message_kernel

    def start(
        self, messages: tf.Tensor, x: PreparedPost, hidden: tf.Tensor, cell: Any
    ) -> tuple[tf.Tensor, Any]:
        if self.cell is None:
            return self(messages, x, hidden, cell)
        z = self.node_fn.hidden_layers(messages + x.input_terms)
        return self.cell.advance(z, None, *x.kernels)  # without the products with zeros

    def __call__(
        self, messages: tf.Tensor, x: PreparedPost, hidden: tf.Tensor, cell: Any
    ) -> tuple[tf.Tensor, Any]:
        z = messages + x.input_terms
        if self.cell is not None:
            z = self.node_fn.hidden_layers(z)
            return self.cell.advance(z, (hidden, cell), *x.kernels)
        first, last = self.node_fn.layers[0], self.node_fn.layers[-1]
        z = self.node_fn.hidden_layers(z + first.product(hidden, *x.kernels))
        return tf.cast(last(z), tf.float32), ()


def as_state(
    name: str, hidden: tf.Tensor, cell: Any, like: tuple[tf.Tensor, Any]
) -> tuple[tf.Tensor, Any]:
    """Refuses a state that is not one of a node update.

    Args:
      like: a state of the update.

    Returns:
      (h, c), with the types and the structure of `like`.

    Raises:
      ValueError: there are more or fewer tensors, or a tensor has another shape.
    """
    check_shape(f"{name}hidden", hidden, "[nodes, hidden_size]", like[0].shape)
    parts, right = tf.nest.flatten(cell), tf.nest.flatten(like[1])
    if len(parts) != len(right):
        raise ValueError(
            f"{name}cell must hold what initial_state of the node update gives, "
            f"{len(right)} tensors, got {len(parts)}"
        )
    for i, (part, one) in enumerate(zip(parts, right, strict=True)):
        place = f"[{i}]" if tf.nest.is_nested(like[1]) else ""
        axes = "[nodes, hidden_size]" if one.shape[1:] == like[0].shape[1:] else "[nodes, ...]"
        check_shape(f"{name}cell{place}", part, axes, one.shape)
    parts = [tf.cast(part, one.dtype) for part, one in zip(parts, right, strict=True)]
    return tf.cast(hidden, tf.float32), tf.nest.pack_sequence_as(like[1], parts)
