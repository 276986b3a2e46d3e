"""Batches of questions: which are drawn, the last facts of their stories in buckets, and words."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from rrn.distribute.devices import CPU
from rrn.files.data import PreparedData
from rrn.nn.sentences import padded, prefix_tree
from rrn.tasks.babi.augmentation import Augmentation
from rrn.tasks.babi.auxiliary import bags_of_words, content_words, find_topics
from rrn.tasks.babi.network import Model
from rrn.tasks.task import Arrays, Batch
from rrn.variables.random import ExampleRandom, Seed, uniform

NUM_TASKS = 20
# In training numbers of rows are rounded, so that few shapes occur; see `bucket_ends`.
SHARES, MULTIPLE = 16, 64  # of a batch, of the beginnings of sentences
ENOUGH = 20  # occurrences; fewer questions may have the same answer at random
ALONE = 100  # more than a task's number: the group of its questions that their words answer


class Batches:
    """Makes the task's batches; without a training split only those of other splits.

    Args:
      fact_shares: what `fact_shares` returned for the training split.

    Raises:
      ValueError: see `Augmentation`.
    """

    def __init__(self, config: Model, data: PreparedData, fact_shares: np.ndarray):
        self.config, self.fact_shares = config, fact_shares
        self.answered_alone = set()
        if "train" in data.splits:
            with tf.device(CPU):  # as arrays, each graph would hold a copy
                self._prepare_training(data.shared, data.splits["train"])

    def _prepare_training(self, shared, train):
        """Questions lie in order of task: those of tasks[t] from question_starts[t] on."""
        self.tasks, self.question_starts, self.question_counts = np.unique(
            train["task"], return_index=True, return_counts=True
        )
        questions, numbers = distinct_questions({**shared, **train})
        self.answered_alone = answered_alone(questions, numbers, train["answer"])
        if not (self.config.augment or self.config.auxiliary_loss):
            return
        story_tasks = np.zeros_like(train["story_start"])
        story_tasks[train["story"]] = train["task"]
        fact_counts = np.diff(train["story_start"], append=len(train["facts"]))
        fact_tasks = np.repeat(story_tasks, fact_counts)
        tokens, lengths = shared["sentences/tokens"], shared["sentences/length"]
        if self.config.augment:
            self.augmentation = Augmentation(shared, train, fact_tasks)
            tokens, lengths = self.augmentation.sentences()
        words = {"sentences/tokens": tokens, "sentences/length": lengths}
        self.training_sentences = tf.nest.map_structure(tf.constant, words)
        if self.config.auxiliary_loss:
            bags = bags_of_words(tokens, lengths, len(shared["vocabulary"]))
            content = content_words(bags, train["facts"], fact_tasks)
            self.topics = tf.constant(find_topics(tokens, lengths, content))
            self.content = tf.constant(bags * content)

    def draw(self, seed: Seed, batch_size: int) -> tf.Tensor:
        """Draws tasks uniformly, then a training question of the task uniformly, `[batch_size]`."""
        draws = uniform(seed, [2, batch_size], dtype=tf.float64)
        task = tf.cast(draws[0] * len(self.tasks), tf.int32)
        starts = tf.constant(self.question_starts, tf.int32)
        counts = tf.constant(self.question_counts, tf.float64)
        question = tf.cast(draws[1] * tf.gather(counts, task), tf.int32)
        return tf.gather(starts, task) + question

    def groups(self, arrays: Arrays) -> np.ndarray:
        """Numbers a question's group as its task; one that its words answer, `ALONE` higher.

        Four in five questions of task 18 are answered by their words. If all of its questions were
        one group, these would hide that the answers which need the story are wrong.
        """
        known = {name: array.numpy() for name, array in arrays.items()}
        questions, numbers = distinct_questions(known)
        alone = np.array([question in self.answered_alone for question in questions])
        return known["task"] + ALONE * alone[numbers]

    def make(
        self,
        arrays: Arrays,
        examples: tf.Tensor,
        random: ExampleRandom,
        training: bool,
        augment_below: int | None,
        max_facts: int,
        fixed_shapes: bool,
    ) -> Batch:
        """Makes a batch; see `rrn.tasks.babi.task.Babi.make_batch`."""
        first_fact, sizes = last_facts(arrays, examples, max_facts)
        largest, ends = [max_facts], None  # XLA compiles again for other shapes
        if not fixed_shapes:
            largest = self.boundaries(max_facts)
            ends = bucket_ends(sizes, largest, SHARES if training else None)
        masks, owners, positions = lay_out(sizes, largest, ends)
        inside = tf.concat([tf.reshape(mask, [-1]) for mask in masks], 0) > 0.0
        facts = tf.where(inside, tf.gather(first_fact, owners) + positions, 0)
        facts = tf.gather(arrays["facts"], facts)
        offset = tf.cast(random.uniform([]) * self.config.max_facts, tf.int32)
        question, answer, task = (
            tf.gather(arrays[name], examples) for name in ("question", "answer", "task")
        )
        words: Mapping[str, Any] = arrays
        if training and self.config.augment and augment_below != 0:
            permuted = self._has_fewer_questions(task, augment_below)
            facts, question, answer = self.augmentation.permute(
                random, task, facts, owners, question, answer, permuted
            )
            words = self.training_sentences
        facts, fact_of_node = distinct(facts, fixed_shapes)
        questions, question = distinct(question, fixed_shapes)
        auxiliary = {}
        if training and self.config.auxiliary_loss:
            auxiliary = {
                "topics": tf.gather(self.topics, facts),
                "content": tf.gather(self.content, facts),
            }
        rows = {"fixed_shapes": fixed_shapes, "multiple": MULTIPLE if training else 1}
        return {
            **auxiliary,
            "facts": prefix_tree(*sentence_words(words, facts), **rows),
            "questions": prefix_tree(*sentence_words(words, questions), **rows),
            "fact_of_node": fact_of_node,
            "position_of_node": positions + tf.gather(offset, owners),
            "question": question,
            "masks": masks,
            "answer": answer,
            "task": task,
        }

    def boundaries(self, max_facts: int) -> list[int]:
        """Finds the largest number of facts in each bucket, with at most `max_facts` of a story."""
        shares = self.fact_shares
        counts = np.bincount(np.minimum(np.arange(len(shares)), max_facts), shares, max_facts + 1)
        return list(bucket_boundaries(counts, self.config.num_parts))

    def _has_fewer_questions(self, tasks, number):
        """Whether each of tasks `[n]` has fewer training questions than `number`; True if None."""
        counts = np.zeros(NUM_TASKS + 1, np.int32)
        counts[self.tasks] = self.question_counts
        return tf.gather(counts < (number or np.inf), tf.cast(tasks, tf.int32))


# The steps of a batch, of questions that are sorted by the number of their facts


def last_facts(arrays: Arrays, examples: tf.Tensor, max_facts: int) -> tuple[tf.Tensor, tf.Tensor]:
    """Finds the last facts before each question: (the first of them, their number) `[examples]`."""
    before = tf.gather(arrays["num_facts"], examples)
    sizes = tf.minimum(before, max_facts)
    story_start = tf.gather(arrays["story_start"], tf.gather(arrays["story"], examples))
    return story_start + before - sizes, sizes


def bucket_ends(sizes: tf.Tensor, largest: Sequence[int], shares: int | None) -> tf.Tensor:
    """Finds where each bucket ends among the questions, integers `[buckets]`.

    TensorFlow's CPU kernels keep memory for every shape that they have met, and are slow at each
    new one. So a bucket may end early, at a multiple of a share of the batch: then few shapes
    occur. The questions that do not fit are padded to the next bucket's size.

    Args:
      sizes: the questions' numbers of facts, ascending `[examples]`.
      largest: for each bucket the largest number of facts, ascending.
      shares: into how many shares the batch is divided; None: buckets do not end early.
    """
    ends = tf.searchsorted(sizes, largest, side="right")
    if shares is None:
        return ends
    share = tf.maximum(tf.size(sizes) // shares, 1)
    return tf.concat([ends[:-1] // share * share, ends[-1:]], 0)


def lay_out(
    sizes: tf.Tensor, largest: Sequence[int], ends: tf.Tensor | None
) -> tuple[tuple[tf.Tensor, ...], tf.Tensor, tf.Tensor]:
    """Gives every question of a bucket as many nodes as the bucket's largest has.

    Args:
      ends: where each bucket ends among the questions; None for a single bucket.

    Returns:
      (each bucket's mask `[questions, nodes of each]`, each node's question `[nodes]`, its position
      among the question's nodes `[nodes]`).
    """
    questions, number = tf.range(tf.size(sizes)), len(largest)
    counts = [tf.size(sizes)] if ends is None else tf.concat([ends[:1], ends[1:] - ends[:-1]], 0)
    buckets = zip(
        largest,
        tf.split(questions, counts, num=number),
        tf.split(sizes, counts, num=number),
        strict=True,
    )
    masks, owners, positions = [], [], []
    for largest_size, own, own_sizes in buckets:
        position = tf.range(largest_size)[None]
        masks.append(tf.cast(position < own_sizes[:, None], tf.float32))
        owners.append(tf.reshape(own[:, None] + tf.zeros_like(position), [-1]))
        positions.append(tf.reshape(tf.zeros_like(own)[:, None] + position, [-1]))
    return tuple(masks), tf.concat(owners, 0), tf.concat(positions, 0)  # a list would be stacked


def distinct(sentences: tf.Tensor, fixed_shapes: bool) -> tuple[tf.Tensor, tf.Tensor]:
    """Finds the distinct of ids `[n]`, padded to n with fixed shapes, and the indices in them."""
    ids, position = tf.unique(sentences)
    return (padded(ids, tf.size(sentences)) if fixed_shapes else ids), position


def sentence_words(arrays: Mapping[str, Any], sentences: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Looks up the words `[n, length]` of sentences, and their numbers of words `[n]`."""
    tokens, lengths = arrays["sentences/tokens"], arrays["sentences/length"]
    return tf.gather(tokens, sentences), tf.gather(lengths, sentences)


# What is counted of the training split


def bucket_boundaries(
    size_counts: Sequence[float] | np.ndarray, num_buckets: int, node_cost: int = 7
) -> tuple[int, ...]:
    """Finds the largest sizes, ascending, of the buckets that make the padding cheapest.

    A graph of size n in a bucket of size b costs b² + node_cost * b. The unit is one edge. A node
    costs about 7: its projections, node MLP and LSTM against the two middle layers of the message
    MLP.

    Args:
      size_counts: the expected number of graphs of each size, `[max_size + 1]`.
    """
    max_size = len(size_counts) - 1
    # largest size covered so far -> (cost, boundaries)
    best: dict[int, tuple[float, tuple[int, ...]]] = {0: (0.0, ())}
    for _ in range(min(num_buckets, max_size)):
        longer = dict(best)
        for start, (cost, boundaries) in best.items():
            graphs = 0.0
            for end in range(start + 1, max_size + 1):
                graphs += size_counts[end]
                candidate = cost + graphs * (end**2 + node_cost * end)
                if end not in longer or candidate < longer[end][0]:
                    longer[end] = candidate, (*boundaries, end)
        best = longer
    return best[max_size][1]


def fact_shares(train: Mapping[str, np.ndarray]) -> np.ndarray:
    """Counts the questions expected of each number of facts, if one of each task is drawn."""
    tasks, counts = np.unique(train["task"], return_counts=True)
    share = 1.0 / counts[np.searchsorted(tasks, train["task"])]
    return np.bincount(train["num_facts"], weights=share)


def distinct_questions(arrays: Mapping[str, np.ndarray]) -> tuple[list[tuple], np.ndarray]:
    """Finds the questions of a split that differ by their task or their words.

    Returns:
      (a task's number and the words' ids of each distinct question, which are the same in every
      file with this vocabulary; each example's index in this list `[examples]`).
    """
    tokens, lengths = arrays["sentences/tokens"], arrays["sentences/length"]
    keys = arrays["task"].astype(np.int64) * len(tokens) + arrays["question"]
    keys, numbers = np.unique(keys, return_inverse=True)
    pairs = (divmod(key, len(tokens)) for key in keys.tolist())
    return [(t, *tokens[q, : lengths[q]].tolist()) for t, q in pairs], numbers


def answered_alone(questions: Sequence[tuple], numbers: np.ndarray, answers: np.ndarray) -> set:
    """Finds the `distinct_questions` that occur at least `ENOUGH` times, always with one answer."""
    answer_of = np.zeros(len(questions), answers.dtype)
    answer_of[numbers] = answers
    others = np.bincount(numbers, answers != answer_of[numbers], minlength=len(questions))
    alone = (others == 0) & (np.bincount(numbers, minlength=len(questions)) >= ENOUGH)
    return {questions[i] for i in np.flatnonzero(alone).tolist()}
