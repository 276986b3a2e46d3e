"""Augmentation: names are permuted in training stories, which stay as true as they were.

"Mary went to the garden. Where is Mary?" teaches the same as "John went to the kitchen. Where is
John?". So in each question that is drawn, people's names are permuted, rooms', and so on, alike in
facts, question and answer; the map of tasks 4, 17 and 19 is rotated or reflected. Which phrases are
of one kind is knowledge about the tasks, written down here. No supporting fact is used, and
evaluation changes nothing.
"""

import functools
import itertools
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from rrn.variables.random import ExampleRandom

SALT = 3  # of the draws


class Kind(NamedTuple):
    """Things of one kind, which may be permuted.

    Attributes:
      forms: the phrases that name the things, `[forms][things]`.
      permutations: `[permutations, things]`: the thing that replaces each one.
    """

    forms: tuple[tuple[str, ...], ...]
    permutations: np.ndarray


def things(*forms: str) -> Kind:
    """Makes a kind with all permutations; a form has a phrase for each thing."""
    phrases = tuple(tuple(form.split(", ")) for form in forms)
    return Kind(phrases, np.array(list(itertools.permutations(range(len(phrases[0]))))))


def directions(*forms: str) -> Kind:
    """Makes a kind of the four directions, clockwise: four rotations, each also reflected."""
    angles = np.arange(4)
    permutations = [(sign * angles + shift) % 4 for sign in (1, -1) for shift in range(4)]
    return Kind(things(*forms).forms, np.array(permutations))


PEOPLE = things("daniel, john, mary, sandra")
MEN, WOMEN = things("daniel, john"), things("mary, sandra")  # "he" and "she" stay right
ROOMS = things("bathroom, bedroom, garden, hallway, kitchen, office")
OBJECTS = things("apple, football, milk")
COMPASS = directions("north, east, south, west", "n, e, s, w")
TOWN = things("bill, fred, julie, mary"), things("bedroom, cinema, kitchen, office, park, school")
TASK_KINDS = {
    **dict.fromkeys((1, 2, 3, 6, 7, 8, 9, 12, 13), (PEOPLE, ROOMS, OBJECTS)),
    **dict.fromkeys((4, 19), (ROOMS, COMPASS)),
    5: (things("bill, fred, jeff, mary"), ROOMS, OBJECTS),
    **dict.fromkeys((10, 14), TOWN),
    11: (MEN, WOMEN, ROOMS),
    15: (
        things("emily, gertrude, jessica, winona"),
        things(
            "mouse, cat, wolf, sheep",
            "a mouse, a cat, a wolf, a sheep",
            "mice are, cats are, wolves are, sheep are",
            "of mice, of cats, of wolves, of sheep",
        ),
    ),
    16: (
        things("bernhard, brian, greg, julius, lily"),
        things("frog, lion, rhino, swan"),
        things("gray, green, white, yellow"),
    ),
    17: (
        things("red sphere, red square, pink rectangle, blue square, yellow square, triangle"),
        directions("above, to the right of, below, to the left of"),
    ),
    18: (
        # Chocolate and the box of chocolates are always the smallest; the others' order is drawn.
        things("box, chest, container, suitcase"),
        things("box of chocolates"),  # is no box
    ),
    20: (things("antoine, jason, sumit, yann"),),
}
KINDS = tuple({id(kind): kind for kinds in TASK_KINDS.values() for kind in kinds}.values())
MOST_THINGS = max(kind.permutations.shape[1] for kind in KINDS)
# Those of all kinds one after the other, padded with zeros: `[permutations, MOST_THINGS]`
PERMUTATIONS = np.concatenate(
    [np.pad(p, [(0, 0), (0, MOST_THINGS - p.shape[1])]) for _, p in KINDS]
).astype(np.int32)


class Name(NamedTuple):
    """A phrase that may be permuted: the numbers of its kind in `KINDS`, form and thing."""

    kind: int
    form: int
    thing: int


@functools.cache
def names_of_task(task: int) -> dict[tuple[str, ...], Name]:
    """Lists the phrases of a task that may be permuted: their words -> what they name."""
    return {
        tuple(phrase.split()): Name(number, form, thing)
        for number, kind in enumerate(KINDS)
        if any(kind is own for own in TASK_KINDS[task])
        for form, phrases in enumerate(kind.forms)
        for thing, phrase in enumerate(phrases)
    }


def read(words: Sequence[str], task: int) -> list[str | Name]:
    """Splits a sentence of a task into names and other words; the longest phrase is read first."""
    names, found, start = names_of_task(task), [], 0
    while start < len(words):
        phrases = (tuple(words[start : start + length]) for length in (4, 3, 2, 1))
        phrase = next((phrase for phrase in phrases if phrase in names), None)
        found.append(names[phrase] if phrase else words[start])
        start += len(phrase or words[start : start + 1])
    return found


@functools.cache
def _replacements(kind: int, things: tuple[int, ...]) -> set[tuple[int, ...]]:
    """What some things of a kind may become together."""
    return {tuple(row) for row in KINDS[kind].permutations[:, things].tolist()}


def permuted(names: Sequence[Name]) -> list[tuple[int, ...]]:
    """Lists the things that may together replace some names, for each way to permute them."""
    ways = [{}]
    for kind in {name.kind for name in names}:
        gaps = [gap for gap, name in enumerate(names) if name.kind == kind]
        own = _replacements(kind, tuple(names[gap].thing for gap in gaps))
        ways = [{**way, **dict(zip(gaps, new, strict=True))} for way in ways for new in own]
    return [tuple(way[gap] for gap in range(len(names))) for way in ways]


class Texts:
    """Sentences, tuples of words, and those that they become with other names.

    A sentence is a template with gaps, in which names stand. All that may become of the sentences
    is added to `sentences`.

    Args:
      tasks: the tasks in which each sentence occurs.

    Attributes:
      template_of: `[tasks + 1, sentences]`, the number of each one's template, by task.
      names_of: `[tasks + 1, sentences, gaps, 2]`, the kind and the thing of each one's names.
      sentence_of: `[templates, things, ..., things]` with an axis for each gap, the number of the
        sentence with these things in the gaps. An axis that a template does not need has any thing.
    """

    def __init__(self, sentences: Sequence[tuple[str, ...]], tasks: Sequence[Sequence[int]]):
        self.sentences = list(sentences)
        self._numbers = {words: number for number, words in enumerate(sentences)}
        found = {(t, n): read(sentences[n], t) for n, own in enumerate(tasks) for t in own}
        names = {at: [w for w in f if isinstance(w, Name)] for at, f in found.items()}
        gaps, shape = max([1, *map(len, names.values())]), (max(TASK_KINDS) + 1, len(sentences))
        template_of = np.zeros(shape, np.int32)
        names_of = np.zeros([*shape, gaps, 2], np.int32)
        tables = {}  # template -> its number, and its row of `sentence_of`; -1: not known yet
        for at, words in found.items():
            template = at[0], *(w._replace(thing=0) if isinstance(w, Name) else w for w in words)
            new = len(tables), np.full([MOST_THINGS] * gaps, -1, np.int32)
            template_of[at], row = tables.setdefault(template, new)
            for gap, name in enumerate(names[at]):
                names_of[(*at, gap)] = name.kind, name.thing
            if np.any(row[tuple(name.thing for name in names[at])] < 0):
                for new in permuted(names[at]):
                    row[new] = self._number(words, new)
        # What never occurs, as the sentences of padding, becomes sentence 0.
        self.sentence_of = tf.constant(np.maximum([row for _, row in tables.values()], 0))
        self.template_of, self.names_of = tf.constant(template_of), tf.constant(names_of)

    def _number(self, words, new):
        """The number of the sentence with new things in its gaps, which is added if it is new."""
        rest = iter(new)
        phrases = [
            KINDS[word.kind].forms[word.form][next(rest)] if isinstance(word, Name) else word
            for word in words
        ]
        sentence = tuple(" ".join(phrases).split())
        if sentence not in self._numbers:
            self._numbers[sentence] = len(self.sentences)
            self.sentences.append(sentence)
        return self._numbers[sentence]

    def permute(self, numbers: tf.Tensor, tasks: tf.Tensor, new: tf.Tensor) -> tf.Tensor:
        """Permutes the names of sentences `[n]` of tasks `[n]`; returns others, int32 `[n]`.

        Args:
          new: the thing that replaces each one, from `draw_things`, `[n, kinds, things]`.
        """
        at = tf.stack([tf.cast(tasks, tf.int32), tf.cast(numbers, tf.int32)], axis=1)
        kinds, own = tf.unstack(tf.gather_nd(self.names_of, at), axis=-1)
        # By one index: with `batch_dims` it would take many operations.
        index = tf.range(tf.size(numbers))[:, None] * len(KINDS) + kinds
        gaps = tf.gather(tf.reshape(new, [-1]), index * MOST_THINGS + own)
        template = tf.gather_nd(self.template_of, at)
        return tf.gather_nd(self.sentence_of, tf.concat([template[:, None], gaps], axis=1))


class Augmentation:
    """The augmentation of the training questions of a data set.

    Args:
      fact_tasks: the task that each of its facts is of.

    Raises:
      ValueError: a phrase has a word that is not in the vocabulary.
    """

    def __init__(
        self,
        shared: Mapping[str, np.ndarray],
        train: Mapping[str, np.ndarray],
        fact_tasks: np.ndarray,
    ):
        words = shared["vocabulary"].tolist()
        rows = zip(shared["sentences/tokens"], shared["sentences/length"], strict=True)
        sentences = [tuple(words[i] for i in row[:length]) for row, length in rows]
        texts = np.append(train["facts"], train["question"])
        tasks = _tasks_of(texts, np.append(fact_tasks, train["task"]), len(sentences))
        self._sentences = Texts(sentences, tasks)
        lists = [tuple(word.split(",")) for word in words]  # "milk,apple" is one word, "e,n" too
        self._answers = Texts(lists, _tasks_of(train["answer"], train["task"], len(words)))
        self._num_words = len(words)
        used = {word for sentence in self._sentences.sentences for word in sentence}
        if unknown := used - set(words):
            raise ValueError(
                f"model.augment: {', '.join(sorted(unknown))} would come into the training "
                "stories, which never have them; take more stories, or augment=False"
            )
        numbers = {word: number for number, word in enumerate(words)}
        self._tokens = [[numbers[word] for word in s] for s in self._sentences.sentences]

    def sentences(self) -> tuple[np.ndarray, np.ndarray]:
        """Lists the words' ids `[sentences, length]` and lengths of all sentences of training."""
        lengths = np.array([len(row) for row in self._tokens])
        tokens = np.zeros([len(lengths), lengths.max()], np.int32)
        tokens[np.arange(tokens.shape[1]) < lengths[:, None]] = np.concatenate(self._tokens)
        return tokens, lengths

    def permute(
        self,
        random: ExampleRandom,
        tasks: tf.Tensor,
        facts: tf.Tensor,
        owners: tf.Tensor,
        questions: tf.Tensor,
        answers: tf.Tensor,
        chosen: tf.Tensor,
    ) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """Permutes names, alike in all that belongs to a question: (facts, questions, answers).

        A question keeps its names if its answer would become a list of things that the vocabulary
        does not have.

        Args:
          tasks, questions, answers: of every example, `[examples]`.
          facts, owners: the nodes' sentences and their examples, `[nodes]`.
          chosen: the examples in which names are permuted, bool `[examples]`.
        """
        new = draw_things(random)
        known = self._answers.permute(answers, tasks, new) < self._num_words
        new = tf.where((chosen & known)[:, None, None], new, tf.range(MOST_THINGS))
        return (
            self._sentences.permute(facts, tf.gather(tasks, owners), tf.gather(new, owners)),
            self._sentences.permute(questions, tasks, new),
            self._answers.permute(answers, tasks, new),
        )


def _tasks_of(texts, tasks, number):
    """The tasks in which each of `number` texts occurs, lists of integers."""
    occurs = np.zeros([max(TASK_KINDS) + 1, number], bool)
    occurs[tasks, texts] = True
    return [np.flatnonzero(column).tolist() for column in occurs.T]


def draw_things(random: ExampleRandom) -> tf.Tensor:
    """Draws the thing that replaces each one, integers `[examples, kinds, MOST_THINGS]`."""
    counts = np.array([len(kind.permutations) for kind in KINDS])
    drawn = tf.cast(random.uniform([len(KINDS)], SALT) * counts.astype(np.float32), tf.int32)
    return tf.gather(PERMUTATIONS, drawn + (np.cumsum(counts) - counts).astype(np.int32))
