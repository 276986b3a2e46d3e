"""Sudoku's network over candidates: its messages by hand, and what it cannot tell apart."""

import numpy as np
import pytest
import tensorflow as tf

from rrn.data_prep.sudoku.puzzles import UNITS
from rrn.nn.node_updates import PostUpdate
from rrn.tasks.sudoku.candidates import NEVER, CandidateUpdate, num_digits, unit_neighbours
from rrn.tasks.sudoku.network import Model
from rrn.tasks.sudoku.task import Sudoku
from rrn.variables.reading import reading_scope
from tests.compare import assert_close, mlp_shapes, names_and_shapes, randomize

SHAPES = {
    "given_embedding/table": (3, 16),
    **mlp_shapes("input_fn", 16, 32, 32),
    "message_fn/linear/w": (32, 192),
    "message_fn/linear/b": (192,),
    **mlp_shapes("node_fn", 128, 32, 32),
    "lstm/linear/w": (64, 128),
    "lstm/linear/b": (128,),
    "readout/w": (32, 1),
    "readout/b": (1,),
}


def make_task(**fields):
    task = Sudoku(Model(nodes="candidates", **{"hidden_size": 6, "embedding_size": 4, **fields}))
    for seed, module in enumerate((task.encoder, task.network)):
        randomize(module, seed)
    return task


def some_puzzles(boards=2, digits=9):
    rng = np.random.default_rng(0)
    size = boards, digits * digits
    puzzles = rng.integers(1, digits + 1, size) * (rng.random(size) < 0.4)
    return puzzles.astype(np.int32)


def logits_of(task, puzzles, steps=3):
    with reading_scope():
        return task.logits(task.encode({}), tf.constant(puzzles), steps)[0].numpy()


def test_it_has_exactly_21521_parameters():
    task = make_task(hidden_size=32, embedding_size=16)
    assert names_and_shapes(task.encoder) | names_and_shapes(task.network) == SHAPES
    assert sum(int(np.prod(shape)) for shape in SHAPES.values()) == 21_521


def test_units_are_those_of_the_puzzle():
    """In the rows and columns of `UNITS`, and in the nine digits of each cell."""
    neighbours = unit_neighbours(9).reshape(9, 81, 4, 9)  # [digit, cell, kind, member]
    rows_columns_boxes = UNITS.reshape(3, 9, 9)
    for digit, cell in ((0, 0), (4, 40), (8, 71), (2, 33)):
        for kind in range(3):
            (unit,) = [u for u in rows_columns_boxes[kind] if cell in u]
            assert sorted(neighbours[digit, cell, kind]) == sorted(81 * digit + unit)
        assert list(neighbours[digit, cell, 3]) == [81 * d + cell for d in range(9)]
    of_corner = unit_neighbours(6)[0].reshape(4, 6)
    assert list(of_corner[2]) == [0, 1, 2, 6, 7, 8]  # a box of two rows of three


@pytest.mark.parametrize(
    ("digits", "dtype", "tolerance"),
    [(6, "float32", 1e-4), (9, "float32", 1e-4), (9, "bfloat16", 1e-2)],
)
def test_messages_and_gradients_equal_the_plain_formulation(digits, dtype, tolerance):
    task, boards = make_task(compute_dtype=dtype), 2
    graph = task.network.graph(some_puzzles(boards, digits))
    function, size, nodes = task.network.rrn.message_fn, 6, boards * digits**3
    hidden = tf.random.stateless_normal([nodes, size], [0, 1])
    weights = tf.random.stateless_normal([nodes, 3 * size], [0, 2])
    offsets = np.repeat(np.arange(boards) * digits**3, digits**3)[:, None]
    members = np.tile(unit_neighbours(digits), [boards, 1]) + offsets

    def rounded(x):
        return tf.cast(tf.cast(x, dtype), tf.float32)

    def plain(hidden):
        w, b = function.linear.w, function.linear.b
        parts = tf.split(rounded(rounded(hidden) @ rounded(w) + rounded(b)), 6, axis=-1)
        sums = []
        for kind, first, last in ((0, 0, 2), (1, 2, 3), (2, 3, 4)):
            senders, receivers = parts[2 * kind : 2 * kind + 2]
            unit = members[:, first * digits : last * digits]
            edges = tf.nn.relu(tf.gather(senders, unit) + receivers[:, None])
            sums.append(tf.reduce_sum(edges, axis=1))
        return tf.concat(sums, axis=-1)

    def with_gradients(messages):
        variables = [hidden, function.linear.w, function.linear.b]
        with tf.GradientTape() as tape:
            tape.watch(hidden)
            heard = tf.cast(messages(hidden), tf.float32)
            loss = tf.reduce_sum(heard * weights)
        return heard, *tape.gradient(loss, variables)

    fast = with_gradients(lambda h: function(graph, h, function.prepare(graph)))
    for got, expected in zip(fast, with_gradients(plain), strict=True):
        assert_close(got, expected, tolerance)


@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", 1e-5), ("bfloat16", 2e-2)])
def test_the_update_equals_the_papers(dtype, tolerance):
    update = CandidateUpdate(18, 6, [6], "lstm", dtype)
    randomize(update)
    sizes = 18, 6, 6, 6
    values = [tf.random.stateless_normal([81, size], [0, i]) for i, size in enumerate(sizes)]

    def with_gradients(kind):
        with tf.GradientTape() as tape:
            tape.watch(values)
            messages, x, *state = values
            x, kernel = kind.prepare(update, tf.cast(x, dtype))
            messages = tf.matmul(tf.cast(messages, dtype), kernel)
            hidden, cell = kind.__call__(update, messages, x, *state)
            loss = tf.reduce_sum(hidden * values[-1] + cell * values[-2])
        return hidden, cell, *tape.gradient(loss, [*values, *update.trainable_variables])

    results = [with_gradients(kind) for kind in (CandidateUpdate, PostUpdate)]
    for got, expected in zip(*results, strict=True):
        assert_close(got, expected, tolerance)


def test_permuted_boards_have_the_same_answers():
    task, puzzles, rng = make_task(), some_puzzles(), np.random.default_rng(1)
    logits = logits_of(task, puzzles)
    assert (logits[..., 0] == NEVER).all() and np.abs(logits[..., 1:]).max() < 50
    permuted = np.concatenate([[0], 1 + rng.permutation(9)])
    assert_close(logits_of(task, permuted[puzzles].astype(np.int32))[..., permuted], logits)
    bands = np.concatenate([3 * band + rng.permutation(3) for band in rng.permutation(3)])
    columns = np.concatenate([3 * stack + rng.permutation(3) for stack in rng.permutation(3)])
    places = (9 * bands[:, None] + columns).T.reshape(81)  # transposed, too
    assert_close(logits_of(task, puzzles[:, places]), logits[:, places])
    assert np.abs(logits[0] - logits[1]).max() > 1e-2
    swapped = np.arange(81)
    swapped[[0, 80]] = 80, 0
    assert np.abs(logits_of(task, puzzles[:, swapped]) - logits[:, swapped]).max() > 1e-3


def test_the_same_weights_take_other_sizes():
    task = make_task()
    assert logits_of(task, some_puzzles(3, 4), 2).shape == (3, 16, 2, 5)
    assert logits_of(task, some_puzzles(1, 16), 1).shape == (1, 256, 1, 17)
    for cells in (80, 49):
        with pytest.raises(ValueError, match=f"boards have 16, .* cells, got {cells}"):
            num_digits(cells)


def test_segments_make_the_steps_of_one_call():
    task, puzzles = make_task(), some_puzzles()
    state, parts = task.initial_state(2), []
    with reading_scope():
        for _ in range(2):
            logits, state = task.logits(task.encode({}), tf.constant(puzzles), 2, state)
            parts.append(logits)
    assert_close(tf.concat(parts, axis=2), logits_of(task, puzzles, 4), 1e-4)


def test_messages_cannot_be_weighted():
    task, puzzles = make_task(), some_puzzles()
    graph = task.network.graph(puzzles)
    with pytest.raises(ValueError, match="cannot be weighted"):
        task.network.rrn.message_fn(graph, tf.zeros([2 * 729, 6]), None, tf.ones([2, 729, 36]))
