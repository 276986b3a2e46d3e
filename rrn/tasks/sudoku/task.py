"""Sudoku: the missing digits of a board, by a network over its cells (Palm et al. 2018).

The 81 cells are the nodes; each receives from the 20 others of its row, column and box. A cell's
features are three embeddings: of its digit (blank is digit 0), its row and its column. From every
cell's state a linear layer reads ten logits, digits 0 to 9, at every step; 0 is never the answer.
Loss and accuracy count all 81 cells: the network must repeat the givens, too. With
`nodes="candidates"` the network is another one; see `rrn.tasks.sudoku.candidates`.
"""

from typing import Annotated, Any

import numpy as np
import tensorflow as tf
from pydantic import Field

from rrn.config import Steps
from rrn.files.data import PreparedData
from rrn.nn.network import RecurrentState
from rrn.tasks.checks import Range
from rrn.tasks.sudoku.candidates import CandidateEncoder, CandidateNetwork
from rrn.tasks.sudoku.network import CellEncoder, CellNetwork, Model
from rrn.tasks.task import Arrays, Batch, Pair, Task, Tensors, options
from rrn.variables.random import ExampleRandom
from rrn.variables.reading import Variable, reading_scope
from rrn.variables.sharded import known_size

_NETWORKS = {
    "cells": (CellEncoder, CellNetwork),
    "candidates": (CandidateEncoder, CandidateNetwork),
}


def create_task(config: Model, data: PreparedData) -> "Sudoku":
    """Makes the task, which takes nothing from the data."""
    return Sudoku(config)


def random_digits(random: ExampleRandom) -> tf.Tensor:
    """Draws a permutation of the digits, integers `[examples, 10]`; 0 stays 0."""
    order = tf.argsort(random.uniform([9], 0))
    return tf.pad(order + 1, [[0, 0], [1, 0]])


def random_symmetry(random: ExampleRandom) -> tf.Tensor:
    """Draws a symmetry of the grid: the cell that replaces each one, integers `[examples, 81]`.

    All are equally likely: the transpose, permutations of the bands, of the rows within each band,
    of the stacks, and of the columns within each stack.
    """
    order = tf.argsort(random.uniform([2, 4, 3], 1))  # [examples, rows or columns, ...]
    lines = 3 * order[:, :, 0, :, None] + order[:, :, 1:]
    lines = tf.reshape(lines, [-1, 2, 9])
    cells = 9 * lines[:, 0, :, None] + lines[:, 1, None]
    transposed = random.uniform([1, 1], 2) < 0.5
    return tf.reshape(tf.where(transposed, tf.transpose(cells, [0, 2, 1]), cells), [-1, 81])


def reveal(puzzle: tf.Tensor, solution: tf.Tensor, random: ExampleRandom, most: int) -> tf.Tensor:
    """Fills in 0 to `most` blanks of each board, all numbers and all blanks equally likely."""
    number = tf.cast(random.uniform([1], 3) * (most + 1), tf.int32)
    draws = tf.where(puzzle == 0, random.uniform([known_size(puzzle, 1)], 4), 2.0)
    rank = tf.argsort(tf.argsort(draws))
    return tf.where((rank < number) & (puzzle == 0), solution, puzzle)


class Sudoku(Task):
    """The Sudoku task; see `rrn.tasks.task.Task` for what each method is for."""

    config: Model
    network: CellNetwork | CandidateNetwork
    encoder: CellEncoder | CandidateEncoder

    def __init__(self, config: Model):
        encoder, network = _NETWORKS[config.nodes]
        encoder = encoder(config)  # first, as its initial values are drawn before the network's
        super().__init__(config, network(config), encoder)

    # Inputs

    def num_examples(self, arrays: Arrays) -> int:
        return len(arrays["givens"])

    def groups(self, arrays: Arrays) -> np.ndarray:
        return arrays["givens"].numpy()

    def make_batch(
        self,
        arrays: Arrays,
        examples: tf.Tensor,
        random: ExampleRandom,
        training: bool,
        revealed: Annotated[int, Field(ge=0, le=64)] = 0,
    ) -> Batch:
        """Takes "puzzle" and "solution", digits `[examples, 81]`; training may change both alike.

        Args:
          revealed: how many further cells of a board training reveals at most.
        """
        batch = {name: tf.gather(arrays[name], examples) for name in ("puzzle", "solution")}
        if training and revealed:
            batch["puzzle"] = reveal(batch["puzzle"], batch["solution"], random, revealed)
        if training and self.config.augment_symmetries:
            cells = random_symmetry(random)
            batch = {name: tf.gather(board, cells, batch_dims=1) for name, board in batch.items()}
        if training and self.config.augment_digits:
            digits = random_digits(random)
            batch = {name: tf.gather(digits, board, batch_dims=1) for name, board in batch.items()}
        return batch

    # Model

    def encode(self, batch: Batch) -> Tensors:
        """Reads the tables, which are looked up where the network runs: only few rows move so."""
        return self.encoder.tables()

    def initial_state(self, num_examples: int | tf.Tensor) -> RecurrentState:
        """Makes the boards' state before the first step, `[examples, nodes, ...]`."""
        nodes = self.network.num_nodes(81)
        return _by_board(self.network.rrn.initial_state(nodes * num_examples), nodes)

    def logits(
        self,
        encodings: Tensors,
        puzzle: tf.Tensor | np.ndarray,
        num_steps: int,
        state: RecurrentState | None = None,
    ) -> tuple[tf.Tensor, RecurrentState | None]:
        """Computes the logits of all digits at every step.

        Args:
          puzzle: digits `[examples, cells]`, 0 for a blank. The network over cells takes 81.
          state: the boards' before the first step, None for `initial_state`.

        Returns:
          (logits `[examples, cells, num_steps, 1 + digits]`, of 0 first; the boards' state after
          the steps, None without `state`).
        """
        network, puzzle = self.network, tf.cast(puzzle, tf.int32)
        cells, graph = known_size(puzzle, 1), network.graph(puzzle)
        features = network.features(encodings, puzzle)
        if state is not None:  # by node, as the features are
            state = tf.nest.map_structure(lambda x: tf.reshape(x, [-1, *x.shape[2:]]), state)
        recompute = self.config.recompute
        hidden, after = network.rrn.segment(graph, features, num_steps, state, recompute=recompute)
        logits = tf.stack([network.logits(h, cells) for h in hidden], axis=2)
        return logits, None if state is None else _by_board(after, network.num_nodes(cells))

    def loss(
        self,
        encodings: Tensors,
        batch: Batch,
        random: ExampleRandom,
        training: bool,
        num_steps: Steps | None = None,
        state: RecurrentState | None = None,
    ) -> tuple[Tensors, dict[str, Any]]:
        """Computes the cross-entropy, its mean over all cells and steps.

        Outputs also have "cells_correct" (of 81) by step; in evaluation "confidence" by step, the
        probability of the least certain cell's digit; with `state` the boards' "state" after this
        segment, and whether they are "solved".

        Args:
          num_steps: if not given, the config's `num_steps` in training and `evaluation_steps` in
            evaluation.
          state: of boards that continue from an earlier segment.
        """
        config = self.config
        num_steps = num_steps or (config.num_steps if training else config.evaluation_steps)
        logits, state_after = self.logits(encodings, batch["puzzle"], num_steps, state)
        answers = tf.repeat(batch["solution"][:, :, None], num_steps, axis=2)
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(answers, logits)
        losses = tf.reduce_mean(losses, axis=1)
        correct = tf.cast(tf.argmax(logits, -1, tf.int32) == answers, tf.float32)
        cells_correct = tf.reduce_sum(correct, axis=1)
        outputs: dict[str, Any] = {"loss": losses, "cells_correct": cells_correct}
        if not training:
            likeliest = tf.reduce_max(tf.nn.softmax(logits), axis=-1)
            outputs["confidence"] = tf.reduce_min(likeliest, axis=1)
        if state is not None:
            outputs.update(state=state_after, solved=cells_correct[:, -1] == 81.0)
        return {"loss": tf.reduce_mean(losses, axis=1)}, outputs

    def metrics(self, batch: Batch, outputs: Tensors) -> dict[str, Pair]:
        """Computes of the last step "accuracy", the share of cells right, and "board_accuracy"."""
        cells = outputs["cells_correct"][:, -1]
        examples = tf.reduce_sum(tf.ones_like(cells))
        return {
            "accuracy": (tf.reduce_sum(cells / 81.0), examples),
            "board_accuracy": (tf.reduce_sum(tf.cast(cells == 81.0, tf.float32)), examples),
        }

    # Answers

    def inputs(self) -> dict[str, tf.TensorSpec]:
        return {"puzzle": tf.TensorSpec([None, 81], tf.int32)}

    def ranges(self) -> dict[str, Range]:
        return {"puzzle": (0, 9)}

    def answers(self, inputs: Tensors) -> Tensors:
        """Makes `evaluation_steps` steps.

        Args:
          inputs: "puzzle", digits, 0 for a blank, row by row, int32 `[n, 81]`.

        Returns:
          "solution": the likeliest digits 1 to 9, int32 `[n, 81]`. "confidence": their
          probabilities `[n, 81]`. Whether a solution is one is not checked.
        """
        puzzle, network = inputs["puzzle"], self.network
        state = network.rrn.initial_state(tf.shape(puzzle)[0] * network.num_nodes(81))
        with reading_scope():
            graph, features = network.graph(puzzle), network.features(self.encode({}), puzzle)
            hidden, _ = network.rrn.segment(graph, features, self.config.evaluation_steps, state)
            logits = network.logits(hidden[-1], 81)
        probabilities = tf.nn.softmax(logits)[:, :, 1:]
        return {
            "solution": tf.argmax(probabilities, -1, tf.int32) + 1,
            "confidence": tf.reduce_max(probabilities, -1),
        }

    def regularized(self) -> list[Variable]:
        return [layer.w for mlp in self.network.rrn.mlps() for layer in mlp.layers]


Model.LOSS_OPTIONS, Model.BATCH_OPTIONS = options(Sudoku.loss), options(Sudoku.make_batch)


def _by_board(state, nodes):
    """The nodes' state by board: `[examples, nodes, ...]`."""
    return tf.nest.map_structure(lambda x: tf.reshape(x, [-1, nodes, *x.shape[1:]]), state)
