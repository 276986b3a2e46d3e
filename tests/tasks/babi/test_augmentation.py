"""bAbI's augmentation: what comes of a story is as true as the story, by an independent reader."""

import itertools

import numpy as np
import pytest
import tensorflow as tf

from rrn.files.data import read_prepared
from rrn.tasks.babi.augmentation import KINDS, TASK_KINDS, Name, permuted, read
from rrn.variables.random import ExampleRandom
from tests.data_prep.babi.answerer import answer
from tests.tasks.babi.questions import make_task, spell, tiny_data

COPIES = 4  # of each question
# Names that have their capitals in the middle of a sentence, too.
NAMES = {
    *("daniel", "john", "mary", "sandra", "bill", "fred", "jeff", "julie"),
    *("bernhard", "brian", "greg", "julius", "lily"),
}


def cased(sentence):
    """A sentence with its capitals, which the prepared data have not."""
    first, *rest = sentence.split()
    return " ".join([first.capitalize(), *(w.capitalize() if w in NAMES else w for w in rest)])


def agrees(task, facts, question, expected):
    """Whether an independent reader finds the answer that is expected."""
    found = answer(task, [f"{cased(fact)}." for fact in facts], f"{cased(question)}?")
    return found is not None and found.lower() == expected


@pytest.fixture(scope="module")
def data(simulated_babi_h5):
    return read_prepared(simulated_babi_h5)


def create(data, **model):
    return make_task(data, max_facts=512, num_parts=1, **model)


def texts_of(data, split, examples, augment_below=None, **model):
    """Each example's task, facts, question and answer, as `make_batch` makes them in training."""
    task, arrays = create(data, **model), data.arrays(split)
    examples = np.sort(examples)
    examples = examples[np.argsort(task.sizes(arrays, examples), kind="stable")]
    random = ExampleRandom((3, 4), np.arange(len(examples)), len(examples))
    examples = tf.constant(examples, tf.int32)
    batch = task.make_batch(arrays, examples, random, training=True, augment_below=augment_below)
    words = data.shared["vocabulary"]
    told, asked = (
        [" ".join(words[i] for i in sentence) for sentence in spell(batch[name])]
        for name in ("facts", "questions")
    )
    rows = np.reshape(batch["fact_of_node"], batch["masks"][0].shape)
    stories = [
        [told[fact] for fact in row[mask > 0]]
        for row, mask in zip(rows, batch["masks"][0].numpy(), strict=True)
    ]
    answers = [words[i] for i in batch["answer"].numpy()]
    tasks = batch["task"].numpy().tolist()
    return list(zip(tasks, stories, [asked[q] for q in batch["question"]], answers, strict=True))


def some_examples(data, tasks):
    """40 of each task's questions."""
    task_of = data.splits["train"]["task"]
    return np.concatenate([np.flatnonzero(task_of == task)[:40] for task in tasks])


@pytest.mark.parametrize("tasks", [range(1, 6), range(6, 11), range(11, 16), range(16, 21)])
def test_an_independent_reader_agrees_with_the_answers_of_permuted_stories(data, tasks):
    examples = np.repeat(some_examples(data, tasks), COPIES)
    told = texts_of(data, "train", examples, augment=False)
    made = texts_of(data, "train", examples, augment=True)
    for task in tasks:
        before, after = ([story for story in way if story[0] == task] for way in (told, made))
        assert len(before) == len(after) == 40 * COPIES
        checked = [agrees(*story) for story in before]
        assert np.mean(checked) > 0.9, task  # some of task 5's questions have two right answers
        for story in itertools.compress(after, checked):
            assert agrees(*story), story
        changed = np.mean([old != new for old, new in zip(before, after, strict=True)])
        assert changed > 0.6, task


def test_every_task_has_its_kinds_and_a_permutation_is_one_to_one():
    assert sorted(TASK_KINDS) == list(range(1, 21))
    for kind in KINDS:
        things = range(kind.permutations.shape[1])
        assert all(len(phrases) == len(things) for phrases in kind.forms)
        assert all(sorted(row) == list(things) for row in kind.permutations.tolist())
        assert len(np.unique(kind.permutations, axis=0)) == len(kind.permutations)


def names_in(sentence, task):
    return [word for word in read(sentence.split(), task) if isinstance(word, Name)]


def test_the_longest_phrase_is_read_first():
    sentence = "is the red square to the left of the triangle"
    names = names_in(sentence, 17)
    rest = [word for word in read(sentence.split(), 17) if isinstance(word, str)]
    assert rest == ["is", "the", "the"]
    assert [KINDS[n.kind].forms[n.form][n.thing] for n in names] == [
        "red square",
        "to the left of",
        "triangle",
    ]
    (chocolates, chest) = names_in("the box of chocolates fits inside the chest", 18)
    assert {way[0] for way in permuted([chocolates, chest])} == {0}


def test_names_of_one_kind_are_permuted_together():
    names = names_in("the office is north of the garden", 4)
    rooms, north = len(KINDS[names[0].kind].forms[0]), 1
    ways = permuted(names)
    assert len(set(ways)) == len(ways) == rooms * (rooms - 1) * 4
    assert all(way[0] != way[2] for way in ways)
    path = names_in("n e", 19)
    assert len(permuted(path)) == 8
    assert all((a - b) % 2 == north for a, b in permuted(path))  # a corner stays a corner


def test_a_stage_may_keep_the_names_of_tasks_with_many_questions(data):
    tasks, counts = np.unique(data.splits["train"]["task"], return_counts=True)
    fewest = counts.min()
    assert np.any(counts > fewest)
    examples = some_examples(data, tasks)
    told = texts_of(data, "train", examples, augment=False)
    made = texts_of(data, "train", examples, augment_below=int(fewest) + 1, augment=True)
    all_permuted = texts_of(data, "train", examples, augment=True)
    few = set(tasks[counts == fewest].tolist())
    for old, new, permuted_ in zip(told, made, all_permuted, strict=True):
        assert new == (permuted_ if new[0] in few else old)
    assert made != told


def test_evaluation_changes_nothing(data):
    task, arrays = create(data, augment=True), data.arrays("test")
    examples = tf.constant([0])
    random = ExampleRandom((3, 4), tf.constant([0]))
    batch = task.make_batch(arrays, examples, random, training=False)
    assert batch["answer"].numpy() == data.splits["test"]["answer"][0]


def test_a_question_keeps_its_names_if_its_answer_would_be_no_word():
    texts = ["mary got the apple", "mary got the milk", "what is mary carrying"]
    names = [name for kind in TASK_KINDS[8] for form in kind.forms for name in form]
    words = sorted({*" ".join([*texts, *names]).split(), "apple,milk"})
    words = np.array(["<unk>", *words], object)
    number = {word: i for i, word in enumerate(words)}
    shared = {
        "vocabulary": words,
        "sentences/tokens": np.array([[number[w] for w in t.split()] for t in texts], np.int32),
        "sentences/length": np.array([4, 4, 4], np.int32),
    }
    train = {
        "task": [8],
        "num_facts": [2],
        "facts": [0, 1],
        "question": [2],
        "answer": [number["apple,milk"]],
        "story": [0],
        "story_start": [0],
    }
    train = {name: np.array(values, np.int32) for name, values in train.items()}
    data = tiny_data()
    data = data.__class__("tiny.h5", data.attributes, shared, {"train": train})
    made = texts_of(data, "train", np.zeros(200, int), augment=True)
    assert {answer for *_, answer in made} == {"apple,milk"}
    things = {tuple(fact.split()[-1] for fact in facts) for _, facts, *_ in made}
    assert things == {("apple", "milk")}
    assert len({question for _, _, question, _ in made}) == 4  # people whose names are permuted


def test_words_that_the_stories_have_not_are_named():
    data = tiny_data()
    small = {
        "vocabulary": np.array(["<unk>", "mary", "moved", "garden"], object),
        "sentences/tokens": np.array([[1, 2]]),
        "sentences/length": np.array([2]),
    }
    train = {name: np.array([0]) for name in ("facts", "question", "story", "story_start")}
    train |= {"task": np.array([1]), "num_facts": np.array([1]), "answer": np.array([3])}
    data = data.__class__("tiny.h5", data.attributes, small, {"train": train})
    with pytest.raises(ValueError, match=r"model\.augment: .*john.* would come into"):
        create(data, augment=True)
