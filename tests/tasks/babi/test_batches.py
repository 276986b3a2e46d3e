"""bAbI's batches against the prepared file."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
import tensorflow as tf

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
