"""Sudoku: the missing digits of a board, by a network over its cells (Palm et al. 2018).

The 81 cells are the nodes; each hears the 20 others of its row, column and box. A cell's features
are three embeddings: of its digit (blank is digit 0), its row and its column. From every cell's
state a linear layer reads ten logits, digits 0 to 9, at every step; 0 is never the answer. Loss and
accuracy count all 81 cells: the network must repeat the givens, too.
"""

import math

import numpy as np
import tensorflow as tf

from rrn.graphs import RegularGraph
from rrn.reading import read, reading_scope
from rrn.tasks.sudoku import report
from rrn.tasks.sudoku.network import SudokuEncoder, SudokuNetwork, cell_neighbours
from rrn.tasks.task import Task

SEGMENT_STEPS = 8  # at most, of what is traced once


def create_task(config, data):
    return Sudoku(config)


def random_relabelling(random):
    """`[examples, 10]`: for each digit another one, all permutations equally likely; 0 stays 0."""
    order = tf.argsort(random.uniform([9], 0))
    return tf.pad(order + 1, [[0, 0], [1, 0]])


def random_symmetry(random):
    """`[examples, 81]`: the cell that comes to each place; all symmetries are equally likely.

    The symmetries of the grid: the transpose, permutations of the bands, of the rows within each
    band, of the stacks, and of the columns within each stack.
    """
    order = tf.argsort(random.uniform([2, 4, 3], 1))  # [examples, rows or columns, ...]
    lines = 3 * order[:, :, 0, :, None] + order[:, :, 1:]
    lines = tf.reshape(lines, [-1, 2, 9])
    cells = 9 * lines[:, 0, :, None] + lines[:, 1, None]
    transposed = random.uniform([1, 1], 2) < 0.5
    return tf.reshape(tf.where(transposed, tf.transpose(cells, [0, 2, 1]), cells), [-1, 81])


def _by_board(state):
    """The cells' state by board: `[examples, 81, ...]`."""
    return tf.nest.map_structure(lambda x: tf.reshape(x, [-1, 81, *x.shape[1:]]), state)


class Sudoku(Task):
    """The Sudoku task; see `rrn.tasks.task.Task` for what each method is for."""

    quantities = report.QUANTITIES

    def __init__(self, config):
        encoder = SudokuEncoder(config)
        super().__init__(config, SudokuNetwork(config), encoder)

    # Inputs

    def num_examples(self, arrays):
        return len(arrays["givens"])

    def groups(self, arrays):
        return arrays["givens"].numpy()

    def make_batch(self, arrays, examples, random, training):
        """The boards' "puzzle" and "solution" `[examples, 81]`; training may change them alike."""
        batch = {name: tf.gather(arrays[name], examples) for name in ("puzzle", "solution")}
        if training and self.config.symmetries:
            cells = random_symmetry(random)
            batch = {name: tf.gather(board, cells, batch_dims=1) for name, board in batch.items()}
        if training and self.config.relabel:
            digits = random_relabelling(random)
            batch = {name: tf.gather(digits, board, batch_dims=1) for name, board in batch.items()}
        return batch

    # Model

    def encode(self, batch):
        """The tables, looked up where the network runs: 28 rows move instead of 81 a board."""
        encoder = self.encoder
        return {
            "digit": read(encoder.digit.table),
            "row": read(encoder.row.table),
            "column": read(encoder.column.table),
        }

    def initial_state(self, num_examples):
        """The network's state of boards that have made no step, `[examples, 81, ...]`."""
        return _by_board(self.network.rrn.initial_state(81 * num_examples))

    def logits(self, encodings, puzzle, num_steps, state=None):
        """Computes the logits of digits 0 to 9 at every step.

        Args:
          encodings: what `encode` returned.
          puzzle: digits `[examples, 81]`, 0 for a blank.
          num_steps: the number of steps.
          state: the boards' before the first step, None for `initial_state`.

        Returns:
          (logits `[examples, 81, num_steps, 10]`, the boards' state after the steps, None without
          `state`).
        """
        boards = puzzle.shape[0] or tf.shape(puzzle)[0]
        row, column = np.divmod(np.arange(81), 9)
        places = [tf.gather(encodings["row"], row), tf.gather(encodings["column"], column)]
        digits = tf.gather(encodings["digit"], tf.reshape(puzzle, [-1]))
        features = tf.concat([digits, tf.tile(tf.concat(places, -1), [boards, 1])], axis=-1)
        graph = RegularGraph(cell_neighbours(), boards)
        if state is not None:  # by cell, as the features are
            state = tf.nest.map_structure(lambda x: tf.reshape(x, [-1, *x.shape[2:]]), state)
        hidden, after = self.segment(graph, features, num_steps, state)
        logits = tf.stack([self.network.readout(h) for h in hidden], axis=1)
        logits = tf.reshape(logits, [-1, 81, num_steps, 10])
        return logits, None if state is None else _by_board(after)

    def segment(self, graph, features, num_steps, state):
        """`RecurrentRelationalNetwork.segment` on the boards."""
        recompute = self.config.recompute
        return self.network.rrn.segment(graph, features, num_steps, state, recompute=recompute)

    def loss(self, encodings, batch, random, training, num_steps=None, state=None):
        """Computes the cross-entropy, its mean over all cells and steps.

        Outputs are "loss" and "cells_correct" (of 81) by step; in evaluation also "confidence" by
        step, the probability of the least certain cell's digit.

        Args:
          encodings, batch, random, training: see `Task.loss`.
          num_steps: if not given, the config's `num_steps` in training and `evaluation_steps` in
            evaluation.
          state: of boards that go on from an earlier segment. Then the outputs also have their
            "state" after this one, and whether they are "solved".
        """
        config = self.config
        num_steps = num_steps or (config.num_steps if training else config.evaluation_steps)
        logits, state_after = self.logits(encodings, batch["puzzle"], num_steps, state)
        answers = tf.repeat(batch["solution"][:, :, None], num_steps, axis=2)
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(answers, logits)
        losses = tf.reduce_mean(losses, axis=1)
        correct = tf.cast(tf.argmax(logits, -1, tf.int32) == answers, tf.float32)
        outputs = {"loss": losses, "cells_correct": tf.reduce_sum(correct, axis=1)}
        if not training:
            likeliest = tf.reduce_max(tf.nn.softmax(logits), axis=-1)
            outputs["confidence"] = tf.reduce_min(likeliest, axis=1)
        if state is not None:
            solved = outputs["cells_correct"][:, -1] == 81.0
            outputs.update(state=state_after, solved=solved)
        return {"loss": tf.reduce_mean(losses, axis=1)}, outputs

    # Answers

    def inputs(self):
        return {"puzzle": tf.TensorSpec([None, 81], tf.int32)}

    def predict(self, inputs):
        """Makes `evaluation_steps` steps.

        Args:
          inputs: "puzzle", digits, 0 for a blank, row by row, int32 `[n, 81]`.

        Returns:
          "solution": the likeliest digits 1 to 9, int32 `[n, 81]`. "confidence": their
          probabilities `[n, 81]`. Whether a solution is one is not checked.
        """
        puzzle = tf.convert_to_tensor(inputs["puzzle"], tf.int32)
        segment = math.gcd(self.config.evaluation_steps, SEGMENT_STEPS)

        def steps(_, state):
            with reading_scope():
                logits, state = self.logits(self.encode({}), puzzle, segment, state)
            return logits[:, :, -1], state

        boards = tf.shape(puzzle)[0]
        begin = tf.zeros([boards, 81, 10]), self.initial_state(boards)
        number = self.config.evaluation_steps // segment
        logits, _ = tf.while_loop(lambda *_: True, steps, begin, maximum_iterations=number)
        probabilities = tf.nn.softmax(logits)[..., 1:]
        return {
            "solution": tf.argmax(probabilities, -1, tf.int32) + 1,
            "confidence": tf.reduce_max(probabilities, -1),
        }

    def regularized(self):
        rrn = self.network.rrn
        mlps = [rrn.input_fn, rrn.message_fn.mlp, rrn.node_fn]
        return [layer.w for mlp in mlps for layer in mlp.layers]

    # Results

    def metrics(self, batch, outputs):
        """Of the last step: "accuracy", the share of cells right, and "board_accuracy"."""
        cells = outputs["cells_correct"][:, -1]
        examples = tf.reduce_sum(tf.ones_like(cells))
        return {
            "accuracy": (tf.reduce_sum(cells / 81.0), examples),
            "board_accuracy": (tf.reduce_sum(tf.cast(cells == 81.0, tf.float32)), examples),
        }

    results = staticmethod(report.results)
    table = staticmethod(report.table)
    figures = staticmethod(report.figures)

    def examples(self, arrays, examples, seed):
        """Boards that fill in."""
        return report.examples(self, arrays, examples, seed)
