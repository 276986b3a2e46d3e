"""Image completion: holes, fills, losses and results."""

import numpy as np
import pytest
import tensorflow as tf

from rrn.config import replace
from rrn.data_prep import hdf5
from rrn.files.data import read_prepared
from rrn.tasks import create_task
from rrn.tasks.completion.holes import (
    cut_patches,
    draw_holes,
    hole_mask,
    mean_over_hole,
    nearest_visible,
)
from rrn.tasks.completion.report import CompletionReport
from rrn.training import step
from rrn.training.stages import Plan
from rrn.variables.random import ExampleRandom
from tests.compare import assert_close, randomize
from tests.helpers import check_two_devices_equal_one, load_config


def write_images(path, images, schema="pretty_clevr", name="images"):
    """A prepared file with the same images in every split."""
    datasets = {f"{split}/{name}": images for split in ("train", "valid", "test")}
    hdf5.write(path, datasets, {"schema": schema, "version": 1, "notes": "", "seed": 0})
    return path


@pytest.fixture(scope="module")
def images_h5(tmp_path_factory):
    """Twelve 16 x 16 images: coarse noise."""
    coarse = np.random.default_rng(0).integers(256, size=[12, 4, 4, 3], dtype=np.uint8)
    images = coarse.repeat(4, axis=1).repeat(4, axis=2)
    return write_images(tmp_path_factory.mktemp("images") / "images.h5", images)


def small_completion(path, **model):
    """(config, data, task) at small sizes."""
    small = {"width": 2, "dilations": (2,), "patch_size": 8, "compute_dtype": "float32", **model}
    train = {"batch_size": 6, "clip_norm": 0.0, "schedule": "constant"}
    config = replace(load_config("completion.py", "test"), model=small, train=train)
    data = read_prepared(path)
    return config, data, create_task(config.model, data)


@pytest.fixture(scope="module")
def completion(images_h5):
    tf.random.set_seed(0)
    config, data, task = small_completion(images_h5)
    randomize(task.network.discriminator)
    joint = task.network.discriminator.joint.w
    joint.assign(8.0 * joint)  # logits of several units: losses that are neither flat nor linear
    randomize(task.network.completion.layers[-1])
    return config, data, task


@pytest.fixture(scope="module")
def batch(completion):
    _, data, task = completion
    random = ExampleRandom([1, 2], tf.range(12), 12)
    return task.make_batch(data.arrays("train"), random.rows, random, True)


def random_holes(size, smallest, largest, count=500):
    return draw_holes(ExampleRandom([3, 4], tf.range(count), count), size, smallest, largest)


# Holes


def test_holes_are_anywhere_within_the_image_and_of_all_sizes():
    holes = random_holes(8, 2, 4).numpy()
    start, sides = holes[:, :2], holes[:, 2:]
    for axis in range(2):
        assert set(sides[:, axis]) == {2, 3, 4}
        for side in (2, 3, 4):
            assert set(start[sides[:, axis] == side, axis]) == set(range(8 - side + 1))
    assert len({tuple(hole) for hole in holes}) > 200  # of 324 rectangles


def test_the_mask_is_one_in_the_hole():
    holes = random_holes(8, 2, 4, 20)
    masks = hole_mask(holes, 8).numpy()
    assert masks.shape == (20, 8, 8, 1)
    for mask, (top, left, height, width) in zip(masks, holes.numpy(), strict=True):
        expected = np.zeros([8, 8, 1])
        expected[top : top + height, left : left + width] = 1
        np.testing.assert_array_equal(mask, expected)


def test_patches_hold_the_hole_in_their_middle_where_the_image_allows():
    images = tf.random.normal([100, 12, 12, 2])
    holes = random_holes(12, 2, 4, 100)
    patches = cut_patches(images, holes, 6)
    for image, patch, hole in zip(images, patches, holes.numpy(), strict=True):
        top, left, height, width = hole
        y, x = np.clip(hole[:2] + (hole[2:] - 6) // 2, 0, 6)
        assert y <= top and top + height <= y + 6 and x <= left and left + width <= x + 6
        np.testing.assert_array_equal(patch, image[y : y + 6, x : x + 6])


def test_the_nearest_visible_pixel_is_as_near_as_any():
    size = 9
    image = np.arange(size * size, dtype=np.float32).reshape(1, size, size, 1)
    holes = [(0, 0, 4, 4), (5, 5, 4, 4), (2, 3, 3, 4), (0, 4, 3, 2), (4, 0, 2, 4), (1, 1, 4, 3)]
    filled = nearest_visible(tf.repeat(image, len(holes), axis=0), tf.constant(holes)).numpy()
    visible = 1 - hole_mask(tf.constant(holes), size).numpy()
    for fill, outside, (top, left, height, width) in zip(filled, visible, holes, strict=True):
        places = np.argwhere(outside[..., 0])
        for y in range(top, top + height):
            for x in range(left, left + width):
                found = np.array(divmod(int(fill[y, x, 0]), size))
                assert outside[tuple(found)] == 1
                least = np.linalg.norm(places - (y, x), axis=1).min()
                assert np.linalg.norm(found - (y, x)) == least


def test_means_over_holes():
    x, holes = tf.random.normal([5, 8, 8, 3]), random_holes(8, 2, 4, 5)
    l1, squares = mean_over_hole(x, holes)
    for i, (top, left, height, width) in enumerate(holes.numpy()):
        inside = x[i, top : top + height, left : left + width].numpy()
        assert float(l1[i]) == pytest.approx(np.abs(inside).mean(), rel=1e-5)
        assert float(squares[i]) == pytest.approx((inside**2).mean(), rel=1e-5)


# The model


def test_the_widths_of_the_paper_give_its_completion_network(images_h5):
    """6,066,179 = the sum over its 17 layers of kernel² x inputs x outputs + outputs."""
    path = images_h5
    _, _, task = small_completion(path, width=64, dilations=(2, 4, 8, 16))
    counts = [v.shape.num_elements() for v in task.network.completion.trainable_variables]
    squares = [(25, 4, 64), (9, 64, 128), (9, 128, 128), (9, 128, 256), *[(9, 256, 256)] * 8]
    squares += [(16, 256, 128), (9, 128, 128), (16, 128, 64), (9, 64, 32), (9, 32, 3)]
    assert sum(counts) == sum(k * a * b + b for k, a, b in squares) == 6066179
    assert len(counts) == 2 * 17


def test_only_the_hole_is_replaced_and_only_by_what_is_seen(completion, batch):
    _, _, task = completion
    completed = task.complete(batch).numpy()
    mask = np.broadcast_to(hole_mask(batch["hole"], 16).numpy() > 0, completed.shape)
    image = batch["image"].numpy()
    np.testing.assert_array_equal(completed[~mask], image[~mask])
    assert (completed[mask] != image[mask]).all()
    other = {**batch, "image": tf.where(mask, 1.0 - image, image)}
    np.testing.assert_array_equal(task.complete(other), completed)
    other = {**batch, "image": 1.0 - batch["image"]}
    assert (task.complete(other).numpy()[mask] != completed[mask]).mean() > 0.9


def test_losses_are_those_of_the_docstring(completion, batch):
    config, _, task = completion
    losses, outputs = task.loss({}, batch, None, False)
    image, completed = batch["image"].numpy(), task.complete(batch).numpy()
    inside = hole_mask(batch["hole"], 16).numpy() > 0
    pairs = zip(image - completed, inside[..., 0], strict=True)
    mse = [(error[hole] ** 2).mean() for error, hole in pairs]
    assert_close(losses["reconstruction"], np.array(mse))
    real, fake = (np.float64(task.judge(x, batch["hole"])) for x in (image, completed))
    assert real.std() > 1 and fake.std() > 1
    judged = np.logaddexp(0, -real) + np.logaddexp(0, fake)
    assert_close(losses["discriminator"], judged)
    weight = config.model.adversarial_weight
    assert_close(losses["generator"], mse + weight * np.logaddexp(0, -fake))
    assert_close(losses["full"], mse + weight * judged)
    assert_close(outputs["loss"], np.array(mse))
    np.testing.assert_array_equal(outputs["completed"], completed.clip(0, 1))
    assert completed.min() < 0 and completed.max() > 1  # the loss counts what is cut off, too
    in_training, outputs = task.loss({}, batch, ExampleRandom([0, 0], tf.range(12), 12), True)
    for name, value in losses.items():
        np.testing.assert_array_equal(in_training[name], value)
    assert outputs["l1"].shape == (12, 1) and "completed" not in outputs


@pytest.mark.parametrize(("variant", "shown"), [("", [0, 1, 1]), ("full_loss", [0, 1, 0])])
def test_the_discriminators_accuracy_is_shown_where_their_loss_is_trained(
    completion, batch, variant, shown
):
    _, _, task = completion
    random = ExampleRandom([0, 0], tf.range(12), 12)
    losses, outputs = task.loss({}, batch, random, True)
    metrics, belongs = task.metrics(batch, outputs), task.metric_losses
    assert belongs.keys() <= metrics.keys() and set(belongs.values()) <= losses.keys()
    plan = Plan(load_config("completion.py", variant).train, task)
    found = [step._own_metrics(stage, task, metrics) for stage in plan.stages]
    assert ["discriminator/accuracy" in names for names in found] == shown
    assert all("l1" in names for names in found)


def test_both_on_two_devices_are_both_on_one(completion):
    config, data, task = completion
    config = replace(config, train={"stages": config.train.stages[2:]})
    check_two_devices_equal_one(config, data, task)


# Results


@pytest.fixture(scope="module")
def results(completion):
    """Of two examples, by hand: mean L1 0.1, 0.2, 0.3, 0.4; mean squares 0.01, 0.1, 1, 10."""
    _, data, task = completion
    l1, mse = np.array([0.1, 0.2, 0.3, 0.4]), np.array([0.01, 0.1, 1.0, 10.0])
    outputs = {
        "loss": mse[0] * np.array([0.5, 1.5]),
        "l1": l1 * [[0.5], [1.5]],
        "mse": mse * [[0.5], [1.5]],
        "original_logit": np.array([1.0, -1.0]),
        "completed_logit": np.array([-2.0, -3.0]),
        "completed": np.full([2, 16, 16, 3], 0.25),
        "hole": np.array([[0, 0, 4, 4], [5, 6, 7, 8]]),
    }
    return CompletionReport(task).results(data.arrays("test"), np.array([3, 5]), outputs)


def test_results_by_hand(completion, results):
    _, data, _ = completion
    assert results.by_step == {} and results.error == pytest.approx(0.01)
    assert results.metrics == pytest.approx(
        {
            "l1": 0.1,
            "l1/average_image": 0.2,
            "l1/visible_average": 0.3,
            "l1/nearest_visible": 0.4,
            "psnr": 20.0,  # 10 log10(1 / 0.01)
            "psnr/average_image": 10.0,
            "psnr/visible_average": 0.0,
            "psnr/nearest_visible": -10.0,
            "loss": 0.01,
            "discriminator_accuracy": 0.75,
        }
    )
    expected = data.splits["test"]["images"][[3, 5]] / 255
    np.testing.assert_array_equal(results.samples["original"], expected)


# What does not fit


def test_data_that_does_not_fit_is_an_error(images_h5, tmp_path):
    wide = write_images(tmp_path / "wide.h5", np.zeros([2, 16, 20, 3], np.uint8))
    none = write_images(tmp_path / "none.h5", np.zeros([2, 8], np.uint8), name="colours")
    for path, patch_size, message in (
        (images_h5, 7, r"at least the hole's 8; .* 16 x 16, patch_size is 7"),
        (wide, 8, r"wide\.h5: images must be square.* 16 x 20"),
        (none, 8, r"none\.h5: has no images; .* --images"),
    ):
        with pytest.raises(ValueError, match=message):
            small_completion(path, patch_size=patch_size)
    with pytest.raises(ValueError, match="less than all 16, got"):
        small_completion(images_h5, hole=(0.5, 0.99))


def test_what_weights_cannot_be_evaluated_on_is_an_error(completion):
    _, _, task = completion
    for arrays, got in (({}, "none"), ({"images": tf.zeros([2, 8, 8, 3])}, "8 x 8")):
        with pytest.raises(ValueError, match=f"takes images of 16 x 16, got {got}"):
            task.num_examples(arrays)


def test_digits_are_grey_images(tmp_path):
    digits = np.random.default_rng(1).integers(256, size=[4, 28, 28], dtype=np.uint8)
    path = write_images(tmp_path / "mnist.h5", digits, "mnist", "image")
    _, data, task = small_completion(path, patch_size=16)
    random = ExampleRandom([0, 0], tf.range(2), 2)
    batch = task.make_batch(data.arrays("test"), tf.constant([1, 3]), random, False)
    np.testing.assert_array_equal(batch["image"][..., 0], np.float32(digits[[1, 3]]) / 255)
    assert task.complete(batch).shape == (2, 28, 28, 1)
