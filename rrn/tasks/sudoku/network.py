"""Sudoku's modules: the embeddings, and the network over cells with its readout."""

import numpy as np
import tensorflow as tf

from rrn.data_prep.sudoku.puzzles import UNITS
from rrn.nn.layers import Embedding, Linear
from rrn.nn.network import RecurrentRelationalNetwork
from rrn.tasks.sudoku.settings import Model


def cell_neighbours() -> np.ndarray:
    """Finds the cells that share a row, column or box with each cell, integers `[81, 20]`."""
    in_unit = (UNITS[:, :, None] == np.arange(81)).any(axis=1)
    together = (in_unit[:, :, None] & in_unit[:, None]).any(axis=0) & ~np.eye(81, dtype=bool)
    return together.nonzero()[1].reshape(81, 20).astype(np.int32)


class SudokuEncoder(tf.Module):
    """The embeddings of digits 0 to 9, of rows and of columns."""

    def __init__(self, config: Model):
        super().__init__(name="encoder")
        self.digit = Embedding(10, config.embedding_size, name="digit_embedding")
        self.row = Embedding(9, config.embedding_size, name="row_embedding")
        self.column = Embedding(9, config.embedding_size, name="column_embedding")


class SudokuNetwork(tf.Module):
    """The network over cells, and the linear readout of each."""

    def __init__(self, config: Model):
        super().__init__(name="network")
        self.rrn = RecurrentRelationalNetwork(
            input_size=3 * config.embedding_size,
            hidden_size=config.hidden_size,
            compute_dtype=config.compute_dtype,
        )
        self.readout = Linear(config.hidden_size, 10, name="readout")
