"""Sudoku's settings, and the paper's network over cells: embeddings, network, readout."""

from typing import ClassVar, Literal

import numpy as np
import tensorflow as tf

from rrn.config import ModelSettings, Size, Steps
from rrn.data_prep.sudoku.puzzles import UNITS
from rrn.nn.graphs import RegularGraph
from rrn.nn.layers import Embedding, Linear
from rrn.nn.network import RecurrentRelationalNetwork
from rrn.variables.reading import read

SCHEMAS = (("sudoku", 1),)


class Model(ModelSettings):
    """The network on a board; the defaults are the paper's."""

    TASK: ClassVar = "sudoku"

    nodes: Literal["cells", "candidates"] = "cells"  # candidates are digits in cells
    embedding_size: Size = 16
    hidden_size: Size = 96
    num_steps: Steps = 32  # in training
    evaluation_steps: Steps = 64
    augment_digits: bool = False  # permute the digits of a board, in training
    augment_symmetries: bool = False  # permute rows, columns, bands; transpose
    recompute: bool = False  # in the backward pass: less memory, more time


def cell_neighbours() -> np.ndarray:
    """The cells that share a row, column or box with each cell, integers `[81, 20]`."""
    in_unit = (UNITS[:, :, None] == np.arange(81)).any(axis=1)
    together = (in_unit[:, :, None] & in_unit[:, None]).any(axis=0) & ~np.eye(81, dtype=bool)
    return together.nonzero()[1].reshape(81, 20).astype(np.int32)


class CellEncoder(tf.Module):
    """The embeddings of digits 0 to 9, of rows and of columns."""

    def __init__(self, config: Model):
        super().__init__(name="encoder")
        self.digit = Embedding(10, config.embedding_size, name="digit_embedding")
        self.row = Embedding(9, config.embedding_size, name="row_embedding")
        self.column = Embedding(9, config.embedding_size, name="column_embedding")

    def tables(self) -> dict[str, tf.Tensor]:
        """Reads the tables, `[rows, embedding_size]` each."""
        embeddings = {"digit": self.digit, "row": self.row, "column": self.column}
        return {name: read(embedding.table) for name, embedding in embeddings.items()}


class CellNetwork(tf.Module):
    """The network over cells, and the linear readout of each."""

    def __init__(self, config: Model):
        super().__init__(name="network")
        self.rrn = RecurrentRelationalNetwork(
            input_size=3 * config.embedding_size,
            hidden_size=config.hidden_size,
            compute_dtype=config.compute_dtype,
        )
        self.readout = Linear(config.hidden_size, 10, name="readout")

    def num_nodes(self, num_cells: int) -> int:
        """Gives the number of nodes: one for each cell."""
        return num_cells

    def graph(self, puzzle: tf.Tensor) -> RegularGraph:
        """Makes the graph of the boards `[boards, 81]`."""
        return RegularGraph(cell_neighbours(), puzzle.shape[0] or tf.shape(puzzle)[0])

    def features(self, tables: dict[str, tf.Tensor], puzzle: tf.Tensor) -> tf.Tensor:
        """Looks up the cells' digits, rows and columns, `[boards * 81, 3 * embedding_size]`."""
        boards = puzzle.shape[0] or tf.shape(puzzle)[0]
        row, column = np.divmod(np.arange(81), 9)
        of_cells = [tf.gather(tables["row"], row), tf.gather(tables["column"], column)]
        digits = tf.gather(tables["digit"], tf.reshape(puzzle, [-1]))
        by_board = tf.tile(tf.concat(of_cells, -1), tf.stack([boards, 1]))
        return tf.concat([digits, by_board], axis=-1)

    def logits(self, hidden: tf.Tensor, num_cells: int) -> tf.Tensor:
        """Reads a step's states as logits `[boards, 81, 10]` of the digits 0 to 9."""
        return tf.reshape(self.readout(hidden), [-1, num_cells, 10])
