"""Sudoku's network over candidates, which knows no digit, row or column by name.

A board's nodes are its candidates, a digit in a cell each: 729. A candidate receives from those of
its four units; see `rrn.tasks.sudoku.unit_sums`. Its only feature is whether its cell is blank, has
its digit, or has another one. So a board with permuted digits, rows or columns gives the same
answers, permuted: what augmentation has to teach the network over cells, this one has by
construction. And the same weights take boards of other sizes.
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from rrn.compiling import xla
from rrn.nn.aggregation import Aggregation
from rrn.nn.graphs import EdgeValues, Graph, RegularGraph
from rrn.nn.layers import Embedding, Linear, affine, custom_gradient
from rrn.nn.network import RecurrentRelationalNetwork
from rrn.nn.node_updates import NodeUpdate, PostUpdate
from rrn.tasks.sudoku.network import Model
from rrn.tasks.sudoku.unit_sums import (
    BOX,
    CELL,
    COLUMN,
    ROW,
    as_pairs,
    as_words,
    halves,
    joined,
    unit_sums,
)
from rrn.variables.reading import read
from rrn.variables.sharded import known_size

# The rows and columns of a box, by the number of digits.
BOXES = {4: (2, 2), 6: (2, 3), 8: (2, 4), 9: (3, 3), 10: (2, 5), 12: (3, 4), 15: (3, 5), 16: (4, 4)}
BLANK, THIS, OTHER = range(3)  # what a candidate's cell has
NEVER = -100.0  # the logit of digit 0, which is no answer


def num_digits(num_cells: int) -> int:
    """Computes the number of digits of a board; ValueError: there is none with `num_cells`."""
    digits = round(num_cells**0.5)
    if digits**2 != num_cells or digits not in BOXES:
        sizes = ", ".join(str(n * n) for n in BOXES)
        raise ValueError(f"boards have {sizes} cells, got {num_cells}")
    return digits


def unit_neighbours(digits: int) -> np.ndarray:
    """Lists the candidates of each one's row, column, box and cell, `[digits**3, 4 * digits]`.

    Candidates are numbered by digit, then by row, then by column.
    """
    height, width = BOXES[digits]
    shape = [digits, digits // height, height, digits // width, width]
    numbers = np.arange(digits**3).reshape(shape)
    members = []
    for units in (ROW, COLUMN, BOX, CELL):
        axes = [axis - 1 for axis in units]  # there is no axis of boards
        last = np.moveaxis(numbers, axes, range(-len(axes), 0))
        of_unit = last.reshape([*last.shape[: -len(axes)], digits])
        every = np.broadcast_to(np.expand_dims(of_unit, axes), [*shape, digits])
        members.append(every.reshape(-1, digits))
    return np.concatenate(members, axis=1).astype(np.int32)


class CandidateEncoder(tf.Module):
    """The embedding of what a candidate's cell has: nothing, this digit, or another one."""

    def __init__(self, config: Model):
        super().__init__(name="encoder")
        self.given = Embedding(3, config.embedding_size, name="given_embedding")

    def tables(self) -> dict[str, tf.Tensor]:
        """Reads the table, `[3, embedding_size]`."""
        return {"given": read(self.given.table)}


class UnitMessages(Aggregation):
    """What a candidate receives from its units, by their kind: lines, boxes, cells.

        [Σ_row relu(s_i + r_j) + Σ_column relu(s_i + r_j), Σ_box relu(...), Σ_cell relu(...)]

    s and r are linear in the states, with other weights for each kind; rows and columns share
    theirs. The last layers of these message functions would be linear; the first layer of the node
    update, which is linear too, replaces them.
    """

    def __init__(self, size: int, compute_dtype: tf.DType | str):
        super().__init__(output_size=3 * size)
        with self.name_scope:
            self.linear = Linear(size, 6 * size, compute_dtype)

    def prepare(self, graph: Graph, *values: Any) -> tf.Tensor:
        """Returns the kernel, and the bias as its last row, of the pairs that `unit_sums` takes."""
        super().prepare(graph, *values)

        def in_pairs(values):
            s, r = tf.unstack(tf.reshape(values, [-1, 3, 2, self.output_size // 3]), axis=2)
            return tf.reshape(tf.stack([s, -r], axis=-1), [-1, 2 * self.output_size])

        w, b = (read(x, self.linear.compute_dtype) for x in (self.linear.w, self.linear.b))
        return tf.concat([in_pairs(w), in_pairs(b)], axis=0)

    def __call__(
        self,
        graph: Graph,
        nodes: tf.Tensor,
        prepared: tf.Tensor,
        edge_weights: EdgeValues | None = None,
    ) -> tf.Tensor:
        if edge_weights is not None:
            raise ValueError("UnitMessages: messages cannot be weighted or dropped")
        assert isinstance(graph, RegularGraph)
        digits = round(known_size(graph.neighbours, 0) ** (1 / 3))
        height, width = BOXES[digits]
        pairs = affine([nodes], prepared)
        return unit_sums(pairs, [digits, digits // height, height, digits // width, width])


class CandidateUpdate(PostUpdate):
    """The paper's update, with one ReLU layer and an LSTM that XLA compiles after its product.

    The backward pass computes the activations again: that costs no more than to read them back.
    """

    start = NodeUpdate.start

    def prepare(self, x: tf.Tensor) -> tuple[tuple, tf.Tensor]:
        (input_terms, (kernel, bias)), message_kernel = super().prepare(x)
        rows = tf.concat([kernel, bias[None]], axis=0)
        pairs = tf.reshape(rows, [rows.shape[0], 2, 2, -1])  # of the gates: (i, j) and (f, o)
        kernel = tf.reshape(tf.transpose(pairs, [0, 1, 3, 2]), rows.shape)
        return (input_terms, kernel), message_kernel

    def __call__(self, messages, x, hidden, cell) -> tuple[tf.Tensor, tf.Tensor]:
        input_terms, kernel = x
        z = tf.nn.relu(messages + input_terms)
        return lstm(affine([z, hidden], kernel), cell)


@custom_gradient
def lstm(gates: tf.Tensor, cell: tf.Tensor):
    """Computes (h', c') of `rrn.nn.cells.LSTMCell`.

    Args:
      gates: the pairs (i, j) of each column, then the pairs (f, o), `[rows, 4 * size]`.
      cell: c `[rows, size]`.
    """
    dtype, words = gates.dtype, as_words(gates)
    cell = tf.stop_gradient(cell)  # or a gradient tape around it makes XLA return what is between
    hidden, after = _compiled(_lstm, dtype)(words, cell)

    def gradient(to_hidden, to_after):
        values = words, cell, after, to_hidden, to_after
        *to_words, to_cell = _compiled(_lstm_gradients, dtype)(*values)
        return as_pairs(to_words, dtype), to_cell

    return (hidden, after), gradient


@functools.cache
def _compiled(function: Callable, dtype: tf.DType) -> Callable:
    return xla(functools.partial(function, dtype))


def _gates(words, dtype):
    i, j, f, o = (x for word in tf.split(words, 2, axis=1) for x in halves(word, dtype))
    return tf.sigmoid(i), tf.tanh(j), tf.sigmoid(f + 1.0), tf.sigmoid(o)


def _lstm(dtype, words, cell):
    i, j, f, o = _gates(words, dtype)
    after = f * cell + i * j
    return o * tf.tanh(after), after


def _lstm_gradients(dtype, words, cell, after, to_hidden, to_after):
    (i, j, f, o), tanh = _gates(words, dtype), tf.tanh(after)
    to_after += to_hidden * o * (1.0 - tanh**2)
    to_i, to_j = to_after * j * i * (1.0 - i), to_after * i * (1.0 - j**2)
    to_f, to_o = to_after * cell * f * (1.0 - f), to_hidden * tanh * o * (1.0 - o)
    return joined(to_i, to_j, dtype), joined(to_f, to_o, dtype), to_after * f


class CandidateNetwork(tf.Module):
    """The network over candidates, and the linear readout of each."""

    def __init__(self, config: Model):
        super().__init__(name="network")
        size, dtype = config.hidden_size, config.compute_dtype
        self.rrn = RecurrentRelationalNetwork(
            input_size=config.embedding_size,
            hidden_size=size,
            num_hidden_layers=1,
            node_update=CandidateUpdate(3 * size, size, [size], "lstm", dtype),
            compute_dtype=dtype,
            message_fn=UnitMessages(size, dtype),
        )
        self.readout = Linear(config.hidden_size, 1, name="readout")

    def num_nodes(self, num_cells: int) -> int:
        """Computes the number of candidates of a board."""
        return num_cells * num_digits(num_cells)

    def graph(self, puzzle: tf.Tensor) -> RegularGraph:
        """Makes the graph of the boards `[boards, cells]`."""
        digits = num_digits(known_size(puzzle, 1))
        return RegularGraph(unit_neighbours(digits), puzzle.shape[0] or tf.shape(puzzle)[0])

    def features(self, tables: dict[str, tf.Tensor], puzzle: tf.Tensor) -> tf.Tensor:
        """Looks up what every candidate is given, `[boards * candidates, embedding_size]`."""
        digits = tf.range(1, num_digits(known_size(puzzle, 1)) + 1, dtype=puzzle.dtype)
        of_cell = puzzle[:, None]
        given = tf.where(of_cell == digits[:, None], THIS, tf.where(of_cell == 0, BLANK, OTHER))
        return tf.gather(tables["given"], tf.reshape(given, [-1]))

    def logits(self, hidden: tf.Tensor, num_cells: int) -> tf.Tensor:
        """Reads a step's states as logits `[boards, cells, 1 + digits]`, digit 0 first."""
        by_digit = tf.reshape(self.readout(hidden), [-1, num_digits(num_cells), num_cells])
        logits = tf.transpose(by_digit, [0, 2, 1])
        return tf.pad(logits, [[0, 0], [0, 0], [1, 0]], constant_values=NEVER)
