"""The triplet network: which images make a triplet, the loss, several devices, retrieval."""

import numpy as np
import pytest
import tensorflow as tf

from rrn.config import replace
from rrn.files.data import read_prepared
from rrn.tasks import Results, create_task
from rrn.tasks.triplet.report import TripletReport, draw_embeddings, nearest
from rrn.tasks.triplet.task import IMAGES, draw_triplets
from rrn.variables.random import ExampleRandom
from rrn.variables.recorder import recording
from tests.compare import assert_close, names_and_shapes, randomize
from tests.helpers import CPUS, load_config, make_trainer


@pytest.fixture
def triplet(small_digits_h5):
    """(config, data, task) at the sizes of the variant test."""
    config = load_config("triplet.py", "test")
    config = replace(config, train={"batch_size": 6})
    data = read_prepared(small_digits_h5)
    return config, data, create_task(config.model, data)


def test_matches_are_of_the_same_digit_and_others_are_not():
    """Labels 0, 1 and 2 have 3, 4 and 1 images; every possible image is drawn, and no other."""
    labels = np.array([1, 0, 1, 2, 0, 1, 1, 0])
    examples = np.repeat(np.arange(8, dtype=np.int32), 500)
    draws = np.random.default_rng(0).random([len(examples), 2]).astype(np.float32)
    matches, others = (ids.numpy() for ids in draw_triplets(labels, tf.constant(examples), draws))
    for query in range(8):
        same = set(np.flatnonzero(labels == labels[query]))
        if len(same) > 1:
            same -= {query}
        different = set(np.flatnonzero(labels != labels[query]))
        for ids, expected in ((matches, same), (others, different)):
            found, counts = np.unique(ids[examples == query], return_counts=True)
            assert set(found) == expected
            assert counts.min() > 0.6 * 500 / len(expected)


def test_draws_next_to_one_stay_within_the_split():
    labels = np.repeat([0, 1], 30_000)
    almost = np.full([2, 2], np.nextafter(np.float32(1), np.float32(0)))
    matches, others = draw_triplets(labels, tf.constant([0, 59_999]), almost)
    np.testing.assert_array_equal(matches, [29_999, 59_998])
    np.testing.assert_array_equal(others, [59_999, 29_999])


def test_batches_hold_three_images_of_every_example(triplet):
    _, data, task = triplet
    arrays, images = data.arrays("train"), data.splits["train"]["image"]
    random = ExampleRandom([1, 2], tf.range(4), 4)
    examples = tf.constant([3, 0, 9, 9])
    batch = task.make_batch(arrays, examples, random, True)
    choices = examples, *draw_triplets(arrays["label"].numpy(), examples, random.uniform([2]))
    for name, ids in zip(IMAGES, choices, strict=True):
        assert_close(batch[name][..., 0], images[ids] / 255 - (images / 255).mean())


def test_names_and_shapes(triplet):
    _, _, task = triplet
    layers = {"conv_0": (5, 5, 1, 2), "conv_1": (5, 5, 2, 4), "linear": (7 * 7 * 4, 32)}
    expected = {f"{name}/w": shape for name, shape in layers.items()}
    expected |= {f"{name}/b": shape[-1:] for name, shape in layers.items()}
    assert names_and_shapes(task.network) == expected


def test_the_loss_is_that_of_three_calls_of_one_network(triplet):
    config, data, task = triplet
    randomize(task.network)
    examples = tf.range(12)
    random = ExampleRandom([1, 2], examples, 12)
    batch = task.make_batch(data.arrays("train"), examples, random, True)
    losses, outputs = task.loss({}, batch, random, True)
    query, match, other = (task.network(batch[name]).numpy() for name in IMAGES)
    assert_close(np.linalg.norm(query, axis=1), np.ones(12))
    closer = (query * match).sum(1) - (query * other).sum(1)
    assert 0 < (closer > 0).sum() < 12
    assert_close(losses["loss"], np.maximum(0, config.model.margin - closer))
    np.testing.assert_array_equal(outputs["closer"], closer > 0)
    assert_close(outputs["embedding"], query)
    assert task.metrics(batch, outputs)["closer"] == (100 * (closer > 0).sum(), 12)


def test_two_devices_make_the_same_updates_as_one(triplet):
    config, data, task = triplet
    initial = [v.numpy() for v in task.network.trainable_variables]
    results = []
    for count in (1, 2):
        for variable, value in zip(task.network.trainable_variables, initial, strict=True):
            variable.assign(value)
        with recording() as towers:
            trainer, inputs = make_trainer(config, data, task, CPUS[:count])
        for _, *batches in zip(range(5), *inputs, strict=False):
            assert len({len(batch["query"]) for batch in batches}) == 1
            trainer.update_once(batches)
        results.append([v.numpy() for v in trainer.model_variables])
    for tower in towers.values():  # the three inputs read every variable once
        assert set(tower.reads.values()) == {1}
        assert len(tower.reads) == len(trainer.model_variables)
    for ours, theirs, old in zip(*results, initial, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-5)
        assert (ours != old).any()


def test_the_nearest_are_the_largest_products_but_the_image_itself():
    embeddings = np.random.default_rng(0).normal(size=[2_100, 5])
    found = nearest(embeddings, 4)  # in three blocks
    assert found.shape == (2_100, 4)
    for row in (0, 999, 1_000, 2_099):
        products = embeddings @ embeddings[row]
        products[row] = -np.inf
        np.testing.assert_array_equal(found[row], np.argsort(-products)[:4])


def test_results_by_hand(triplet):
    """On a circle at 0, 10, 21, 100 and 111 degrees; the split's image 0 is not evaluated."""
    _, _, task = triplet
    angles = np.radians([0, 10, 21, 100, 111])
    outputs = {
        "embedding": np.stack([np.cos(angles), np.sin(angles), 0 * angles, 0 * angles], axis=1),
        "closer": np.array([True, True, False, True, True]),
        "loss": np.array([0.0, 0.0, 1.0, 0.0, 0.5]),
    }
    arrays = {"label": tf.constant([7, 3, 3, 4, 4, 9]), "image": tf.zeros([6, 28, 28], tf.uint8)}
    report = TripletReport(task)
    results = report.results(arrays, np.arange(1, 6), outputs)
    # 3 finds 3 and 3 finds 3; 4 at 21 finds 3; 4 at 100 finds 9; 9 is alone.
    # Of the four others the only one of the same digit is right: 25 % of each query's.
    expected = {"nearest/digit_3": 100, "nearest/digit_4": 0, "nearest/all": 50}
    expected |= {"ten_nearest": 25, "closer": 80, "loss": 0.3}
    assert results.metrics == pytest.approx(expected) and results.error == 50
    values = ["100.00", "0.00", "50.00", "25.00", "80.00", "0.3000"]
    assert [value for _, value in report.table(results).rows] == values
    axes = report.figures(results)["retrieved"].axes
    assert len(axes) == 3 * 5  # a query of 3, 4 and 9, and four images each
    edges = [a.spines["top"].get_edgecolor()[:3] for a in axes]
    assert edges[1] == (0, 0, 0) and edges[2] == (1, 0, 0)
    assert isinstance(results, Results)
    draw_embeddings(outputs["embedding"][:, :2], np.arange(5))  # there are fewer than four axes


def test_a_split_of_one_digit_is_an_error(triplet):
    config, data, _ = triplet
    data.splits["valid"]["label"][:] = 3
    with pytest.raises(ValueError, match=r"digits\.h5: its valid split needs images of two digits"):
        create_task(config.model, data)
