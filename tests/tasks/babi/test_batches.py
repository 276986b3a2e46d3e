"""bAbI's batches against the prepared file."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
import tensorflow as tf

from rrn.tasks.babi.batches import bucket_boundaries, bucket_ends, distinct, last_facts, lay_out
from rrn.variables.random import ExampleRandom
from tests.compare import assert_close
from tests.helpers import small_babi
from tests.tasks.babi.questions import make_batch, make_task, spell, tiny_data


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


def test_the_last_facts_before_a_question():
    arrays = {"num_facts": [1, 4, 9], "story": [0, 0, 1], "story_start": [0, 6, 20]}
    arrays = {name: tf.constant(value) for name, value in arrays.items()}
    first, sizes = last_facts(arrays, tf.constant([0, 1, 2]), 3)
    assert (first.numpy().tolist(), sizes.numpy().tolist()) == ([0, 1, 12], [1, 3, 3])


def test_buckets_end_where_questions_become_longer_or_a_share_of_the_batch_before():
    sizes = tf.constant([1] * 5 + [2] * 8 + [4] * 3)
    assert bucket_ends(sizes, [1, 2, 4], None).numpy().tolist() == [5, 13, 16]
    assert bucket_ends(sizes, [1, 2, 4], 4).numpy().tolist() == [4, 12, 16]
    assert bucket_ends(sizes, [1, 2, 4], 64).numpy().tolist() == [5, 13, 16]  # a small batch


def test_every_question_of_a_bucket_has_as_many_nodes():
    masks, owners, places = lay_out(tf.constant([1, 1, 2]), [1, 3], tf.constant([1, 3]))
    assert [mask.numpy().tolist() for mask in masks] == [[[1]], [[1, 0, 0], [1, 1, 0]]]
    assert owners.numpy().tolist() == [0, 1, 1, 1, 2, 2, 2]
    assert places.numpy().tolist() == [0, 0, 1, 2, 0, 1, 2]


def test_distinct_sentences():
    for fixed_shapes, ids in ((False, [7, 5]), (True, [7, 5, 0])):
        found, position = distinct(tf.constant([7, 5, 7]), fixed_shapes)
        assert (found.numpy().tolist(), position.numpy().tolist()) == (ids, [0, 1, 0])


def test_few_shapes_occur_and_loss_and_gradients_are_those_without_rounding(
    small_babi_h5, monkeypatch
):
    _, data, task = small_babi(small_babi_h5, num_parts=3)
    arrays = data.arrays("train")
    variables = [*task.encoder.trainable_variables, *task.network.trainable_variables]

    def computed(examples):
        batch, examples = make_batch(task, arrays, examples)
        with tf.GradientTape() as tape:
            random = ExampleRandom((5, 6), examples, len(arrays["task"]))
            losses, _ = task.loss(task.encode(batch), batch, random, training=True)
        gradients = tape.gradient(losses["loss"], variables)
        return batch, [losses["loss"], *map(tf.convert_to_tensor, gradients)]

    drawn = [task.draw_examples(arrays, [5, seed], 160).numpy() for seed in range(6)]
    (batch, rounded), *others = (computed(examples) for examples in drawn)
    for tree in (batch["facts"], batch["questions"]):
        assert {len(words) % 64 for words in tree["words"]} == {0}
    masks = [mask for other, _ in [(batch, None), *others] for mask in other["masks"]]
    assert {len(mask) % 10 for mask in masks} == {0}
    monkeypatch.setattr("rrn.tasks.babi.batches.SHARES", None)
    monkeypatch.setattr("rrn.tasks.babi.batches.MULTIPLE", 1)
    batch, exact = computed(drawn[0])
    assert any(len(mask) % 10 for mask in batch["masks"])
    for one, other in zip(rounded, exact, strict=True):
        assert_close(one, other)


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


def brute_force_cost(size_counts, boundaries, node_cost):
    smallest_that_fits = [next(b for b in boundaries if b >= n) for n in range(len(size_counts))]
    return sum(
        count * (b**2 + node_cost * b)
        for n, (count, b) in enumerate(zip(size_counts, smallest_that_fits, strict=True))
        if n > 0
    )


@pytest.mark.parametrize("num_buckets", [1, 2, 3, 9])
@pytest.mark.parametrize("node_cost", [0, 7])
@pytest.mark.parametrize(
    "size_counts", [[0, 5], [0, 5, 0, 1, 9, 2, 1], [0, 1, 1, 1, 1, 1], [0, 0, 8, 0, 0, 3]]
)
def test_bucket_boundaries_are_the_cheapest_of_all(size_counts, num_buckets, node_cost):
    boundaries = bucket_boundaries(size_counts, num_buckets, node_cost)
    max_size = len(size_counts) - 1
    assert list(boundaries) == sorted(set(boundaries)) and boundaries[-1] == max_size
    assert len(boundaries) <= num_buckets
    choices = [
        (*inner, max_size)
        for count in range(num_buckets)
        for inner in itertools.combinations(range(1, max_size), count)
    ]
    cheapest = min(brute_force_cost(size_counts, choice, node_cost) for choice in choices)
    assert brute_force_cost(size_counts, boundaries, node_cost) == pytest.approx(cheapest)
