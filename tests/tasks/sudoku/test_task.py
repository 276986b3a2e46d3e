"""Sudoku: the network's size and its plain formulation and random boards."""

import itertools

import numpy as np
import pytest
import tensorflow as tf

from configs.sudoku import get_config
from rrn.config import replace
from rrn.data_prep.sudoku.puzzles import UNITS
from rrn.distribute.variables import short_device
from rrn.files.data import read_prepared
from rrn.nn.graphs import RegularGraph
from rrn.nn.plain import hidden_states, node_outputs
from rrn.tasks import create_task
from rrn.tasks.sudoku.network import cell_neighbours
from rrn.tasks.sudoku.task import Sudoku, random_digits, random_symmetry
from rrn.variables.random import ExampleRandom
from rrn.variables.recorder import recording
from tests.compare import assert_close, mlp_shapes, names_and_shapes, randomize
from tests.distribute.test_towers import products_by_device
from tests.helpers import CPUS, make_trainer

TABLES = {
    "digit_embedding/table": (10, 16),
    "row_embedding/table": (9, 16),
    "column_embedding/table": (9, 16),
}
MLPS = {
    **mlp_shapes("input_fn", 48, 96, 96, 96, 96),
    **mlp_shapes("message_fn", 192, 96, 96, 96, 96),
    **mlp_shapes("node_fn", 192, 96, 96, 96, 96),
}
OTHERS = {
    "lstm/linear/w": (192, 384),
    "lstm/linear/b": (384,),
    "readout/w": (96, 10),
    "readout/b": (10,),
}


@pytest.fixture(scope="module")
def data(small_sudoku_h5):
    return read_prepared(small_sudoku_h5)


def make_config(**model):
    small = {"embedding_size": 4, "hidden_size": 12, "num_steps": 3, "evaluation_steps": 4}
    return replace(get_config(), model={**small, **model}, train={"batch_size": 6})


def make_task(**model):
    return Sudoku(make_config(**model).model)


def randomize_all(task):
    for seed, module in enumerate((task.encoder, task.network)):
        randomize(module, seed)


# Parameters and graph


def test_the_paper_model_has_exactly_201098_parameters(data):
    task = create_task(get_config().model, data)
    assert names_and_shapes(task.encoder) == TABLES
    assert names_and_shapes(task.network) == MLPS | OTHERS
    variables = [*task.encoder.variables, *task.network.variables]
    assert sum(variable.shape.num_elements() for variable in variables) == 201_098


def test_regularized_are_the_kernels_of_the_mlps():
    names = {variable.name.removesuffix(":0") for variable in make_task().regularized()}
    assert names == {name for name in MLPS if name.endswith("/w")}


def test_neighbours_are_the_20_cells_of_row_column_and_box():
    for cell, neighbours in enumerate(cell_neighbours()):
        row, column = divmod(cell, 9)
        expected = {
            9 * r + c
            for r, c in itertools.product(range(9), repeat=2)
            if r == row or c == column or (r // 3, c // 3) == (row // 3, column // 3)
        } - {cell}
        assert len(neighbours) == 20 and set(neighbours) == expected


# Inputs


def make_batch(task, arrays, examples, training=True, seed=(3, 4), **options):
    random = ExampleRandom(seed, tf.constant(examples), len(arrays["givens"]))
    return task.make_batch(arrays, tf.constant(examples), random, training, **options)


def assert_valid(batch, givens):
    """Full grids that hold their puzzles, with as many givens as before."""
    puzzle, solution = batch["puzzle"].numpy(), batch["solution"].numpy()
    assert (np.sort(solution[:, UNITS], axis=2) == np.arange(1, 10)).all()
    assert ((puzzle == 0) | (puzzle == solution)).all()
    np.testing.assert_array_equal((puzzle > 0).sum(axis=1), givens)


def test_blanks_are_revealed_in_training_alone_as_many_as_are_drawn(data):
    task, arrays, examples = make_task(), data.arrays("train"), list(range(72))
    whole = make_batch(task, arrays, examples)
    batch = make_batch(task, arrays, examples, revealed=3)
    before, after = whole["puzzle"].numpy(), batch["puzzle"].numpy()
    assert_valid(batch, (after > 0).sum(axis=1))
    assert (after[before > 0] == before[before > 0]).all()
    numbers = ((after > 0) & (before == 0)).sum(axis=1)
    counts = np.bincount(numbers, minlength=4)
    assert len(counts) == 4 and counts.min() >= 9  # 18 each are expected
    places = np.flatnonzero((after != before).any(axis=0))
    assert len(places) > 40  # all blanks may be revealed
    plain = make_batch(task, arrays, examples, training=False, revealed=3)
    np.testing.assert_array_equal(plain["puzzle"], before)


@pytest.mark.parametrize("changes", [["augment_digits"], ["augment_digits", "augment_symmetries"]])
def test_changed_boards_are_valid_and_only_training_changes_them(data, changes):
    task, arrays = make_task(**dict.fromkeys(changes, True)), data.arrays("train")
    examples = list(range(0, 72, 3))
    batch, given = make_batch(task, arrays, examples), arrays["givens"].numpy()[examples]
    assert_valid(batch, given)
    plain = make_batch(task, arrays, examples, training=False)
    unchanged = make_batch(make_task(), arrays, examples)
    for name in ("puzzle", "solution"):
        as_in_file = data.splits["train"][name][examples]
        np.testing.assert_array_equal(plain[name], as_in_file)
        np.testing.assert_array_equal(unchanged[name], as_in_file)
        assert (batch[name].numpy() != as_in_file).any(axis=1).all()
    moved = (batch["puzzle"].numpy() > 0) != (plain["puzzle"].numpy() > 0)
    np.testing.assert_array_equal(moved.any(axis=1), "augment_symmetries" in changes)


DRAWS = 40_000


def assert_uniform(counts, draws=DRAWS):
    """Chi-square of equally likely outcomes; fails once in about 10^5 times."""
    counts = np.asarray(counts)
    expected, freedom = draws / counts.size, counts.size - 1
    chi_square = ((counts - expected) ** 2 / expected).sum()
    assert abs(chi_square - freedom) < 4.5 * (2 * freedom) ** 0.5 + 6


def draws(function):
    return function(ExampleRandom([5, 6], tf.range(DRAWS), DRAWS)).numpy()


def test_permutations_of_digits_are_uniform():
    digits = draws(random_digits)
    assert (digits[:, 0] == 0).all()
    assert (np.sort(digits[:, 1:]) == np.arange(1, 10)).all()
    for first, second in itertools.combinations(range(1, 10), 2):
        pairs = np.bincount(digits[:, first] * 10 + digits[:, second], minlength=100)
        pairs = pairs.reshape(10, 10)[1:, 1:]
        assert (np.diag(pairs) == 0).all()
        assert_uniform(pairs[~np.eye(9, dtype=bool)])


def test_symmetries_are_uniform():
    cells = draws(random_symmetry).reshape(-1, 9, 9)
    transposed = cells[:, 0, 1] % 9 == cells[:, 0, 0] % 9
    assert_uniform(np.bincount(transposed))
    cells = np.where(transposed[:, None, None], cells.swapaxes(1, 2), cells)
    rows, columns = cells[:, :, 0] // 9, cells[:, 0] % 9
    np.testing.assert_array_equal(cells, 9 * rows[:, :, None] + columns[:, None])
    for lines in (rows, columns):
        assert (np.sort(lines) == np.arange(9)).all()
        bands = lines.reshape(-1, 3, 3)
        assert (bands // 3 == bands[:, :, :1] // 3).all()
        distinct, counts = np.unique(lines, axis=0, return_counts=True)
        assert len(distinct) == 6**4
        assert_uniform(counts)
    # Rows, columns and the transpose don't depend on each other.
    for second, kinds in ((columns[:, 0], 9), (columns[:, 0] % 3, 3), (transposed, 2)):
        assert_uniform(np.bincount(kinds * rows[:, 0] + second, minlength=9 * kinds))


# Model


@pytest.fixture(scope="module")
def batch(data):
    """Seven boards of many levels."""
    tf.random.set_seed(0)
    return make_batch(make_task(), data.arrays("train"), list(range(0, 70, 10)))


def some_logits(task, puzzle, num_steps=3):
    return task.logits(task.encode({"puzzle": puzzle}), puzzle, num_steps)[0]


def test_logits_equal_the_plain_formulation(batch):
    task, puzzle = make_task(), batch["puzzle"].numpy()
    randomize_all(task)
    row, column = np.divmod(np.tile(np.arange(81), 7), 9)
    encoder = task.encoder
    tables = (encoder.digit.table, encoder.row.table, encoder.column.table)
    ids = (puzzle.ravel(), row, column)
    features = np.concatenate([t.numpy()[i] for t, i in zip(tables, ids, strict=True)], axis=1)
    edges = RegularGraph(cell_neighbours(), 7).edge_list()
    states = hidden_states(task.network.rrn, *edges, tf.constant(features), 3)
    expected = node_outputs(task.network.readout, states)
    expected = np.stack(expected, axis=1).reshape(7, 81, 3, 10)
    assert_close(some_logits(task, batch["puzzle"]), expected, 1e-4)


def test_boards_do_not_influence_each_other(batch):
    task = make_task()
    randomize_all(task)
    together = some_logits(task, batch["puzzle"])
    assert_close(some_logits(task, batch["puzzle"][2:3]), together[2:3])
    others = tf.concat([batch["puzzle"][:3], tf.zeros([1, 81], tf.int32)], 0)
    assert_close(some_logits(task, others)[:3], together[:3])
    assert np.abs(together[0] - together[1]).max() > 1e-2


DRAWS_OF_ONE = ExampleRandom([0, 0], [0], 1)


@pytest.mark.parametrize(
    ("training", "given", "num_steps"), [(False, {}, 4), (True, {"num_steps": 2}, 2)]
)
def test_loss_is_the_mean_over_cells_and_steps(batch, training, given, num_steps):
    task = make_task()
    randomize_all(task)
    losses, outputs = task.loss(task.encode(batch), batch, DRAWS_OF_ONE, training, **given)
    logits = some_logits(task, batch["puzzle"], num_steps).numpy().astype(np.float64)
    solution = batch["solution"].numpy()
    log_probabilities = logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
    chosen = np.take_along_axis(log_probabilities, solution[:, :, None, None], axis=-1)[..., 0]
    assert_close(outputs["loss"], -chosen.mean(axis=1), 1e-4)
    assert_close(losses["loss"], -chosen.mean(axis=(1, 2)), 1e-4)
    correct = (logits.argmax(axis=-1) == solution[:, :, None]).sum(axis=1)
    np.testing.assert_array_equal(outputs["cells_correct"], correct)
    assert ("confidence" in outputs) == (not training)
    if not training:
        likeliest = np.exp(log_probabilities.max(axis=-1))
        assert_close(outputs["confidence"], likeliest.min(axis=1), 1e-4)


def test_a_board_is_solved_if_all_its_cells_are_right_at_the_last_step(batch, monkeypatch):
    task, right = make_task(), tf.one_hot(batch["solution"], 10)
    steps = tf.stack([right, 1.0 - right], axis=2)  # of seven boards
    one_wrong = tf.concat([1.0 - right[:1, :1], right[:1, 1:]], axis=1)
    logits = tf.concat([steps[:1], steps[1:, :, ::-1], tf.stack([one_wrong] * 2, 2)], axis=0)
    monkeypatch.setattr(task, "logits", lambda *_: (logits, "state"))
    eight = {**batch, "solution": tf.concat([batch["solution"], batch["solution"][:1]], 0)}
    _, outputs = task.loss({}, eight, DRAWS_OF_ONE, True, num_steps=2, state="state")
    assert outputs["solved"].numpy().tolist() == [False] + [True] * 6 + [False]


@pytest.mark.parametrize("recompute", [False, True])
def test_the_config_says_what_is_recomputed_and_the_type_of_products(batch, recompute, monkeypatch):
    task, asked = make_task(recompute=recompute, compute_dtype="bfloat16"), []
    segment = task.network.rrn.segment
    monkeypatch.setattr(
        task.network.rrn, "segment", lambda *a, **named: asked.append(named) or segment(*a, **named)
    )
    some_logits(task, batch["puzzle"], 1)
    assert asked == [{"recompute": recompute}]
    assert {mlp.layers[0].compute_dtype for mlp in task.network.rrn.mlps()} == {tf.bfloat16}


def test_predict_gives_the_likeliest_digits_after_all_steps(batch):
    task = make_task(evaluation_steps=9)
    randomize_all(task)
    answers = task.predict({"puzzle": batch["puzzle"]})
    logits = some_logits(task, batch["puzzle"], 9).numpy()[:, :, -1]
    np.testing.assert_array_equal(answers["solution"], logits[..., 1:].argmax(-1) + 1)
    likeliest = tf.reduce_max(tf.nn.softmax(logits)[..., 1:], axis=-1)
    assert_close(answers["confidence"], likeliest)


def loss_and_gradients(task, batch):
    variables = [*task.encoder.trainable_variables, *task.network.trainable_variables]
    with tf.GradientTape() as tape:
        loss, _ = task.loss(task.encode(batch), batch, DRAWS_OF_ONE, True)
        loss = tf.reduce_mean(loss["loss"])
    pairs = zip(variables, tape.gradient(loss, variables), strict=True)
    return loss, {v.name: tf.convert_to_tensor(g) for v, g in pairs}


def test_gradients_reach_every_variable_with_and_without_recomputation(batch):
    task = make_task()
    randomize_all(task)
    loss, gradients = loss_and_gradients(task, batch)
    task.config = replace(task.config, recompute=True)
    same_loss, same_gradients = loss_and_gradients(task, batch)
    assert_close(same_loss, loss)
    for name, gradient in gradients.items():
        assert (np.abs(gradient) > 0).any(axis=-1).all() or "w" in name, name
        assert_close(same_gradients[name], gradient)


# Devices


@pytest.fixture(scope="module")
def trained(data):
    """Number of devices -> (the trainer, metrics and gradients of an update, its towers)."""
    tf.random.set_seed(0)
    config = make_config(augment_digits=True, augment_symmetries=True, num_steps=2)
    config = replace(config, train={"l2": 1e-3})
    task = create_task(config.model, data)
    initial = None

    def train(devices):
        nonlocal initial
        with recording() as towers:
            trainer, inputs = make_trainer(config, data, task, devices)
        initial = initial or [variable.numpy() for variable in trainer.model_variables]
        for variable, value in zip(trainer.model_variables, initial, strict=True):
            variable.assign(value)
        metrics, finite = trainer.update_once([next(iter(dataset)) for dataset in inputs])
        assert finite
        # Adam's m is now a tenth of the gradient.
        return trainer, metrics, [10.0 * m.numpy() for m in trainer.optimizers[0].m], towers

    return {"one": train(CPUS[:1]), "two": train(CPUS[1:3])}


def test_two_devices_equal_one(trained):
    _, metrics, gradients, _ = trained["one"]
    _, same_metrics, same_gradients, _ = trained["two"]
    assert metrics.keys() == same_metrics.keys() >= {"loss", "accuracy", "board_accuracy"}
    for name, pair in metrics.items():
        for expected, actual in zip(pair, same_metrics[name], strict=True):
            np.testing.assert_allclose(actual, expected, rtol=1e-5, err_msg=name)
    for actual, expected in zip(same_gradients, gradients, strict=True):
        assert_close(actual, expected)


def test_embeddings_live_on_the_cpu_and_products_run_on_the_towers(trained):
    trainer, _, _, towers = trained["two"]
    counts = products_by_device(trainer.traced)
    assert counts.keys() == {"CPU:1", "CPU:2"} and counts["CPU:1"] == counts["CPU:2"] > 0
    assert {short_device(variable.device) for variable in trainer.model_variables} == {"CPU:0"}
    for tower in towers.values():
        assert {tower.reads[variable.ref()] for variable in trainer.model_variables} == {1}
