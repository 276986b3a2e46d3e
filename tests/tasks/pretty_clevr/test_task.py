"""Pretty-CLEVR: sizes, questions against a plain walk, the plain formulation, devices."""

import itertools

import numpy as np
import pytest
import tensorflow as tf

from configs.pretty_clevr import get_config
from rrn.config import replace
from rrn.files.data import read_prepared
from rrn.nn.graphs import RegularGraph
from rrn.nn.plain import graph_outputs, hidden_states
from rrn.tasks import create_task
from rrn.tasks.pretty_clevr.network import OTHERS
from rrn.tasks.pretty_clevr.report import PrettyClevrReport
from rrn.variables.random import ExampleRandom
from tests.compare import assert_close, mlp_shapes, names_and_shapes, randomize
from tests.helpers import check_two_devices_equal_one

PARAMETERS = {
    **mlp_shapes("input_fn", 42, 128, 128),
    **mlp_shapes("message_fn", 257, 128, 128),
    **mlp_shapes("node_fn", 384, 128, 128),
    **mlp_shapes("readout", 128, 128, 16),
}


@pytest.fixture(scope="module")
def data(small_scenes_h5):
    return read_prepared(small_scenes_h5)


def make_task(data, variant="", **model):
    return create_task(replace(get_config(variant).model, **model), data)


def count(task):
    return sum(variable.shape.num_elements() for variable in task.network.variables)


# Parameters


def test_the_paper_models_have_exactly_these_parameters(data):
    task = make_task(data)
    assert names_and_shapes(task.network) == PARAMETERS
    assert count(task) == 155_920
    assert not task.encoder.variables
    # Inputs: 8 objects with position, colour and marker, 56 distances, anchor and jumps.
    mlp = make_task(data, "mlp")
    sizes = [8 * 18 + 56 + 24, 256, 256, 256, 256, 16]
    assert count(mlp) == sum((n + 1) * m for n, m in itertools.pairwise(sizes)) == 259_088


def test_the_node_loss_adds_one_kernel(data):
    task = make_task(data, "gpu")
    names = names_and_shapes(task.network)
    assert names == PARAMETERS | {"node_readout/w": (128, 1)}


def test_a_node_loss_without_nodes_is_an_error(data):
    with pytest.raises(ValueError, match=r"model\.auxiliary_loss: the MLP has no nodes, got 1\.0"):
        make_task(data, "mlp", auxiliary_loss=1.0)


# Inputs


def all_questions(task, data, split="valid", training=False):
    arrays = data.arrays(split)
    examples = np.arange(task.num_examples(arrays), dtype=np.int32)
    random = ExampleRandom([3, 4], tf.constant(examples), len(examples))
    batch = task.make_batch(arrays, tf.constant(examples), random, training)
    return {name: tensor.numpy() for name, tensor in batch.items()}


def test_every_question_and_answer_against_a_plain_walk(data):
    task, scenes = make_task(data), data.splits["valid"]
    batch = all_questions(task, data)
    place = 0
    for positions, colours, markers in zip(
        scenes["positions"], scenes["colours"], scenes["markers"], strict=True
    ):
        distances = np.linalg.norm(positions[:, None] - positions[None], axis=-1)
        for start in range(8):
            for jumps in range(8):
                visited = [start]
                for _ in range(jumps):
                    left = [j for j in range(8) if j not in visited]
                    visited.append(min(left, key=lambda j: distances[visited[-1], j]))
                names = colours, 8 + markers
                for by_marker in (0, 1):
                    objects = batch["objects"][place]
                    np.testing.assert_allclose(objects[:, :2], positions)
                    one_hot = np.eye(8)[colours], np.eye(8)[markers]
                    np.testing.assert_array_equal(objects[:, 2:], np.concatenate(one_hot, 1))
                    assert batch["anchor"][place] == names[by_marker][start]
                    assert batch["jumps"][place] == jumps
                    assert batch["answers"][place, jumps] == names[1 - by_marker][visited[-1]]
                    place += 1
        expected = [[distances[i, j] for j in range(8) if j != i] for i in range(8)]
        np.testing.assert_allclose(batch["distances"][place - 1], expected, rtol=1e-5)
    assert place == len(batch["jumps"])


@pytest.mark.parametrize("training", [False, True])
def test_for_the_mlp_the_kth_object_has_marker_k(data, training):
    """The scenes, turned or not, and their questions are the same; only objects' order differs."""
    as_stored, in_order = (
        all_questions(make_task(data, variant), data, training=training)
        for variant in ("gpu", "mlp")
    )
    for name in ("anchor", "jumps", "answers"):
        np.testing.assert_array_equal(in_order[name], as_stored[name])
    markers = in_order["objects"][..., 10:]
    np.testing.assert_array_equal(markers, np.broadcast_to(np.eye(8), markers.shape))
    order = np.argsort(as_stored["objects"][..., 10:].argmax(-1), axis=-1)
    assert (order != np.arange(8)).any()
    expected = np.take_along_axis(as_stored["objects"], order[..., None], axis=1)
    np.testing.assert_array_equal(in_order["objects"], expected)
    apart = expected[:, :, None, :2] - expected[:, OTHERS, :2]
    np.testing.assert_allclose(in_order["distances"], np.linalg.norm(apart, axis=-1), rtol=1e-5)


def test_training_turns_and_scales_and_changes_nothing_else(data):
    task = make_task(data)
    plain, turned = (all_questions(task, data, training=t) for t in (False, True))
    for name in ("anchor", "jumps", "answers"):
        np.testing.assert_array_equal(turned[name], plain[name])
    np.testing.assert_array_equal(turned["objects"][..., 2:], plain["objects"][..., 2:])
    scale = turned["distances"] / plain["distances"]
    np.testing.assert_allclose(scale, scale[:, :1, :1] + np.zeros_like(scale), rtol=1e-4)
    log_scale = np.log2(scale[:, 0, 0])
    assert -1 <= log_scale.min() < -0.9 and 0.9 < log_scale.max() <= 1
    assert abs(log_scale.mean()) < 0.15
    # The middle stays where it is, and all angles occur.
    before, after = (
        (b["objects"][:, 0, 0] - 0.5) + 1j * (b["objects"][:, 0, 1] - 0.5) for b in (plain, turned)
    )
    np.testing.assert_allclose(np.abs(after / before), 2**log_scale, rtol=1e-3)
    assert abs(np.mean((after / before) / np.abs(after / before))) < 0.15
    # What changes the scene does not change the distances' relation to the positions.
    positions = turned["objects"][..., :2]
    apart = np.linalg.norm(positions[:, :, None] - positions[:, OTHERS], axis=-1)
    np.testing.assert_allclose(turned["distances"], apart, rtol=1e-4)


# Model


@pytest.fixture(scope="module")
def some_batch(data):
    arrays = data.arrays("train")
    examples = tf.constant([3, 150, 700, 1999])
    random = ExampleRandom([5, 6], tf.range(4), 4)
    return make_task(data).make_batch(arrays, examples, random, training=True)


def one_hot_question(batch):
    return tf.concat([tf.one_hot(batch["anchor"], 16), tf.one_hot(batch["jumps"], 8)], axis=1)


def test_logits_equal_the_plain_formulation(data, some_batch):
    task = make_task(data)
    randomize(task.network)
    for variable in task.network.variables:
        variable.assign(0.2 * variable)
    question = one_hot_question(some_batch)
    logits, node_logits = task.network(some_batch, question, None)
    assert node_logits is None
    objects = some_batch["objects"].numpy().reshape(32, 18)
    features = np.concatenate([objects, np.repeat(question, 8, axis=0)], axis=1)
    edges = tf.reshape(some_batch["distances"], [-1, 1])
    senders, receivers = RegularGraph(OTHERS, 4).edge_list()
    states = hidden_states(task.network.rrn, senders, receivers, features, 4, edges)
    scene = np.repeat(range(4), 8)
    expected = tf.stack(graph_outputs(task.network.readout, states, scene, 4), axis=1)
    assert_close(logits, expected, 1e-4)


def test_the_order_of_objects_does_not_matter(data, some_batch):
    task = make_task(data, auxiliary_loss=1.0)
    question = one_hot_question(some_batch)
    logits, node_logits = task.network(some_batch, question, None)
    order = np.array([3, 1, 0, 2, 7, 6, 5, 4])
    distances = np.zeros([4, 8, 8], np.float32)
    distances[:, np.arange(8)[:, None], OTHERS] = some_batch["distances"]
    moved = distances[:, order][:, :, order]
    objects = tf.gather(some_batch["objects"], order, axis=1)
    distances = moved[:, np.arange(8)[:, None], OTHERS]
    batch = {**some_batch, "objects": objects, "distances": tf.constant(distances)}
    same_logits, moved_node_logits = task.network(batch, question, None)
    assert_close(same_logits, logits, 1e-4)
    assert_close(moved_node_logits, node_logits.numpy()[:, :, order], 1e-4)


def test_the_node_loss_is_that_of_finding_the_answers_object(data, some_batch):
    task = make_task(data, auxiliary_loss=0.5, readout_dropout=0.0)
    random = ExampleRandom([0, 0], [0], 1)
    losses, outputs = task.loss({}, some_batch, random, True)
    _, logits = task.network(some_batch, one_hot_question(some_batch), None)
    attributes = some_batch["objects"].numpy()[..., 2:]
    answers = some_batch["answers"].numpy()[np.arange(4), some_batch["jumps"]]
    found = [int(np.flatnonzero(a[:, k])[0]) for a, k in zip(attributes, answers, strict=True)]
    log_p = logits - tf.reduce_logsumexp(logits, axis=2, keepdims=True)
    auxiliary_loss = [-log_p.numpy()[i, :, j].mean() for i, j in enumerate(found)]
    answer_loss = outputs["loss"].numpy().mean(axis=1)
    assert_close(losses["loss"], answer_loss + 0.5 * np.array(auxiliary_loss))
    answer_only, _ = task.loss({}, some_batch, None, False)
    assert_close(answer_only["loss"], answer_loss)


def test_fewer_numbers_of_jumps(data, some_batch):
    task = make_task(data)
    plain = task.loss({}, some_batch, None, False)[1]
    fewer = task.loss({}, some_batch, None, False, num_jumps=2)[1]
    np.testing.assert_array_equal(fewer["jumps"], some_batch["jumps"].numpy() % 2)
    same = some_batch["jumps"].numpy() < 2
    assert 0 < same.sum() < 4
    np.testing.assert_array_equal(fewer["loss"][same], plain["loss"][same])
    batch = {**some_batch, "jumps": some_batch["jumps"] % 2}
    np.testing.assert_array_equal(fewer["loss"], task.loss({}, batch, None, False)[1]["loss"])


@pytest.mark.parametrize("variant", ["", "gpu", "relation_network", "mlp"])
def test_gradients_reach_every_variable(data, some_batch, variant):
    task = make_task(data, variant, compute_dtype="float32")
    with tf.GradientTape() as tape:
        losses, _ = task.loss({}, some_batch, ExampleRandom([0, 0], tf.range(4), 4), True)
    gradients = tape.gradient(losses["loss"], task.network.variables)
    for variable, gradient in zip(task.network.variables, gradients, strict=True):
        assert gradient is not None and np.abs(gradient).max() > 0, variable.name


def test_two_devices_equal_one(data):
    model = {"hidden_size": 8, "num_steps": 2, "auxiliary_loss": 1.0}
    config = replace(get_config("test"), model=model, train={"optimizer": "muon"})
    check_two_devices_equal_one(config, data, create_task(config.model, data))


def test_results_are_by_jumps(data):
    task, arrays = make_task(data), data.arrays("valid")
    examples = np.arange(0, 512, 3, dtype=np.int32)
    jumps = examples // 2 % 8
    correct = (jumps[:, None] < [[2, 4]]).astype(np.float32)
    outputs = {"correct": correct, "loss": np.zeros_like(correct)}
    outputs["predicted"] = np.zeros_like(correct)  # a mean over passes, so no integers
    report = PrettyClevrReport(task)
    results = report.results(arrays, examples, outputs)
    expected = {f"accuracy/jumps_{k}": 100.0 * (k < 4) for k in range(8)}
    assert results.metrics | expected == results.metrics
    assert results.by_step["accuracy/jumps_2"] == [0.0, 100.0]
    assert "94.0" in str(report.table(results))
    assert report.figures(results).keys() == {"accuracy", "gallery"}
