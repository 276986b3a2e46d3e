"""bAbI: the network's size, its batches against the prepared file, its results by hand."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
import tensorflow as tf
from matplotlib.figure import Figure

from configs.babi import get_config
from rrn.config import replace
from rrn.files.data import PreparedData, read_prepared
from rrn.tasks import create_task
from rrn.tasks.babi.parts import part_boundaries
from rrn.tasks.babi.report import TASK_NAMES, BabiReport
from rrn.variables.random import ExampleRandom
from tests.compare import assert_close, names_and_shapes, randomize

PARAMETERS = {
    "network": {
        "input_fn/linear_0/w": (104, 128),
        "input_fn/linear_0/b": (128,),
        "input_fn/linear_1/w": (128, 128),
        "input_fn/linear_1/b": (128,),
        "input_fn/linear_2/w": (128, 128),
        "input_fn/linear_2/b": (128,),
        "input_fn/linear_3/w": (128, 128),
        "input_fn/linear_3/b": (128,),
        "message_fn/linear_0/w": (288, 128),
        "message_fn/linear_0/b": (128,),
        "message_fn/linear_1/w": (128, 128),
        "message_fn/linear_1/b": (128,),
        "message_fn/linear_2/w": (128, 128),
        "message_fn/linear_2/b": (128,),
        "message_fn/linear_3/w": (128, 128),
        "message_fn/linear_3/b": (128,),
        "node_fn/linear_0/w": (256, 128),
        "node_fn/linear_0/b": (128,),
        "node_fn/linear_1/w": (128, 128),
        "node_fn/linear_1/b": (128,),
        "node_fn/linear_2/w": (128, 128),
        "node_fn/linear_2/b": (128,),
        "node_fn/linear_3/w": (128, 128),
        "node_fn/linear_3/b": (128,),
        "lstm/linear/w": (256, 512),
        "lstm/linear/b": (512,),
        "readout/linear_0/w": (128, 128),
        "readout/linear_0/b": (128,),
        "readout/linear_1/w": (128, 128),
        "readout/linear_1/b": (128,),
        "readout/linear_2/w": (128, 177),
        "readout/linear_2/b": (177,),
    },
    "encoder": {
        "embedding/table": (177, 32),
        "fact_encoder/lstm/linear/w": (64, 128),
        "fact_encoder/lstm/linear/b": (128,),
        "question_encoder/lstm/linear/w": (64, 128),
        "question_encoder/lstm/linear/b": (128,),
    },
}


@pytest.fixture(scope="module")
def data(babi_h5):
    return read_prepared(babi_h5)


@pytest.fixture(scope="module")
def arrays(data):
    return data.arrays("test")


def make_config(**model):
    config = get_config("test")
    config = replace(config, model=model)
    return config


def make_task(data, **model):
    return create_task(make_config(hidden_size=16, encoding_size=8, **model).model, data)


def tiny_data(vocabulary=5, schema=("babi", 1)):
    """As much of a prepared file as a task needs to be made: questions of 3 tasks."""
    train = {
        "task": np.array([1, 1, 2, 2, 2, 5], np.int32),
        "num_facts": np.array([1, 4, 2, 2, 30, 3], np.int32),
        "question": np.zeros(6, np.int32),
        "answer": np.zeros(6, np.int32),
    }
    words = np.array([f"word_{i}" for i in range(vocabulary)], object)
    attributes = {"schema": schema[0], "version": schema[1], "notes": ""}
    shared = {"vocabulary": words, **TINY_SENTENCES}
    return PreparedData("tiny.h5", attributes, shared, {"train": train})


# Sentence i has the words i + 1 and 9.
TINY_SENTENCES = {
    "sentences/tokens": np.array([[i + 1, 9, 0] for i in range(7)], np.int32),
    "sentences/length": np.full(7, 2, np.int32),
}


def tiny_arrays(task, question, answer):
    """Tensors of questions of the file of `tiny_data`."""
    arrays = {**TINY_SENTENCES, "task": task, "question": question, "answer": answer}
    return {name: tf.constant(values) for name, values in arrays.items()}


def count_parameters(task):
    modules = task.encoder, task.network
    return sum(v.shape.num_elements() for module in modules for v in module.variables)


def make_batch(task, arrays, examples, seed=(3, 4), **options):
    """A batch sorted by size, as the input pipeline makes it, and its examples."""
    examples = np.array(examples, np.int32)
    examples = examples[np.argsort(task.sizes(arrays, examples), kind="stable")]
    random = ExampleRandom(seed, examples, task.num_examples(arrays))
    batch = task.make_batch(arrays, tf.constant(examples), random, training=True, **options)
    return batch, examples


# Parameters


def test_the_paper_model_has_exactly_441681_parameters(data):
    task = create_task(get_config().model, data)
    assert task.vocabulary_size == 177
    assert names_and_shapes(task.network) | names_and_shapes(task.encoder) == (
        PARAMETERS["network"] | PARAMETERS["encoder"]
    )
    assert count_parameters(task) == 441_681


def test_normal_embeddings_begin_with_standard_normal_weights():
    glorot, normal = (
        create_task(
            make_config(normal_embeddings=begin).model, tiny_data(177)
        ).encoder.embedding.table
        for begin in (False, True)
    )
    assert glorot.shape == normal.shape
    assert np.abs(glorot).max() <= (6 / (177 + 32)) ** 0.5 < 3 < np.abs(normal).max()
    assert np.std(normal) == pytest.approx(1, abs=0.05)
    assert np.mean(normal) == pytest.approx(0, abs=0.05)


@pytest.mark.parametrize("vocabulary", [2, 159, 177])
def test_parameters_by_size_of_vocabulary(vocabulary):
    def mlp(*sizes):
        return sum((i + 1) * o for i, o in itertools.pairwise(sizes))

    task = create_task(get_config().model, tiny_data(vocabulary))
    assert count_parameters(task) == (
        32 * vocabulary  # word embedding
        + 2 * (32 + 32 + 1) * 4 * 32  # LSTMs over words
        + mlp(32 + 40 + 32, 128, 128, 128, 128)  # input: fact, position, question
        + mlp(128 + 128 + 32, 128, 128, 128, 128)  # message: sender, receiver, question
        + mlp(128 + 128, 128, 128, 128, 128)  # node: messages, input
        + (128 + 128 + 1) * 4 * 128  # LSTM over steps
        + mlp(128, 128, 128, vocabulary)  # readout
    )


def test_regularized_are_the_kernels_of_the_dense_layers():
    task = make_task(tiny_data())
    names = {v.name.removesuffix(":0") for v in task.regularized()}
    kernels = {name for name in PARAMETERS["network"] if name.endswith("/w")}
    assert names == kernels - {"lstm/linear/w"}


def test_data_of_another_schema_is_refused():
    for schema in (("sudoku", 1), ("babi", 2)):
        with pytest.raises(ValueError, match=r"tiny\.h5: schema and version are .*needs"):
            create_task(make_config().model, tiny_data(schema=schema))


# Parts


def brute_force_cost(size_counts, boundaries, node_cost):
    smallest_that_fits = [next(b for b in boundaries if b >= n) for n in range(len(size_counts))]
    return sum(
        count * (b**2 + node_cost * b)
        for n, (count, b) in enumerate(zip(size_counts, smallest_that_fits, strict=True))
        if n > 0
    )


@pytest.mark.parametrize("num_parts", [1, 2, 3, 9])
@pytest.mark.parametrize("node_cost", [0, 7])
@pytest.mark.parametrize(
    "size_counts", [[0, 5], [0, 5, 0, 1, 9, 2, 1], [0, 1, 1, 1, 1, 1], [0, 0, 8, 0, 0, 3]]
)
def test_part_boundaries_are_the_cheapest_of_all(size_counts, num_parts, node_cost):
    boundaries = part_boundaries(size_counts, num_parts, node_cost)
    max_size = len(size_counts) - 1
    assert list(boundaries) == sorted(set(boundaries)) and boundaries[-1] == max_size
    assert len(boundaries) <= num_parts
    choices = [
        (*inner, max_size)
        for count in range(num_parts)
        for inner in itertools.combinations(range(1, max_size), count)
    ]
    cheapest = min(brute_force_cost(size_counts, choice, node_cost) for choice in choices)
    assert brute_force_cost(size_counts, boundaries, node_cost) == pytest.approx(cheapest)


def test_part_boundaries_by_hand():
    # 10 graphs of size 1 and one of size 3: in one part 11 * 9 = 99 edges, in two 10 * 1 + 9 = 19.
    assert part_boundaries([0, 10, 0, 1], 1, node_cost=0) == (3,)
    assert part_boundaries([0, 10, 0, 1], 2, node_cost=0) == (1, 3)


# Batches


def spell(tree):
    """The words of every sentence of a prefix tree."""
    beginnings = [[(word,) for word in tree["words"][0].numpy()]]
    for words, parents in zip(tree["words"][1:], tree["parents"], strict=True):
        pairs = zip(words.numpy(), parents.numpy(), strict=True)
        beginnings.append([(*beginnings[-1][parent], word) for word, parent in pairs])
    flat = list(itertools.chain(*beginnings))
    return [flat[end] for end in tree["ends"].numpy()]


@pytest.mark.parametrize(
    ("split", "most", "options"),
    [
        ("train", 20, {}),
        ("test", 20, {}),
        ("train", 9, {"max_facts": 9}),
        ("train", 20, {"max_facts": 50}),
    ],
)
def test_a_batch_holds_the_last_facts_of_every_question_in_order(data, split, most, options):
    task, arrays, raw = make_task(data), data.arrays(split), data.splits[split]
    tokens, lengths = data.shared["sentences/tokens"], data.shared["sentences/length"]

    def words(sentence):
        return tuple(tokens[sentence, : lengths[sentence]])

    random = np.random.default_rng(0)
    long = np.flatnonzero(raw["num_facts"] > most)
    drawn = random.choice(len(raw["task"]), 150, replace=False)
    drawn = [*drawn, *random.choice(long, 20)]
    batch, examples = make_batch(task, arrays, drawn, **options)

    facts, questions = spell(batch["facts"]), spell(batch["questions"])
    assert len(set(facts)) == len(facts) and len(set(questions)) == len(questions)
    masks = [mask.numpy() for mask in batch["masks"]]
    assert [mask.shape[1] for mask in masks] == task.batches.boundaries(most)
    assert sum(len(mask) for mask in masks) == len(examples)
    fact_of_node = batch["fact_of_node"].numpy()
    position_of_node = batch["position_of_node"].numpy()
    assert len(fact_of_node) == len(position_of_node) == sum(mask.size for mask in masks)

    node, offsets = 0, []
    for example, mask in zip(examples, itertools.chain(*masks), strict=True):
        real = node + np.flatnonzero(mask)
        node += len(mask)
        start = raw["story_start"][raw["story"][example]]
        told = raw["facts"][start : start + raw["num_facts"][example]]
        expected = [words(fact) for fact in told[-most:]]
        assert [facts[fact] for fact in fact_of_node[real]] == expected
        positions = position_of_node[real]
        np.testing.assert_array_equal(positions - positions[0], np.arange(len(expected)))
        offsets.append(positions[0])
    assert min(offsets) >= 0 and max(offsets) <= 19
    assert len(set(offsets)) > 15  # of 20, in 170 draws
    asked = [questions[row] for row in batch["question"].numpy()]
    assert asked == [words(raw["question"][example]) for example in examples]
    np.testing.assert_array_equal(batch["answer"], raw["answer"][examples])
    np.testing.assert_array_equal(batch["task"], raw["task"][examples])


def test_offsets_reach_from_0_to_19():
    task = make_task(tiny_data())
    arrays = {
        "task": [1],
        "num_facts": [2],
        "story": [0],
        "story_start": [0, 2],
        "facts": [0, 1],
        "question": [2],
        "answer": [4],
        "sentences/tokens": [[1, 2], [1, 3], [4, 0]],
        "sentences/length": [2, 2, 1],
    }
    arrays = {name: tf.constant(value) for name, value in arrays.items()}
    for draw, first in ((np.float32(0), 0), (np.nextafter(np.float32(1), np.float32(0)), 19)):
        random = SimpleNamespace(uniform=lambda shape, draw=draw: tf.fill([1, *shape], draw))
        batch = task.make_batch(arrays, tf.constant([0]), random, training=True)
        assert batch["position_of_node"].numpy()[:2].tolist() == [first, first + 1]


def test_draws_are_uniform_over_tasks_and_over_a_tasks_questions(data):
    task, raw = make_task(data), data.splits["train"]
    drawn = task.draw_examples(data.arrays("train"), [5, 6], 40_000).numpy()
    assert drawn.min() >= 0 and drawn.max() < len(raw["task"])
    counts = np.bincount(raw["task"][drawn], minlength=21)[1:]
    chi_square = ((counts - 2000) ** 2 / 2000).sum()
    assert chi_square < 50.8  # 19 degrees of freedom, p = 1e-4
    for number in (1, 3, 20):
        questions = np.flatnonzero(raw["task"] == number)
        places = np.searchsorted(questions, drawn[raw["task"][drawn] == number])
        tenths = np.bincount(places * 10 // len(questions), minlength=10)
        expected = tenths.sum() / 10
        assert ((tenths - expected) ** 2 / expected).sum() < 33.7  # 9 degrees, p = 1e-4


# Model


def logits_by_example(task, arrays, examples):
    batch, examples = make_batch(task, arrays, examples)
    logits = task.logits(task.encode(batch), batch, None)[0].numpy()
    return dict(zip(examples.tolist(), logits, strict=True))


def varied_examples(data):
    """Questions of the test split of many numbers of facts, without repetition."""
    random = np.random.default_rng(1)
    return random.choice(len(data.splits["test"]["task"]), 40, replace=False)


@pytest.fixture(scope="module")
def some_logits(data, arrays):
    task, examples = make_task(data), varied_examples(data)
    randomize_all(task)
    return task, examples, logits_by_example(task, arrays, examples)


def randomize_all(task):
    for seed, module in enumerate((task.encoder, task.network)):
        randomize(module, seed)


def test_logits_have_a_row_for_every_step(some_logits):
    _, examples, logits = some_logits
    assert len(logits) == len(examples)
    assert all(row.shape == (3, 177) for row in logits.values())


@pytest.mark.parametrize("size", [1, 2, 17])
def test_logits_do_not_depend_on_the_other_questions_of_the_batch(some_logits, arrays, size):
    task, examples, expected = some_logits
    for example, row in logits_by_example(task, arrays, examples[:size]).items():
        assert_close(row, expected[example])


@pytest.mark.parametrize("num_parts", [1, 8])
def test_logits_do_not_depend_on_the_number_of_parts(some_logits, data, arrays, num_parts):
    task, examples, expected = some_logits
    other = make_task(data, num_parts=num_parts)
    randomize_all(other)
    assert len(other.batches.boundaries(20)) == num_parts != len(task.batches.boundaries(20))
    for example, row in logits_by_example(other, arrays, examples).items():
        assert_close(row, expected[example])


def test_loss_is_the_mean_cross_entropy_over_steps(some_logits, arrays):
    task, examples, logits = some_logits
    batch, examples = make_batch(task, arrays, examples)
    losses_by_name, outputs = task.loss(task.encode(batch), batch, None, False)
    rows = np.stack([logits[example] for example in examples]).astype(np.float64)
    probabilities = np.exp(rows - rows.max(-1, keepdims=True))
    probabilities /= probabilities.sum(-1, keepdims=True)
    answers = batch["answer"].numpy()
    losses = -np.log(probabilities[np.arange(len(examples)), :, answers])
    assert_close(outputs["probabilities"], probabilities, 1e-4)
    assert_close(outputs["loss"], losses, 1e-4)
    assert_close(losses_by_name["loss"], losses.mean(axis=1), 1e-4)


def test_fewer_steps_are_the_first_ones(some_logits, arrays):
    task, examples, logits = some_logits
    batch, examples = make_batch(task, arrays, examples)
    _, outputs = task.loss(task.encode(batch), batch, None, False, num_steps=1)
    assert outputs["loss"].shape == [len(examples), 1]
    first = np.stack([logits[example][:1] for example in examples])
    assert_close(outputs["probabilities"], tf.nn.softmax(first), 1e-4)


def test_readout_dropout_needs_the_examples_random_alone(some_logits, arrays):
    """In training too, an example's logits do not depend on the other questions."""
    task, examples, without = some_logits

    def dropped(examples):
        batch, examples = make_batch(task, arrays, examples)
        random = ExampleRandom([7, 8], examples, task.num_examples(arrays))
        logits, _ = task.logits(task.encode(batch), batch, random)
        return dict(zip(examples.tolist(), logits, strict=True))

    many, few = dropped(examples), dropped(examples[:5])
    for example, row in few.items():
        assert_close(row, many[example])
        assert np.abs(row.numpy() - without[example]).max() > 1e-3


# Results


def one_hot(predicted):
    return np.eye(5, dtype=np.float32)[np.array(predicted)]


def test_metrics_by_hand():
    task = make_task(tiny_data())
    batch = {"task": tf.constant([1, 1, 3, 20])}
    # Right by step: question 0 at both, 1 at the last alone, 2 at the first alone, 3 never.
    outputs = {"correct": tf.constant([[1.0, 1], [0, 1], [1, 0], [0, 0]])}
    metrics = {
        name: [part.numpy().tolist() for part in pair]
        for name, pair in task.metrics(batch, outputs).items()
    }
    by_task = {1: (2, 2), 3: (0, 1), 20: (0, 1)}
    assert metrics == {
        "accuracy": [2, 4],
        "accuracy_by_step": [[2, 2], 4],
        "accuracy_by_task": [
            [by_task.get(t, (0, 0))[0] for t in range(1, 21)],
            [by_task.get(t, (0, 0))[1] for t in range(1, 21)],
        ],
    }


def hand_made_results(task):
    # (task, questions, wrong at step 1, wrong at step 2): 5 % is solved, 5.26 % is not.
    plan = [(1, 40, 40, 2), (2, 20, 10, 1), (5, 19, 1, 1), (20, 10, 0, 5)]
    tasks = np.concatenate([[t] * n for t, n, _, _ in plan])
    predicted = np.concatenate(
        [[(1 + (i < first), 1 + (i < second)) for i in range(n)] for _, n, first, second in plan]
    )
    order = np.random.default_rng(0).permutation(len(tasks))
    arrays = tiny_arrays(tasks[order], *np.ones([2, len(tasks)], np.int32))
    losses = np.stack([np.full(len(tasks), 2.0), np.arange(len(tasks))], axis=1)
    outputs = {"probabilities": one_hot(predicted[order]), "loss": losses}
    return BabiReport(task).results(arrays, np.arange(len(tasks)), outputs)


def test_results_by_hand():
    results = hand_made_results(make_task(tiny_data()))
    by_step = {
        "error/task_01": [100, 5],
        "error/task_02": [50, 5],
        "error/task_05": [100 / 19, 100 / 19],
        "error/task_20": [0, 50],
        # the mean over tasks, not over questions
        "error/mean": [(150 + 100 / 19) / 4, (60 + 100 / 19) / 4],
        "tasks_failed": [3, 2],
        "loss": [2, 44],  # the mean of 0 ... 88
    }
    assert results.error == pytest.approx(by_step["error/mean"][-1])
    assert results.by_step.keys() == by_step.keys() == results.metrics.keys()
    for name, values in by_step.items():
        assert results.by_step[name] == pytest.approx(values)
        assert results.metrics[name] == pytest.approx(values[-1])


def test_questions_that_their_words_answer_are_a_group_of_their_own():
    # Of task 1 question 4 has one answer, 5 has two, 6 is too rare; of task 2 question 4 has two.
    asked = [(1, 4, 7)] * 20 + [(1, 5, 7)] * 19 + [(1, 5, 8), (1, 6, 7)]
    asked += [(2, 4, 7)] * 30 + [(2, 4, 9)]
    train = dict(zip(("task", "question", "answer"), np.array(asked).T, strict=True))
    data = tiny_data()
    data.splits["train"] = {**train, "num_facts": np.ones(len(asked), int)}
    task = make_task(data)
    arrays = tiny_arrays([1, 1, 1, 2, 2], [4, 5, 6, 4, 5], [1] * 5)
    assert task.groups(arrays).tolist() == [101, 1, 1, 2, 2]
    # In another file the sentences have other numbers.
    turned = {name: tf.reverse(arrays[name], [0]) for name in TINY_SENTENCES}
    elsewhere = {**arrays, **turned, "question": 6 - arrays["question"]}
    assert task.groups(elsewhere).tolist() == [101, 1, 1, 2, 2]
    predicted = one_hot([[2], [1], [2], [1], [1]])
    outputs = {"probabilities": predicted, "loss": np.zeros([5, 1])}
    results = BabiReport(task).results(arrays, np.arange(5), outputs)
    assert results.group_errors == {1: 50, 2: 0, 101: 100}
    assert results.group_sizes == {1: 2, 2: 2, 101: 1}
    names = [BabiReport(task).group_name(group) for group in (1, 101)]
    assert names[1] == f"{names[0]}, answered by the question alone"
    assert results.metrics["error/task_01"] == pytest.approx(200 / 3)
    assert len(BabiReport(task).table(results).rows) == 4  # by task, not by group


def test_the_real_questions_that_their_words_answer(data, arrays):
    tasks, groups = arrays["task"].numpy(), make_task(data).groups(arrays)
    assert set(groups - tasks) == {0, 100} and set(groups[groups > 100]) == {118, 120}
    words = data.shared["vocabulary"].tolist()
    tokens = data.shared["sentences/tokens"][arrays["question"].numpy()[groups == 118]]
    chocolates = [words.index("chocolate"), words.index("chocolates")]
    assert np.isin(tokens, chocolates).any(axis=1).all()
    assert 0.8 < np.mean(groups[tasks == 18] > 100) < 0.84


def test_an_unknown_word_is_never_a_right_answer():
    """Id 0 stands for every word that training does not have."""
    arrays = tiny_arrays([1, 1], [4, 4], [0, 3])
    outputs = {"probabilities": one_hot([[0], [3]]), "loss": np.zeros([2, 1])}
    results = BabiReport(make_task(tiny_data())).results(arrays, [0, 1], outputs)
    assert results.metrics["error/task_01"] == 50


def test_the_table_names_every_task_and_the_paper():
    task = make_task(tiny_data())
    arrays = tiny_arrays(np.arange(1, 21), *np.ones([2, 20], np.int32))
    right = one_hot([[1, 1]] * 19 + [[1, 3]])  # all but the last question's last step
    outputs = {"probabilities": right, "loss": np.zeros([20, 2])}
    results = BabiReport(task).results(arrays, np.arange(20), outputs)
    table = BabiReport(task).table(results)
    assert table.columns[1:3] == ("step 1", "step 2")
    for number, (row, name) in enumerate(zip(table.rows[:20], TASK_NAMES, strict=True), 1):
        assert row[0] == f"{number:2d} {name}"
        assert row[3] == ("solved" if number < 20 else "failed")
    assert table.rows[19][1:3] == ("0.0", "100.0")
    assert table.rows[20:] == [
        ("mean error", "0.00", "5.00", "", "0.46 ± 0.77"),
        ("tasks failed of 20", "0", "1", "", "0.13 ± 0.35"),
    ]


def test_the_figure_has_a_bar_for_every_task_and_step():
    task = make_task(tiny_data())
    figures = BabiReport(task).figures(hand_made_results(task))
    assert list(figures) == ["error_by_task"]
    assert isinstance(figures["error_by_task"], Figure)
    (axes,) = figures["error_by_task"].axes
    figures["error_by_task"].draw_without_rendering()
    heights = [[bar.get_height() for bar in bars] for bars in axes.containers[:2]]
    means = [(150 + 100 / 19) / 4, (60 + 100 / 19) / 4]
    bars = [[100, 50, 100 / 19, 0, means[0]], [5, 5, 100 / 19, 50, means[1]]]
    np.testing.assert_allclose(heights, bars)
    labels = [label.get_text() for label in axes.get_xticklabels()]
    assert labels == ["1", "2", "5", "20", "mean"]
    assert axes.get_ylabel() == "wrong answers, %"
    assert [[4, 0.46]] in [line.get_xydata().tolist() for line in axes.lines]  # the paper's
    assert axes.get_legend().get_window_extent().x0 >= axes.get_window_extent().x1
