"""bAbI's second loss: words of the other facts about a fact's topics."""

import numpy as np
import pytest
import tensorflow as tf

from rrn.tasks.babi.auxiliary import (
    auxiliary_loss,
    bags_of_words,
    content_words,
    find_topics,
    some_facts,
    topic_labels,
)
from rrn.tasks.inputs import training_inputs
from rrn.variables.random import ExampleRandom
from tests.compare import assert_close
from tests.helpers import small_babi

WORDS = ["<unk>", "lily", "greg", "is", "a", "swan", "frog", "white", "green"]
SENTENCES = ["lily is a swan", "greg is a frog", "lily is white", "greg is green", "is a", "a frog"]


def tokens_of(sentences):
    """(tokens `[sentences, 4]`, lengths `[sentences]`)."""
    ids = [[WORDS.index(word) for word in sentence.split()] for sentence in sentences]
    tokens = np.array([row + [0] * (4 - len(row)) for row in ids])
    return tokens, np.array([len(row) for row in ids])


def test_content_words_are_rare_in_the_facts_that_have_them():
    tokens, lengths = tokens_of(SENTENCES)
    facts = np.array([0, 1, 2, 3] * 2 + [0, 2, 2])  # the first eight of task 1, the others of 2
    bags = bags_of_words(tokens, lengths, len(WORDS))
    content = content_words(bags, facts, np.array([1] * 8 + [2] * 3))
    # Shares of facts by task: lily 1/2 and 1, greg 1/2, is 1 and 1, a 1/2 and 1/3, swan 1/4 and
    # 1/3, frog 1/4, white 1/4 and 2/3, green 1/4.
    assert [w for w, c in zip(WORDS, content, strict=True) if c] == ["swan", "frog", "green"]


def test_topics_are_the_first_and_the_last_content_word():
    tokens, lengths = tokens_of(SENTENCES)
    content = np.array([w not in ("<unk>", "is", "a") for w in WORDS])
    found = find_topics(tokens, lengths, content)
    assert [[WORDS[t] for t in row if t >= 0] for row in found] == [
        ["lily", "swan"],
        ["greg", "frog"],
        ["lily", "white"],
        ["greg", "green"],
        [],
        ["frog", "frog"],
    ]
    bags = bags_of_words(tokens, lengths, len(WORDS))
    assert [WORDS[w] for w in np.flatnonzero(bags[2])] == ["lily", "is", "white"]
    assert bags.sum(axis=1).tolist() == [4, 4, 3, 3, 2, 2]


def labels_by_loops(story, content):
    """For each fact the content words of the other facts that mention one of its topics."""
    facts = [[WORDS.index(w) for w in fact.split() if content[WORDS.index(w)]] for fact in story]
    labels = np.zeros([len(story), len(WORDS)])
    for i, fact in enumerate(facts):
        own = {fact[0], fact[-1]} if fact else set()
        for j, other in enumerate(facts):
            if i != j and own & set(other):
                labels[i, list(set(other) - own)] = 1
    return labels


def test_labels_are_those_of_a_plain_loop():
    content = np.array([w not in ("<unk>", "is", "a") for w in WORDS])
    stories = [SENTENCES[:4], ["lily is a swan", "greg is white", "greg is lily", "is a"]]
    about, words = [], []
    for story in stories:
        tokens, lengths = tokens_of(story)
        about.append(find_topics(tokens, lengths, content))
        words.append(bags_of_words(tokens, lengths, len(WORDS)) * content)
    about, words = tf.constant(np.array(about)), tf.constant(np.array(words), tf.float32)
    labels = topic_labels(about, words, tf.ones([2, 4])).numpy()
    for story, rows in zip(stories, labels, strict=True):
        np.testing.assert_array_equal(rows, labels_by_loops(story, content))
    masked = topic_labels(about, words, tf.constant([[1.0, 1, 0, 0], [1, 0, 1, 0]])).numpy()
    assert not masked[0, :2].any()  # the two facts that are left have nothing in common
    assert [WORDS[w] for w in np.flatnonzero(masked[1, 0])] == ["greg"]
    assert [WORDS[w] for w in np.flatnonzero(masked[1, 2])] == ["swan"]


def test_the_loss_is_the_mean_over_real_facts_and_steps():
    rng = np.random.default_rng(0)
    logits = rng.normal(size=[2, 3, 2, 4]).astype(np.float32)
    labels = (rng.random([2, 3, 4]) < 0.5).astype(np.float32)
    mask = np.array([[1, 1, 0], [1, 1, 1]], np.float32)
    right = 1 / (1 + np.exp(-np.where(labels[:, :, None] == 1, logits, -logits)))
    by_fact = -np.log(right).sum(axis=3).mean(axis=2)
    expected = [by_fact[0, :2].mean(), by_fact[1].mean()]
    assert_close(
        auxiliary_loss(tf.constant(logits), tf.constant(labels), tf.constant(mask)), expected
    )


@pytest.fixture(scope="module")
def small_task(babi_h5):
    _, data, task = small_babi(babi_h5, auxiliary_loss=0.5)
    arrays = data.arrays("train")
    return task, arrays, next(iter(training_inputs(task, arrays, 16, 1, 0, 0)[0]))


def losses(task, batch, **options):
    random = ExampleRandom(batch["seed"], batch["rows"], 16)
    return task.loss(task.encode(batch), batch, random, True, **options)


def test_the_loss_in_training_is_the_sum_of_both(small_task):
    task, _, batch = small_task
    both, outputs = losses(task, batch)
    answer = outputs["loss"].numpy().mean(axis=1)
    assert_close(both["loss"], answer + 0.5 * both["auxiliary"])
    in_evaluation, _ = task.loss(task.encode(batch), batch, None, False)
    assert in_evaluation.keys() == {"loss"}


@pytest.mark.parametrize("num_facts", [1, 3, 6])
def test_few_facts_are_some_of_each_story_and_padding_is_none(small_task, num_facts):
    task, arrays, batch = small_task
    random = ExampleRandom(batch["seed"], batch["rows"], 16)
    some = some_facts(batch, random.uniform([task.config.max_facts]), num_facts)
    (mask,) = some["masks"]
    assert mask.shape == [16, num_facts]
    sizes = task.sizes(arrays, batch["examples"]).numpy()
    np.testing.assert_array_equal(mask.numpy().sum(axis=1), np.minimum(sizes, num_facts))
    all_nodes, first = [], 0
    for part in batch["masks"]:
        for row in part.numpy():
            nodes = first + np.flatnonzero(row)
            all_nodes.append(set(zip(*(batch[n].numpy()[nodes] for n in NODES), strict=True)))
            first += len(row)
    chosen = [some[n].numpy().reshape(16, num_facts) for n in NODES]
    for row, there, own in zip(range(16), mask.numpy() > 0, all_nodes, strict=True):
        pairs = list(zip(*(part[row][there] for part in chosen), strict=True))
        assert set(pairs) <= own and len(set(pairs)) == len(pairs)


NODES = "fact_of_node", "position_of_node"


def test_without_it_the_loss_in_training_is_the_answers_alone(small_task):
    task, _, batch = small_task
    alone, outputs = losses(task, batch, auxiliary=False)
    assert alone.keys() == {"loss"} and "auxiliary" not in outputs
    assert_close(alone["loss"], outputs["loss"].numpy().mean(axis=1))
    assert "auxiliary_by_task" not in task.metrics(batch, outputs)


def test_the_auxiliary_loss_trains_encoders_and_network_but_not_the_answer(small_task):
    task, _, batch = small_task
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(losses(task, batch, auxiliary_facts=3)[0]["auxiliary"])
    modules = task.encoder.facts, task.network.rrn.message_fn, task.network.node_readout
    reached = [v for module in modules for v in module.trainable_variables]
    answer = task.network.readout.trainable_variables
    gradients = tape.gradient(loss, [*reached, *answer])
    assert all(g is not None for g in gradients[: len(reached)])
    assert all(g is None for g in gradients[len(reached) :])
