"""Age arithmetic: sizes, stories against plain addition, the plain formulation."""

import itertools

import numpy as np
import pytest
import tensorflow as tf

from configs.ages import get_config
from rrn.config import replace
from rrn.files.data import read_prepared
from rrn.nn.graphs import RegularGraph, all_others
from rrn.nn.plain import graph_outputs, hidden_states
from rrn.tasks import create_task
from rrn.tasks.ages.task import AGE, OLDER, YOUNGER
from rrn.variables.random import ExampleRandom
from tests.compare import assert_close, randomize

COUNT = 512


@pytest.fixture(scope="module")
def data(ages_h5):
    return read_prepared(ages_h5)


def make_task(data, **model):
    return create_task(replace(get_config().model, **model), data)


@pytest.fixture(scope="module")
def stories(data):
    """(the tree, person told, person asked) of each example, and the batch."""
    arrays = data.arrays("valid")
    examples = np.random.default_rng(0).integers(0, len(arrays["edges"]) * 64, COUNT, np.int32)
    random = ExampleRandom([3, 4], tf.range(COUNT), COUNT)
    batch = make_task(data).make_batch(arrays, tf.constant(examples), random, training=True)
    pairs = examples // 64, examples // 8 % 8, examples % 8
    return pairs, {name: tensor.numpy() for name, tensor in batch.items()}


def test_the_model_has_exactly_these_parameters(data):
    def mlp(*sizes):
        return sum((n + 1) * m for n, m in itertools.pairwise(sizes))

    # 8 who, 8 whom, 3 kinds, 100 years, 8 asked.
    expected = mlp(127, 128, 128, 128, 128) + 2 * mlp(256, 128, 128, 128, 128)
    expected += mlp(256, 512) + mlp(128, 128, 128, 128, 100)
    for auxiliary_loss, more in ((0.0, 0), (1.0, mlp(128, 128, 128, 200))):
        variables = make_task(data, auxiliary_loss=auxiliary_loss).network.variables
        assert sum(v.shape.num_elements() for v in variables) == expected + more
    assert expected == 424_804


def test_sinusoids_are_initial_weights_of_years_and_ages_alone(data):
    networks = []
    for begin in (False, True):
        tf.random.set_seed(0)
        networks.append(make_task(data, auxiliary_loss=1.0, sinusoids=begin).network)
    for glorot, other in zip(*(network.variables for network in networks), strict=True):
        expected = other.shape[0] == 127 or (other.shape[-1] in (100, 200) and "w" in other.name)
        assert np.any(glorot.numpy() != other.numpy()) == expected
    glorot, other = (network.rrn.input_fn.layers[0].w.numpy() for network in networks)
    np.testing.assert_array_equal(glorot[:19], other[:19])
    np.testing.assert_array_equal(glorot[119:], other[119:])
    years = {"input": other[19:119]}
    _, network = networks
    years["answer"] = network.readout.layers[-1].w.numpy().T
    years["who"], years["whom"] = np.split(network.node_readout.layers[-1].w.numpy().T, 2)
    for rows in years.values():
        assert rows.std() == pytest.approx(glorot[19:119].std(), rel=0.3)
        power = np.abs(np.fft.rfft(rows, axis=0)) ** 2
        assert set(power.argmax(0)) == {1, 2, 4, 8, 16, 32}  # cycles in a century
        np.testing.assert_allclose(power.max(0), power.sum(0), rtol=1e-4)  # and no others


def test_facts_are_true_and_name_the_trees_edges(data, stories):
    (trees, told, asked), batch = stories
    edges = data.splits["valid"]["edges"]
    for i in range(COUNT):
        who, whom, kind, years = (batch[name][i] for name in ("who", "whom", "kind", "years"))
        assert (who[0], whom[0], kind[0]) == (told[i], told[i], AGE)
        ages = {int(told[i]): int(years[0])}
        facts = list(zip(who[1:], whom[1:], kind[1:], years[1:], strict=True))
        named = sorted(tuple(sorted(fact[:2])) for fact in facts)
        assert named == sorted(map(tuple, edges[trees[i]]))
        for _ in range(7):  # each round makes one more person known, at least
            for a, b, k, n in facts:
                by = {OLDER: n, YOUNGER: -n}[k]
                if b in ages:
                    assert ages.setdefault(a, ages[b] + by) == ages[b] + by
                elif a in ages:
                    ages[b] = ages[a] - by
        assert len(set(ages.values())) == len(ages) == 8
        assert min(ages.values()) >= 0 and max(ages.values()) <= 98
        people = batch["people"][i]
        assert sorted(people) == list(range(8)) and people[batch["asked"][i]] == asked[i]
        assert [ages[person] for person in people] == list(batch["ages"][i])
        of_facts = [[ages[a], ages[b]] for a, b in zip(who, whom, strict=True)]
        np.testing.assert_array_equal(batch["fact_ages"][i], of_facts)
        distances = data.splits["valid"]["distance"][trees[i], told[i], people]
        np.testing.assert_array_equal(batch["distances"][i], distances)


def test_the_nearest_people_come_first_and_every_fact_ties_the_next_to_one_before(stories):
    _, batch = stories
    assert (np.diff(batch["distances"], axis=1) >= 0).all()
    assert (batch["distances"][:, 0] == 0).all()
    for who, whom, people in zip(batch["who"], batch["whom"], batch["people"], strict=True):
        for i in range(1, 8):
            (before,) = {who[i], whom[i]} - {people[i]}
            assert before in people[:i]


def test_ages_and_who_is_named_first_are_drawn_evenly(stories):
    _, batch = stories
    assert abs(batch["years"][:, 0].mean() - 49) < 5 * 28.6 / COUNT**0.5
    first_is_lower = (batch["who"] < batch["whom"])[:, 1:]
    assert abs(first_is_lower.mean() - 0.5) < 0.05
    older = batch["kind"][:, 1:] == OLDER
    assert abs(older.mean() - 0.5) < 0.05


@pytest.fixture(scope="module")
def few(stories):
    _, batch = stories
    return {name: tf.constant(array[:4]) for name, array in batch.items()}


@pytest.mark.parametrize("n", [8, 3])
def test_losses_equal_the_plain_formulation(data, few, n):
    task = make_task(data, num_steps=3, auxiliary_loss=0.5, readout_dropout=0.0)
    network = task.network
    randomize(network)
    for variable in network.variables:
        variable.assign(0.3 * variable)
    arrays = {name: tensor.numpy() for name, tensor in few.items()}
    places = np.arange(4), arrays["asked"] % n
    asked = np.repeat(arrays["people"][places], n)
    sizes = {"who": 8, "whom": 8, "kind": 3, "years": 100}
    features = [np.eye(size)[arrays[name][:, :n].ravel()] for name, size in sizes.items()]
    features = tf.constant(np.concatenate([*features, np.eye(8)[asked]], axis=1), tf.float32)
    edges = RegularGraph(all_others(n), 4).edge_list()
    states = hidden_states(network.rrn, *edges, features, 3)
    by_step = graph_outputs(network.readout, states, np.repeat(range(4), n), 4)
    answers, node_losses = [], []
    for h, logits in zip(states, by_step, strict=True):
        answers.append(cross_entropy(logits.numpy(), arrays["ages"][places]))
        logits = network.node_readout(h).numpy().reshape(-1, 100)
        per_age = cross_entropy(logits, arrays["fact_ages"][:, :n].ravel())
        node_losses.append(per_age.reshape(4, -1).mean(axis=1))
    random = ExampleRandom([0, 0], [0], 1)
    losses, outputs = task.loss({}, few, random, True, num_people=n)
    assert_close(outputs["loss"], np.stack(answers, 1), 1e-4)
    expected = np.mean(answers, axis=0)
    assert_close(losses["loss"], expected + 0.5 * np.mean(node_losses, axis=0), 1e-4)
    np.testing.assert_array_equal(outputs["distance"], arrays["distances"][places])
    _, fewer = task.loss({}, few, random, True, num_steps=2, num_people=n)
    assert_close(fewer["loss"], outputs["loss"][:, :2])
    answer_only, _ = task.loss({}, few, None, False, num_people=n)
    assert_close(answer_only["loss"], expected, 1e-4)


def cross_entropy(logits, classes):
    log_p = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    return -log_p[np.arange(len(classes)), classes]
