"""Small bAbI tasks for tests, and their batches."""

import itertools

import numpy as np
import tensorflow as tf

from configs.babi import get_config
from rrn.config import replace
from rrn.files.data import PreparedData
from rrn.tasks import create_task
from rrn.variables.random import ExampleRandom


def make_config(**model):
    return replace(get_config("test"), model=model)


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


def make_batch(task, arrays, examples, seed=(3, 4), **options):
    """A batch sorted by size, as the input pipeline makes it, and its examples."""
    examples = np.array(examples, np.int32)
    examples = examples[np.argsort(task.sizes(arrays, examples), kind="stable")]
    random = ExampleRandom(seed, examples, task.num_examples(arrays))
    batch = task.make_batch(arrays, tf.constant(examples), random, training=True, **options)
    return batch, examples


def spell(tree):
    """The words of every sentence of a prefix tree."""
    beginnings = [[(word,) for word in tree["words"][0].numpy()]]
    for words, parents in zip(tree["words"][1:], tree["parents"], strict=True):
        pairs = zip(words.numpy(), parents.numpy(), strict=True)
        beginnings.append([(*beginnings[-1][parent], word) for word, parent in pairs])
    flat = list(itertools.chain(*beginnings))
    return [flat[end] for end in tree["ends"].numpy()]
