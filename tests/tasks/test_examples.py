"""Examples of the page: they say what the evaluation computes."""

import re

import numpy as np
import pytest
import tensorflow as tf

from rrn.config import replace
from rrn.files.data import read_prepared
from rrn.nn.graphs import SparseGraph
from rrn.nn.network import RecurrentRelationalNetwork
from rrn.tasks import create_report, create_task
from rrn.tasks.babi import BabiReport
from rrn.tasks.examples import message_strengths, one_of_each
from rrn.tasks.inputs import evaluation_batch
from rrn.variables.random import ExampleRandom
from tests.compare import assert_close, randomize
from tests.helpers import load_config, small_babi

SEED = 3


def small_report(file, path, **model):
    """(a task's report, the arrays of its test split)."""
    data = read_prepared(path)
    task = create_task(replace(load_config(file, "test").model, **model), data)
    return create_report(task), data.arrays("test")


def evaluated(task, arrays, example):
    """The outputs of one example."""
    ids = tf.constant([example], tf.int32)
    batch = evaluation_batch(task, arrays, ids, SEED)
    random = ExampleRandom(batch["seed"], ids)
    _, outputs = task.loss(task.encode(batch), batch, random, training=False)
    return outputs


def check_probabilities(task, arrays, chosen, examples):
    """The right answer's probabilities are those of the losses; the likeliest stand in order."""
    for example_id, example in zip(chosen, examples, strict=True):
        losses = evaluated(task, arrays, example_id)["loss"][0]
        assert_close(example.right_probabilities, np.exp(-losses))
        for step, right in zip(example.steps, example.right_probabilities, strict=True):
            p = [probability for _, probability in step.answers]
            assert p == sorted(p, reverse=True) and sum(p) <= 1.0001
            assert dict(step.answers).get(example.right, right) == pytest.approx(right)


def test_babi(small_babi_h5):
    _, data, task = small_babi(small_babi_h5)
    arrays = data.arrays("test")
    ids = np.arange(task.num_examples(arrays), dtype=np.int32)
    examples = BabiReport(task).examples(arrays, ids, SEED)
    tasks = arrays["task"].numpy()
    chosen = [np.flatnonzero(tasks == number)[-1] for number in (1, 2, 3)]
    assert [e.title[:6] for e in examples] == ["Task 1", "Task 2", "Task 3"]
    check_probabilities(task, arrays, chosen, examples)
    for example_id, example in zip(chosen, examples, strict=True):
        name, place = example.question.split()[-1].rstrip("?"), example.right
        told = [line for line in example.lines if line.startswith(f"{name} ")]
        assert told[-1] == f"{name} went to the {place}"
        assert len(example.lines) == min(arrays["num_facts"][example_id], 6)  # max_facts
        assert {len(step.strengths) for step in example.steps} == {len(example.lines)}
        assert min(min(step.strengths) for step in example.steps) > 0


@pytest.mark.parametrize("network", ["recurrent", "mlp"])
def test_pretty_clevr(small_scenes_h5, network):
    report, arrays = small_report("pretty_clevr.py", small_scenes_h5, network=network)
    ids = np.arange(report.task.num_examples(arrays), dtype=np.int32)
    examples = report.examples(arrays, ids, SEED)
    assert [e.title for e in examples][:3] == ["0 jumps", "1 jump", "2 jumps"]
    last = [ids[ids // 2 % 8 == jumps][-1] for jumps in range(8)]
    check_probabilities(report.task, arrays, last, examples)
    for jumps, (example_id, example) in enumerate(zip(last, examples, strict=True)):
        words = example.question.split()
        assert words[: 2 + (jumps == 1)] and example.question.startswith(f"{example.title} from ")
        scene = int(example_id) // 128
        x, y = arrays["positions"][scene, 0].numpy()
        assert any(line.endswith(f" at {x:.2f}, {y:.2f}") for line in example.lines)
        strengths = [len(step.strengths) for step in example.steps]
        assert strengths == [8 if network == "recurrent" else 0] * len(example.steps)


def test_ages(ages_h5):
    report, arrays = small_report("ages.py", ages_h5)
    ids = np.arange(1_000, dtype=np.int32)
    distances = arrays["distance"].numpy().reshape(-1)[ids]
    examples = report.examples(arrays, ids, SEED)
    chosen = [np.flatnonzero(distances == k)[-1] for k in np.unique(distances)]
    check_probabilities(report.task, arrays, chosen, examples)
    for example in examples:
        assert ages_from(example.lines)[re.fullmatch(r"How old is (\w+)\?", example.question)[1]]
        assert str(ages_from(example.lines)[example.question[11:-1]]) == example.right


def ages_from(lines):
    """Everybody's age, from the facts in words."""
    name, age = re.fullmatch(r"(\w+) is (\d+) years old\.", lines[0]).groups()
    ages = {name: int(age)}
    for line in lines[1:]:
        pattern = r"(\w+) is (\d+) years (older|younger) than (\w+)\."
        who, years, kind, whom = re.fullmatch(pattern, line).groups()
        years = int(years) if kind == "older" else -int(years)
        if whom in ages:
            ages[who] = ages[whom] + years
        else:
            ages[whom] = ages[who] - years
    return ages


def test_sudoku(small_sudoku_h5):
    report, arrays = small_report("sudoku.py", small_sudoku_h5)
    givens = arrays["givens"].numpy()
    ids = np.arange(len(givens), dtype=np.int32)
    examples = report.examples(arrays, ids, SEED)
    numbers = [int(example.title.split()[0]) for example in examples]
    assert numbers == sorted(numbers) and len(numbers) == 4
    assert (numbers[0], numbers[-1]) == (givens.min(), givens.max())
    for number, example in zip(numbers, examples, strict=True):
        board = np.flatnonzero(givens == number)[-1]
        right = evaluated(report.task, arrays, board)["cells_correct"][0].numpy().astype(int)
        notes = [f"{cells} of 81 cells are right." for cells in right]
        assert [step.note for step in example.steps] == notes
        assert [name for name, _, _ in example.drawing].count("text") == number


# What they are made with


def test_the_strength_of_a_nodes_messages_is_their_mean_length():
    # 0 sends to 1 and 2, 1 sends to 0, 2 sends nothing.
    senders, receivers = [0, 0, 1], [1, 2, 0]
    graph = SparseGraph(senders, receivers, num_nodes=3)
    network = RecurrentRelationalNetwork(input_size=4, hidden_size=2, edge_size=1)
    randomize(network)
    rng = np.random.default_rng(0)
    features = tf.constant(rng.normal(size=[3, 4]), tf.float32)
    after = [tf.constant(rng.normal(size=[3, 2]), tf.float32) for _ in range(2)]
    edges = tf.constant([[1.0], [2.0], [3.0]])
    strengths = message_strengths(network, graph, features, after, edges)
    assert strengths.shape == (2, 3)
    states = [network.input_fn(features), after[0]]  # before every step
    for h, by_node in zip(states, strengths, strict=True):
        lengths = []
        for sender, receiver, edge in zip(senders, receivers, edges, strict=True):
            message = network.message_fn.mlp(tf.concat([h[sender], h[receiver], edge], 0)[None])
            lengths.append(np.linalg.norm(message))
        assert_close(by_node, [(lengths[0] + lengths[1]) / 2, lengths[2], 0.0])


def test_one_of_each_kind_or_of_some_from_the_first_to_the_last():
    kinds = np.array([5, 5, 9, 7, 5, 8])
    assert one_of_each(kinds, 10) == [4, 3, 5, 2]
    assert one_of_each(kinds, 2) == [4, 2]
    assert one_of_each(kinds, 3) == [4, 5, 2]
