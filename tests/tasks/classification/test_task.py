"""The image classifiers: exact sizes, the plain formulation, dropout, results."""

import itertools

import numpy as np
import pytest
import tensorflow as tf

from rrn.config import replace
from rrn.files.data import read_prepared
from rrn.tasks import Results, create_task
from rrn.tasks.classification.network import ConvolutionalNetwork
from rrn.tasks.classification.report import ClassificationReport
from rrn.variables.random import ExampleRandom
from tests.compare import assert_close, names_and_shapes, randomize
from tests.helpers import check_two_devices_equal_one, load_config
from tests.nn.test_convolution import plain_conv


def shapes_of(file, channels, num_classes, **model):
    """Names and shapes of a network that is described, not made: in a graph nothing is computed."""
    config = replace(load_config(file).model, **model)
    with tf.Graph().as_default():
        tf.random.set_seed(0)
        network = ConvolutionalNetwork(channels, num_classes, config)
        return names_and_shapes(network)


def count(shapes):
    return sum(int(np.prod(shape)) for shape in shapes.values())


def make_classifier(path, file="vgg19.py", **model):
    train = {"batch_size": 6, "schedule": "constant"}
    config = replace(load_config(file, "test"), model=model, train=train)
    data = read_prepared(path)
    return config, data, create_task(config.model, data)


@pytest.fixture(scope="module")
def classifier(small_digits_h5):
    """(config, data, task) of a network of five layers, and a batch of 12."""
    config, data, task = make_classifier(
        small_digits_h5, input_size=12, blocks=((1, 2), (2,)), dense=(4, 3), width=3
    )
    randomize(task.network)
    examples = tf.range(12)
    random = ExampleRandom([1, 2], examples, 12)
    return config, data, task, task.make_batch(data.arrays("train"), examples, random, True)


# Sizes


def test_the_mnist_network_has_exactly_3274634_parameters():
    shapes = shapes_of("mnist_cnn.py", 1, 10)
    layers = {"conv_1_1": (5, 5, 1, 32), "conv_2_1": (5, 5, 32, 64)}
    layers |= {"dense/linear_0": (3136, 1024), "dense/linear_1": (1024, 10)}
    biases = {f"{name}/b": shape[-1:] for name, shape in layers.items()}
    assert shapes == {f"{name}/w": shape for name, shape in layers.items()} | biases
    # 25 * 32 + 32 + 25 * 32 * 64 + 64 + 3136 * 1024 + 1024 + 1024 * 10 + 10
    assert count(shapes) == 3_274_634


def test_vgg19_has_exactly_143667240_parameters_and_19_layers():
    """On colour images of 224 pixels and 1,000 classes, as published."""
    shapes = shapes_of("vgg19.py", 3, 1000)
    assert count(shapes) == 143_667_240 and len(shapes) == 2 * 19
    assert shapes["conv_5_4/w"] == (3, 3, 512, 512)
    assert shapes["dense/linear_0/w"] == (25088, 4096)


def test_the_articles_initial_values():
    """A normal distribution that is cut off at ±2 has a standard deviation of 0.880."""
    config = load_config("mnist_cnn.py", "article").model
    network = ConvolutionalNetwork(1, 10, config)
    for layer in network.layers():
        kernel = layer.w.numpy()
        assert np.abs(kernel).max() <= 0.2
        assert (layer.b.numpy() == np.float32(0.1)).all()
    large = network.dense.layers[0].w.numpy()
    assert large.std() == pytest.approx(0.0880, abs=2e-4) and abs(large.mean()) < 2e-4
    assert np.abs(large).max() > 0.199
    usual = ConvolutionalNetwork(1, 10, load_config("mnist_cnn.py").model).layers()
    assert not any(layer.b.numpy().any() for layer in usual)


# The model


def plain_logits(task, images, weights):
    """The classifier in NumPy; `weights`: for each hidden dense layer what its outputs take."""
    x = images
    for block in task.network.blocks:
        for layer in block:
            x = np.maximum(plain_conv(x, layer.w.numpy()).numpy() + layer.b.numpy(), 0)
        n, height, width, channels = x.shape
        x = np.pad(x, [(0, 0), (0, height % 2), (0, width % 2), (0, 0)])
        x = x.reshape(n, -(-height // 2), 2, -(-width // 2), 2, channels).max(axis=(2, 4))
    x = x.reshape(len(x), -1)
    *hidden, last = task.network.dense.layers
    for layer, weight in itertools.zip_longest(hidden, weights, fillvalue=1.0):
        x = np.maximum(x @ layer.w.numpy() + layer.b.numpy(), 0) * weight
    return x @ last.w.numpy() + last.b.numpy()


def test_loss_is_the_cross_entropy_of_the_plain_formulation(classifier):
    _, _, task, batch = classifier
    losses, outputs = task.loss({}, batch, None, False)
    logits = plain_logits(task, batch["image"].numpy(), []).astype(np.float64)
    log_probabilities = logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)
    assert_close(outputs["probabilities"], np.exp(log_probabilities))
    assert_close(losses["loss"], -log_probabilities[np.arange(12), batch["label"]])
    np.testing.assert_array_equal(outputs["loss"], losses["loss"])


def test_every_hidden_dense_layer_is_dropped_in_training(classifier):
    config, _, task, batch = classifier
    random = ExampleRandom([5, 6], tf.range(12), 12)
    losses, _ = task.loss({}, batch, random, True)
    kept = [random.uniform([3 * m], i).numpy() < 0.5 for i, m in enumerate(config.model.dense)]
    assert all(0.2 < k.mean() < 0.8 for k in kept)
    logits = plain_logits(task, batch["image"].numpy(), [2.0 * k for k in kept])
    expected = tf.nn.sparse_softmax_cross_entropy_with_logits(batch["label"], logits)
    assert_close(losses["loss"], expected)


def test_batches_hold_enlarged_digits_without_the_average(small_digits_h5):
    _, data, task = make_classifier(small_digits_h5, input_size=56)
    examples, train = tf.constant([3, 1]), data.splits["train"]
    batch = task.make_batch(data.arrays("train"), examples, None, True)
    assert batch["image"].shape == (2, 56, 56, 1)
    # Pixels of twice as many rows: of 2i + 1 and 2i + 2 three quarters are i and i + 1.
    image = train["image"][3] / 255 - (train["image"] / 255).mean()
    rows = 0.75 * image[:-1] + 0.25 * image[1:]
    expected = 0.75 * rows[:, :-1] + 0.25 * rows[:, 1:]
    assert_close(batch["image"][0, 1:-1:2, 1:-1:2, 0], expected)
    np.testing.assert_array_equal(batch["label"], train["label"][[3, 1]])
    _, _, task = make_classifier(small_digits_h5, input_size=28)
    batch = task.make_batch(data.arrays("train"), examples, None, True)
    assert_close(batch["image"][0, ..., 0], image)


@pytest.mark.slow
def test_two_devices_make_the_same_updates_as_one(small_digits_h5):
    tf.random.set_seed(0)
    check_two_devices_equal_one(*make_classifier(small_digits_h5, "mnist_cnn.py", width=3))


# Results


def test_results_by_hand(classifier):
    _, data, task, batch = classifier
    arrays = {"label": tf.constant([9, 7, 7, 2, 7, 7])}
    probabilities = np.eye(10)[[7, 1, 2, 7, 7]]
    outputs = {"probabilities": probabilities, "loss": np.array([1.0, 2.0, 3.0, 4.0, 0.0])}
    report = ClassificationReport(task)
    results = report.results(arrays, np.array([1, 2, 3, 4, 5]), outputs)
    expected = {"accuracy/digit_2": 100, "accuracy/digit_7": 75, "accuracy/all": 80, "loss": 2}
    assert results == Results(pytest.approx(expected), 20, group_sizes={2: 1, 7: 4})
    assert [line.split() for line in str(report.table(results)).splitlines()] == [
        ["%"],
        ["accuracy/digit", "2", "100.00"],
        ["accuracy/digit", "7", "75.00"],
        ["accuracy/all", "80.00"],
        ["loss", "2.0000"],
    ]
    (axes,) = report.figures(results)["accuracy"].axes
    assert [bar.get_height() for bar in axes.patches] == [100, 75]
    assert axes.get_title() == "80.00 % of all"
    outputs = {"probabilities": tf.constant(np.eye(10)[batch["label"]]), "loss": None}
    total, number = task.metrics({"label": batch["label"][:12]}, outputs)["accuracy"]
    assert (total, number) == (12, 12)
    total, _ = task.metrics({"label": (batch["label"] + 1) % 10}, outputs)["accuracy"]
    assert total == 0
    assert data.attributes["notes"]
