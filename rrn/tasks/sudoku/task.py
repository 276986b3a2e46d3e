"""Sudoku: the missing digits of a board, by a network over its cells (Palm et al. 2018).

The 81 cells are the nodes; each hears the 20 others of its row, column and box. A cell's features
are three embeddings: of its digit (blank is digit 0), its row and its column. From every cell's
state a linear layer reads ten logits, digits 0 to 9, at every step; 0 is never the answer. Loss and
accuracy count all 81 cells: the network must repeat the givens, too.
"""

import numpy as np
import tensorflow as tf

from data_prep.sudoku.puzzles import UNITS
from rrn.graphs import RegularGraph
from rrn.layers import Embedding, Linear
from rrn.network import RecurrentRelationalNetwork
from rrn.random import uniform
from rrn.reading import read
from rrn.tasks.reports import results_by_step

SCHEMAS = (("sudoku", 1),)

PAPER = (
    "17 givens, boards solved: paper 94.1 % after 32 steps and 96.6 % after 64; "
    "Recurrent Transformer (2023) 96.7 %",
    "17-34 givens, boards solved, other people's: DGL's RRN 95.3 % after 32 steps and 98.9 % "
    "after 64; RRN-derived (2022) 99.13 ± 0.14 %; Recurrent Transformer (2023) 99.5 %",
)


def create_task(config, data):
    return Sudoku(config)


def cell_neighbours():
    """`[81, 20]`: the cells that share a row, column or box with each cell."""
    in_unit = (UNITS[:, :, None] == np.arange(81)).any(axis=1)
    together = (in_unit[:, :, None] & in_unit[:, None]).any(axis=0) & ~np.eye(81, dtype=bool)
    return together.nonzero()[1].reshape(81, 20).astype(np.int32)


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


class SudokuEncoder(tf.Module):
    """The embeddings of digits 0 to 9, of rows and of columns."""

    def __init__(self, config):
        super().__init__(name="encoder")
        self.digit = Embedding(10, config.embedding_size, name="digit_embedding")
        self.row = Embedding(9, config.embedding_size, name="row_embedding")
        self.column = Embedding(9, config.embedding_size, name="column_embedding")


class SudokuNetwork(tf.Module):
    """The network over cells, and the linear readout of each."""

    def __init__(self, config):
        super().__init__(name="network")
        self.rrn = RecurrentRelationalNetwork(
            input_size=3 * config.embedding_size,
            hidden_size=config.hidden_size,
            compute_dtype=config.compute_dtype,
        )
        self.readout = Linear(config.hidden_size, 10, name="readout")


def _by_board(state):
    """The cells' state by board: `[examples, 81, ...]`."""
    return tf.nest.map_structure(lambda x: tf.reshape(x, [-1, 81, *x.shape[1:]]), state)


class Sudoku:
    """The Sudoku task; see `rrn.tasks.task.Task` for what each method is for."""

    def __init__(self, config):
        self.config = config
        self.encoder = SudokuEncoder(config)
        self.network = SudokuNetwork(config)

    # Inputs

    def num_examples(self, arrays):
        return len(arrays["givens"])

    def draw_examples(self, arrays, seed, batch_size):
        return uniform(seed, [batch_size], maxval=len(arrays["givens"]), dtype=tf.int32)

    def groups(self, arrays):
        return arrays["givens"].numpy()

    def sizes(self, arrays, examples):
        return tf.zeros_like(examples)

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
        """The logits of digits 0 to 9 at every step, `[examples, 81, num_steps, 10]`, and the
        boards' state after them, None without `state`.

        puzzle: digits `[examples, 81]`, 0 for a blank; state: the boards' before the first step,
        None for `initial_state`.
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

    def loss(self, encodings, batch, random, num_steps=None, state=None):
        """Cross-entropy, its mean over all cells and steps: the config's `num_steps` in training
        and `evaluation_steps` in evaluation, if no others are given; outputs: "loss" and
        "cells_correct" (of 81) by step.

        state: of boards that go on from an earlier segment; then the outputs also have their
        "state" after this one, and whether they are "solved".
        """
        config = self.config
        num_steps = num_steps or (config.num_steps if random else config.evaluation_steps)
        logits, state_after = self.logits(encodings, batch["puzzle"], num_steps, state)
        answers = tf.repeat(batch["solution"][:, :, None], num_steps, axis=2)
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(answers, logits)
        losses = tf.reduce_mean(losses, axis=1)
        correct = tf.cast(tf.argmax(logits, -1, tf.int32) == answers, tf.float32)
        outputs = {"loss": losses, "cells_correct": tf.reduce_sum(correct, axis=1)}
        if state is not None:
            solved = outputs["cells_correct"][:, -1] == 81.0
            outputs.update(state=state_after, solved=solved)
        return {"loss": tf.reduce_mean(losses, axis=1)}, outputs

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

    def results(self, arrays, examples, outputs):
        """`board_accuracy/17` ... `/34`, `/all`, `cell_accuracy/...` (percent), `loss`."""
        givens, cells = arrays["givens"].numpy()[examples], outputs["cells_correct"]
        by_step = {}
        for name, right in (("board", cells == 81.0), ("cell", cells / 81.0)):
            for level in np.unique(givens):
                by_step[f"{name}_accuracy/{level}"] = 100.0 * right[givens == level].mean(axis=0)
            by_step[f"{name}_accuracy/all"] = 100.0 * right.mean(axis=0)
        by_step["loss"] = outputs["loss"].mean(axis=0)
        return results_by_step(by_step, error=100.0 - by_step["board_accuracy/all"][-1])

    def group_errors(self, results):
        return {level: 100.0 - boards[-1] for level, boards, _ in self._levels(results)}

    def _levels(self, results):
        """[(givens, % of boards solved by step, % of cells right by step)], ascending."""
        by_step = results["by_step"]
        levels = sorted(
            int(name.split("/")[1])
            for name in by_step
            if name.startswith("board_accuracy/") and not name.endswith("/all")
        )
        return [
            (level, by_step[f"board_accuracy/{level}"], by_step[f"cell_accuracy/{level}"])
            for level in levels
        ]

    def table(self, results):
        by_step, levels = results["by_step"], self._levels(results)
        num_steps = len(by_step["loss"])
        steps = [2**i for i in range(num_steps.bit_length()) if 2**i < num_steps] + [num_steps]
        lines = [
            f"{'':<14}{'boards solved, %'.ljust(8 * len(steps))}   cells right, %",
            f"{'givens, step':<14}" + "".join(f"{step:8d}" for step in steps) + f"{num_steps:17d}",
        ]
        name = f"{levels[0][0]}-{levels[-1][0]}, all"
        both = by_step["board_accuracy/all"], by_step["cell_accuracy/all"]
        for level, boards, cells in [*levels, (name, *both)]:
            numbers = "".join(f"{boards[step - 1]:8.1f}" for step in steps)
            lines.append(f"{level!s:<14}{numbers}{cells[-1]:17.2f}")
        return "\n".join([*lines, *PAPER])

    def figures(self, results):
        """`accuracy_by_step`: boards solved, a line for each number of givens;
        `accuracy_by_givens_and_step`: the same as a map.
        """
        from matplotlib import colormaps  # only drawing needs it
        from matplotlib.figure import Figure

        givens, boards, _ = zip(*self._levels(results), strict=True)
        steps = np.arange(1, len(boards[0]) + 1)
        lines = Figure(figsize=(8, 4.5), layout="constrained")
        axes = lines.subplots()
        for i, (level, values) in enumerate(zip(givens, boards, strict=True)):
            colour = colormaps["viridis"](i / max(len(givens) - 1, 1))
            axes.plot(steps, values, color=colour, label=f"{level}")
        axes.plot(steps, results["by_step"]["board_accuracy/all"], "k--", label="all")
        axes.set(xlabel="step", ylabel="boards solved, %", xlim=(1, steps[-1]), ylim=(0, 101))
        axes.set_title("\n".join(PAPER), fontsize=6)
        axes.legend(title="givens", fontsize=7, ncols=2)

        heat = Figure(figsize=(8, 4.5), layout="constrained")
        axes = heat.subplots()
        edges = 0.5, steps[-1] + 0.5, -0.5, len(givens) - 0.5
        image = axes.imshow(boards, aspect="auto", origin="lower", vmin=0, vmax=100, extent=edges)
        axes.set(xlabel="step", ylabel="givens")
        axes.set_yticks(range(len(givens)), givens)
        heat.colorbar(image, label="boards solved, %")
        return {"accuracy_by_step": lines, "accuracy_by_givens_and_step": heat}
