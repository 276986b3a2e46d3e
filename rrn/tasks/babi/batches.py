"""Batches of questions: which are drawn, the last facts of their stories, in parts, and words."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from rrn.files.data import PreparedData
from rrn.nn.sentences import padded, prefix_tree
from rrn.tasks.babi.augmentation import Relabelling
from rrn.tasks.babi.auxiliary import bags_of_words, content_words, find_topics
from rrn.tasks.babi.network import Model
from rrn.tasks.babi.parts import part_boundaries
from rrn.tasks.babi.questions import answered_alone, distinct_questions
from rrn.tasks.task import Arrays, Batch
from rrn.variables.random import ExampleRandom, uniform

NUM_TASKS = 20
ALONE = 100  # more than a task's number: the group of its questions that their words answer


class Batches:
    """Makes the task's batches, of what it takes from the training split.

    Without a training split it knows no tasks, and makes batches of other splits alone.

    Args:
      fact_shares: what `rrn.tasks.babi.parts.fact_shares` returned for the training split.

    Raises:
      ValueError: a word comes into the training stories that the vocabulary does not have.
    """

    def __init__(self, config: Model, data: PreparedData, fact_shares: np.ndarray):
        self.config, self.fact_shares = config, fact_shares
        self.vocabulary_size = len(data.shared["vocabulary"])
        self.answered_alone = set()
        if "train" in data.splits:
            self._prepare_training(data.shared, data.splits["train"])

    def _prepare_training(self, shared, train):
        """Questions lie in order of task: those of tasks[t] from question_starts[t] on."""
        self.tasks, self.question_starts, self.question_counts = np.unique(
            train["task"], return_index=True, return_counts=True
        )
        questions, places = distinct_questions({**shared, **train})
        self.answered_alone = answered_alone(questions, places, train["answer"])
        if self.config.auxiliary_loss or self.config.augment:
            self._prepare_sentences(shared, train)

    def _prepare_sentences(self, shared, train):
        """What is done with the words of the training sentences, told and asked."""
        story_tasks = np.zeros_like(train["story_start"])
        story_tasks[train["story"]] = train["task"]
        fact_counts = np.diff(train["story_start"], append=len(train["facts"]))
        fact_tasks = np.repeat(story_tasks, fact_counts)
        tokens, lengths = shared["sentences/tokens"], shared["sentences/length"]
        if self.config.augment:
            self.relabelling = Relabelling(shared, train, fact_tasks)
            tokens, lengths = self.relabelling.sentences()
        self.training_sentences = {"sentences/tokens": tokens, "sentences/length": lengths}
        if self.config.auxiliary_loss:
            self._find_content_words(tokens, lengths, train["facts"], fact_tasks)

    def _find_content_words(self, tokens, lengths, facts, fact_tasks):
        """Sets the sentences' topics `[sentences, 2]` and content words `[sentences, words]`."""
        content = np.zeros(self.vocabulary_size, bool)
        found = content_words(tokens, lengths, facts, fact_tasks)
        content[: len(found)] = found
        self.topics = find_topics(tokens, lengths, content)
        self.content = bags_of_words(tokens, lengths, self.vocabulary_size) * content

    def draw(self, seed: tf.Tensor, batch_size: int) -> tf.Tensor:
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
        questions, places = distinct_questions(known)
        alone = np.array([question in self.answered_alone for question in questions])
        return known["task"] + ALONE * alone[places]

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
        masks, facts, owners, positions = self._nodes(
            arrays, examples, random, max_facts, fixed_shapes
        )
        question, answer, task = (
            tf.gather(arrays[name], examples) for name in ("question", "answer", "task")
        )
        words: Mapping[str, Any] = arrays
        if training and self.config.augment and augment_below != 0:
            exchanged = self._has_fewer_questions(task, augment_below)
            facts, question, answer = self.relabelling.relabel(
                random, task, facts, owners, question, answer, exchanged
            )
            words = self.training_sentences
        nodes = tf.size(facts)
        facts, fact_of_node = tf.unique(facts)
        questions, question = tf.unique(question)
        if fixed_shapes:
            facts, questions = padded(facts, nodes), padded(questions, tf.size(question))
        told_of = {}
        if training and self.config.auxiliary_loss:
            told_of = {
                "topics": tf.gather(self.topics, facts),
                "content": tf.gather(self.content, facts),
            }
        return {
            **told_of,
            "facts": self.sentences(words, facts, fixed_shapes),
            "questions": self.sentences(words, questions, fixed_shapes),
            "fact_of_node": fact_of_node,
            "position_of_node": positions,
            "question": question,
            "masks": masks,
            "answer": answer,
            "task": task,
        }

    def _nodes(self, arrays, examples, random, max_facts, fixed_shapes):
        """The last facts of the questions' stories, in parts.

        Returns:
          (masks, each node's sentence id `[nodes]`, its question's row in the batch `[nodes]`, its
          position `[nodes]`).
        """
        told = tf.gather(arrays["num_facts"], examples)
        sizes = tf.minimum(told, max_facts)
        story = tf.gather(arrays["story"], examples)
        first_fact = tf.gather(arrays["story_start"], story) + told - sizes
        offset = tf.cast(random.uniform([]) * self.config.max_facts, tf.int32)

        boundaries, ends = self._parts(sizes, max_facts, fixed_shapes)
        masks, fact_ids, owners, positions = [], [], [], []
        for part, part_size in enumerate(boundaries):
            rows = slice(ends[part - 1] if part else 0, ends[part])
            place = tf.range(part_size)[None]
            mask = place < sizes[rows, None]
            index = tf.where(mask, first_fact[rows, None] + place, 0)
            masks.append(tf.cast(mask, tf.float32))
            fact_ids.append(tf.reshape(tf.gather(arrays["facts"], index), [-1]))
            owners.append(tf.repeat(tf.range(tf.size(sizes))[rows], part_size))
            positions.append(tf.reshape(place + offset[rows, None], [-1]))
        by_node = (tf.concat(values, 0) for values in (fact_ids, owners, positions))
        return tuple(masks), *by_node  # tf.data would stack a list of masks

    def _parts(self, sizes, max_facts, fixed_shapes):
        """The largest size in each part, and each part's end among the sorted examples.

        With fixed shapes there is one part: on a GPU padding takes less time than compiling anew.
        """
        if fixed_shapes:
            return [max_facts], [sizes.shape[0]]
        boundaries = self.boundaries(max_facts)
        return boundaries, tf.searchsorted(sizes, boundaries, side="right")

    def boundaries(self, max_facts: int) -> list[int]:
        """Finds the largest size in each part of a batch with at most so many facts of a story."""
        shares = self.fact_shares
        counts = np.bincount(np.minimum(np.arange(len(shares)), max_facts), shares, max_facts + 1)
        return list(part_boundaries(counts, self.config.num_parts))

    def _has_fewer_questions(self, tasks, number):
        """Whether each of tasks `[n]` has fewer training questions than `number`; True if None."""
        counts = np.zeros(NUM_TASKS + 1, np.int32)
        counts[self.tasks] = self.question_counts
        return tf.gather(counts < (number or np.inf), tf.cast(tasks, tf.int32))

    def sentences(
        self, arrays: Mapping[str, Any], sentences: tf.Tensor, fixed_shapes: bool
    ) -> dict[str, Any]:
        """Makes the `rrn.prefix_tree` of sentences with these ids, whose words the arrays have."""
        tokens, lengths = arrays["sentences/tokens"], arrays["sentences/length"]
        chosen = tf.gather(tokens, sentences), tf.gather(lengths, sentences)
        return prefix_tree(*chosen, fixed_shapes=fixed_shapes)
