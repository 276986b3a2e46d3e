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


class Part(NamedTuple):
    """Things that may be permuted.

    Attributes:
      forms: the phrases that name the things, `[forms][things]`.
      turns: the permutations, `[turns, things]`: the thing that replaces each one.
    """

    forms: tuple[tuple[str, ...], ...]
    turns: np.ndarray


def exchange(*forms: str) -> Part:
    """Makes a part with all permutations; a form has a phrase for each thing."""
    phrases = tuple(tuple(form.split(", ")) for form in forms)
    return Part(phrases, np.array(list(itertools.permutations(range(len(phrases[0]))))))


def turn(*forms: str) -> Part:
    """Makes a part of the four directions, clockwise: four rotations, each also mirrored."""
    places = np.arange(4)
    turns = [(sign * places + shift) % 4 for sign in (1, -1) for shift in range(4)]
    return Part(tuple(tuple(form.split(", ")) for form in forms), np.array(turns))


PEOPLE = exchange("daniel, john, mary, sandra")
MEN, WOMEN = exchange("daniel, john"), exchange("mary, sandra")  # "he" and "she" stay right
ROOMS = exchange("bathroom, bedroom, garden, hallway, kitchen, office")
THINGS = exchange("apple, football, milk")
COMPASS = turn("north, east, south, west", "n, e, s, w")
TOWN = (
    exchange("bill, fred, julie, mary"),
    exchange("bedroom, cinema, kitchen, office, park, school"),
)
# The parts of each task.
TASK_PARTS = {
    **dict.fromkeys((1, 2, 3, 6, 7, 8, 9, 12, 13), (PEOPLE, ROOMS, THINGS)),
    **dict.fromkeys((4, 19), (ROOMS, COMPASS)),
    5: (exchange("bill, fred, jeff, mary"), ROOMS, THINGS),
    **dict.fromkeys((10, 14), TOWN),
    11: (MEN, WOMEN, ROOMS),
    15: (
        exchange("emily, gertrude, jessica, winona"),
        exchange(
            "mouse, cat, wolf, sheep",
            "a mouse, a cat, a wolf, a sheep",
            "mice are, cats are, wolves are, sheep are",
            "of mice, of cats, of wolves, of sheep",
        ),
    ),
    16: (
        exchange("bernhard, brian, greg, julius, lily"),
        exchange("frog, lion, rhino, swan"),
        exchange("gray, green, white, yellow"),
    ),
    17: (
        exchange("red sphere, red square, pink rectangle, blue square, yellow square, triangle"),
        turn("above, to the right of, below, to the left of"),
    ),
    18: (
        # Chocolate and the box of chocolates are always the smallest; the others' order is drawn.
        exchange("box, chest, container, suitcase"),
        exchange("box of chocolates"),  # is no box
    ),
    20: (exchange("antoine, jason, sumit, yann"),),
}
PARTS = tuple({id(part): part for parts in TASK_PARTS.values() for part in parts}.values())
MOST_THINGS = max(part.turns.shape[1] for part in PARTS)


class Name(NamedTuple):
    """A phrase that may be exchanged: the numbers of its part in `PARTS`, form and thing."""

    part: int
    form: int
    thing: int


@functools.cache
def names_of_task(task: int) -> dict[tuple[str, ...], Name]:
    """Lists the phrases of a task that may be exchanged: their words -> what they name."""
    return {
        tuple(phrase.split()): Name(number, form, thing)
        for number, part in enumerate(PARTS)
        if any(part is own for own in TASK_PARTS[task])
        for form, phrases in enumerate(part.forms)
        for thing, phrase in enumerate(phrases)
    }


def read(words: Sequence[str], task: int) -> list[str | Name]:
    """Splits a sentence of a task into names and other words; the longest phrase is read first."""
    names, found, place = names_of_task(task), [], 0
    while place < len(words):
        phrases = (tuple(words[place : place + length]) for length in (4, 3, 2, 1))
        phrase = next((phrase for phrase in phrases if phrase in names), None)
        found.append(names[phrase] if phrase else words[place])
        place += len(phrase or words[place : place + 1])
    return found


def exchanged(names: Sequence[Name]) -> list[tuple[int, ...]]:
    """Lists the things that may together replace some names, for each way to permute them."""
    ways = [{}]
    for part in {name.part for name in names}:
        gaps = [gap for gap, name in enumerate(names) if name.part == part]
        turned = {tuple(turn[names[gap].thing] for gap in gaps) for turn in PARTS[part].turns}
        ways = [{**way, **dict(zip(gaps, t, strict=True))} for way in ways for t in turned]
    return [tuple(way[gap] for gap in range(len(names))) for way in ways]


class Texts:
    """Sentences, tuples of words, and those that they become with other names.

    A sentence is a template with gaps, in which names stand. All that may become of the sentences
    is added to `sentences`.

    Args:
      tasks: the tasks in which each sentence occurs.

    Attributes:
      template_of: `[tasks + 1, sentences]`, the number of each one's template, by task.
      names_of: `[tasks + 1, sentences, gaps, 2]`, the part and the thing of each one's names.
      sentence_of: `[templates, things, ..., things]` with an axis for each gap, the number of the
        sentence with these things in the gaps. An axis that a template does not need has any thing.
    """

    def __init__(self, sentences: Sequence[tuple[str, ...]], tasks: Sequence[Sequence[int]]):
        self.sentences = list(sentences)
        self._numbers = {words: number for number, words in enumerate(sentences)}
        found = {(t, n): read(sentences[n], t) for n, own in enumerate(tasks) for t in own}
        names = {at: [w for w in f if isinstance(w, Name)] for at, f in found.items()}
        gaps, shape = max([1, *map(len, names.values())]), (max(TASK_PARTS) + 1, len(sentences))
        self.template_of = np.zeros(shape, np.int32)
        self.names_of = np.zeros([*shape, gaps, 2], np.int32)
        tables = {}  # template -> its number, and its row of `sentence_of`; -1: not known yet
        for at, words in found.items():
            template = at[0], *(w._replace(thing=0) if isinstance(w, Name) else w for w in words)
            new = len(tables), np.full([MOST_THINGS] * gaps, -1, np.int32)
            self.template_of[at], row = tables.setdefault(template, new)
            for gap, name in enumerate(names[at]):
                self.names_of[(*at, gap)] = name.part, name.thing
            if np.any(row[tuple(name.thing for name in names[at])] < 0):
                for things in exchanged(names[at]):
                    row[things] = self._number(words, things)
        # What never occurs, as the sentences of padding, becomes sentence 0.
        self.sentence_of = np.maximum([row for _, row in tables.values()], 0)

    def _number(self, words, things):
        """The number of the sentence with these things in its gaps; a new one is added."""
        rest = iter(things)
        phrases = [
            PARTS[word.part].forms[word.form][next(rest)] if isinstance(word, Name) else word
            for word in words
        ]
        sentence = tuple(" ".join(phrases).split())
        if sentence not in self._numbers:
            self._numbers[sentence] = len(self.sentences)
            self.sentences.append(sentence)
        return self._numbers[sentence]

    def relabelled(self, numbers: tf.Tensor, tasks: tf.Tensor, things: tf.Tensor) -> tf.Tensor:
        """Permutes the names of sentences `[n]` of tasks `[n]`; returns others, int32 `[n]`.

        Args:
          things: the thing that replaces each one, from `draw_things`, `[n, parts, things]`.
        """
        at = tf.stack([tf.cast(tasks, tf.int32), tf.cast(numbers, tf.int32)], axis=1)
        gaps = tf.gather_nd(things, tf.gather_nd(self.names_of, at), batch_dims=1)
        template = tf.gather_nd(self.template_of, at)
        return tf.gather_nd(self.sentence_of, tf.concat([template[:, None], gaps], axis=1))


class Relabelling:
    """The relabelling of the training questions of a data set.

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
        if used - set(words):
            raise ValueError(
                f"model.augment: {', '.join(sorted(used - set(words)))} would come into the "
                "training stories, which never have them; take more stories, or augment=False"
            )
        numbers = {word: number for number, word in enumerate(words)}
        self._tokens = [[numbers[word] for word in s] for s in self._sentences.sentences]

    def sentences(self) -> tuple[np.ndarray, np.ndarray]:
        """Lists all sentences that training may have.

        They are (their words' ids `[sentences, length]`, their numbers of words `[sentences]`).
        """
        lengths = np.array([len(row) for row in self._tokens])
        tokens = np.zeros([len(lengths), lengths.max()], np.int32)
        tokens[np.arange(tokens.shape[1]) < lengths[:, None]] = np.concatenate(self._tokens)
        return tokens, lengths

    def relabel(
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
        things = draw_things(random)
        known = self._answers.relabelled(answers, tasks, things) < self._num_words
        things = tf.where((chosen & known)[:, None, None], things, tf.range(MOST_THINGS))
        told = tf.gather(tasks, owners), tf.gather(things, owners)
        return (
            self._sentences.relabelled(facts, *told),
            self._sentences.relabelled(questions, tasks, things),
            self._answers.relabelled(answers, tasks, things),
        )


def _tasks_of(texts, tasks, number):
    """The tasks in which each of so many texts occurs, lists of integers."""
    occurs = np.zeros([max(TASK_PARTS) + 1, number], bool)
    occurs[tasks, texts] = True
    return [np.flatnonzero(column).tolist() for column in occurs.T]


def draw_things(random: ExampleRandom) -> tf.Tensor:
    """Draws the thing that replaces each one, integers `[examples, parts, MOST_THINGS]`."""
    draws = random.uniform([len(PARTS)], SALT)
    things = []
    for part, draw in zip(PARTS, tf.unstack(draws, axis=1), strict=True):
        turns = tf.constant(part.turns, tf.int32)
        drawn = tf.gather(turns, tf.cast(draw * len(part.turns), tf.int32))
        things.append(tf.pad(drawn, [[0, 0], [0, MOST_THINGS - part.turns.shape[1]]]))
    return tf.stack(things, axis=1)
