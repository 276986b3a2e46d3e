"""Rumours: who hears what person 0 has heard?

People are nodes, and whoever tells sends to whoever is told. A person's only feature is whether
they are person 0. At every step a linear layer reads from each person's state whether they hear the
rumour.
"""

from typing import ClassVar

import tensorflow as tf

from rrn import Linear, RecurrentRelationalNetwork, SparseGraph
from rrn.config import ModelSettings, Size, Steps
from rrn.tasks import Report, Task, results_by_step

SCHEMAS = (("rumours", 1),)  # of the prepared file
PEOPLE = 16


class Model(ModelSettings):
    """The model's settings; all models have a `compute_dtype`."""

    TASK: ClassVar = "rumours"

    hidden_size: Size = 32
    num_steps: Steps = 8


class RumoursNetwork(tf.Module):
    """The network over people, and the readout of each."""

    def __init__(self, config):
        super().__init__(name="network")
        self.rrn = RecurrentRelationalNetwork(
            input_size=1,
            hidden_size=config.hidden_size,
            num_hidden_layers=1,
            compute_dtype=config.compute_dtype,
        )
        self.readout = Linear(config.hidden_size, 2, name="readout")


class Rumours(Task):
    """The task of rumours; see `rrn.tasks.Task` for what each method is for."""

    def __init__(self, config):
        super().__init__(config, RumoursNetwork(config))

    def num_examples(self, arrays):
        return len(arrays["heard"])

    def make_batch(self, arrays, examples, random, training):
        """Takes "teller", "listener" `[examples, 24]`, who has "heard" it `[examples, 16]`."""
        return {name: tf.gather(array, examples) for name, array in arrays.items()}

    def loss(self, encodings, batch, random, training):
        """Cross-entropy, its mean over people and steps; outputs: "loss" and "right" by step."""
        logits = self.logits(batch["teller"], batch["listener"])
        heard = tf.repeat(batch["heard"][:, :, None], self.config.num_steps, axis=2)
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(heard, logits)
        losses = tf.reduce_mean(losses, axis=1)
        right = tf.cast(tf.argmax(logits, -1, tf.int32) == heard, tf.float32)
        outputs = {"loss": losses, "right": tf.reduce_mean(right, axis=1)}
        return {"loss": tf.reduce_mean(losses, axis=1)}, outputs

    def logits(self, teller, listener):
        """The logits of not hearing and of hearing, `[examples, 16, steps, 2]`."""
        groups = tf.shape(teller)[0]
        first = PEOPLE * tf.range(groups)[:, None]  # their persons 0: all groups are one graph
        senders, receivers = (tf.reshape(first + people, [-1]) for people in (teller, listener))
        graph = SparseGraph(senders, receivers, num_nodes=PEOPLE * groups)
        features = tf.reshape(tf.tile(tf.one_hot([0], PEOPLE), [groups, 1]), [-1, 1])
        hidden = self.network.rrn(graph, features, self.config.num_steps)
        logits = tf.stack([self.network.readout(h) for h in hidden], axis=1)
        return tf.reshape(logits, [-1, PEOPLE, self.config.num_steps, 2])

    def metrics(self, batch, outputs):
        """Computes "right", the share of people for whom the last step is right."""
        right = outputs["right"][:, -1]
        return {"right": (tf.reduce_sum(right), tf.cast(tf.size(right), tf.float32))}


class RumoursReport(Report):
    """What the program says of a model; see `rrn.tasks.Report` for what each method is for."""

    def results(self, arrays, examples, outputs):
        """Computes "right", in percent of the people, and "loss"; the error is what is wrong."""
        right = 100.0 * outputs["right"].mean(axis=0)
        by_step = {"right": right, "loss": outputs["loss"].mean(axis=0)}
        return results_by_step(by_step, error=100.0 - right[-1])

    def table(self, results):
        right = " ".join(f"{percent:5.1f}" for percent in results.by_step["right"])
        return f"accuracy by step, %: {right}"


def create_task(config, data):
    return Rumours(config)


def create_report(task):
    return RumoursReport(task)
