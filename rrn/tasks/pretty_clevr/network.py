"""Pretty-CLEVR's questions and networks: the recurrent one over objects, and the paper's MLP."""

from typing import Any, ClassVar, Literal, NamedTuple

import tensorflow as tf

from rrn.config import Dropout, ModelSettings, Size, Steps
from rrn.nn.graphs import RegularGraph, all_others
from rrn.nn.layers import MLP, glorot_uniform
from rrn.nn.network import RecurrentRelationalNetwork
from rrn.nn.readout import dropout, sum_readout
from rrn.settings import Number
from rrn.tasks.task import Batch
from rrn.variables.random import ExampleRandom
from rrn.variables.reading import read

OBJECTS = 8  # of a scene; also colours, markers, and numbers of jumps from 0 to 7
CLASSES = 2 * OBJECTS  # of answers and anchors: colours, then markers
QUESTIONS = OBJECTS * OBJECTS * 2  # of a scene: start, jumps, anchor by colour or by marker
SCHEMAS = (("pretty_clevr", 1),)


class Model(ModelSettings):
    """The network on objects; the defaults are the paper's."""

    TASK: ClassVar = "pretty_clevr"

    network: Literal["recurrent", "mlp"] = "recurrent"
    hidden_size: Size = 128
    num_steps: Steps = 4
    readout_dropout: Dropout = 0.5
    auxiliary_loss: Number = 0.0  # weight of the loss of finding the answer's object, in training


class Question(NamedTuple):
    """A question, or many: then each field is an array or tensor `[examples]`."""

    scene: Any  # its number in the split
    start: Any  # the object from which the jumps go
    jumps: Any
    by_marker: Any  # 1 where the start is named by its marker and the answer is a colour, else 0


def question_of(example: Any) -> Question:
    """Finds what an example asks for, by its number or their numbers in the split."""
    return Question(
        scene=example // QUESTIONS,
        start=example // (2 * OBJECTS) % OBJECTS,
        jumps=example // 2 % OBJECTS,
        by_marker=example % 2,
    )


OBJECT_SIZE = 2 + 2 * OBJECTS  # position, colour, marker
QUESTION_SIZE = CLASSES + OBJECTS  # anchor, number of jumps
OTHERS = all_others(OBJECTS)


def one_hot_question(anchor: tf.Tensor, jumps: tf.Tensor) -> tf.Tensor:
    """Encodes questions, an anchor and a number of jumps each, `[questions, QUESTION_SIZE]`."""
    return tf.concat([tf.one_hot(anchor, CLASSES), tf.one_hot(jumps, OBJECTS)], axis=-1)


class PrettyClevrNetwork(tf.Module):
    """The network without LSTM, and its readout; with one step, the relation network."""

    def __init__(self, config: Model):
        super().__init__(name="network")
        self.config, hidden = config, config.hidden_size
        self.rrn = RecurrentRelationalNetwork(
            input_size=OBJECT_SIZE + QUESTION_SIZE,
            hidden_size=hidden,
            num_hidden_layers=1,
            edge_size=1,
            node_update=None,
            compute_dtype=config.compute_dtype,
        )
        self.readout = MLP([hidden, hidden, CLASSES], name="readout")
        if config.auxiliary_loss:
            self.node_kernel = tf.Variable(glorot_uniform([hidden, 1]), name="node_readout/w")

    def __call__(
        self, batch: Batch, question: tf.Tensor, random: ExampleRandom | None
    ) -> tuple[tf.Tensor, tf.Tensor | None]:
        """Runs the network on a batch and its one-hot questions.

        Returns:
          (logits of the answer `[examples, steps, CLASSES]`, with `auxiliary_loss` those of being
          the object in question `[examples, steps, 8]`, else None).
        """
        graph, _, hidden = self.hidden_states(batch, question)
        logits = sum_readout(self.readout, graph, hidden, [self.config.readout_dropout], random)
        if not self.config.auxiliary_loss:
            return logits, None
        kernel = read(self.node_kernel)
        by_step = [tf.reshape(tf.matmul(h, kernel), [-1, OBJECTS]) for h in hidden]
        return logits, tf.stack(by_step, axis=1)

    def hidden_states(
        self, batch: Batch, question: tf.Tensor
    ) -> tuple[RegularGraph, tf.Tensor, list[tf.Tensor]]:
        """Runs the network without its readout.

        Returns:
          (the graph, the objects' features `[nodes, size]`, every step's states `[nodes, hidden]`).
        """
        graph = RegularGraph(OTHERS, tf.shape(batch["objects"])[0])
        objects = tf.reshape(batch["objects"], [-1, OBJECT_SIZE])
        features = tf.concat([objects, graph.broadcast_globals_to_nodes(question)], axis=-1)
        edges = batch["distances"][..., None]
        return graph, features, self.rrn(graph, features, self.config.num_steps, edges=edges)


class FlatNetwork(tf.Module):
    """The paper's baseline: an MLP with 4 ReLU layers on objects, distances and question.

    The authors' has 64 distances, ours 56: without those of objects to themselves, always zero.
    """

    def __init__(self, config: Model):
        super().__init__(name="network")
        self.dropout = [0.0, 0.0, 0.0, config.readout_dropout]
        inputs = OBJECTS * (OBJECT_SIZE + OBJECTS - 1) + QUESTION_SIZE
        sizes = [inputs, *[config.hidden_size] * 4, CLASSES]
        self.mlp = MLP(sizes, config.compute_dtype, name="mlp")

    def __call__(
        self, batch: Batch, question: tf.Tensor, random: ExampleRandom | None
    ) -> tuple[tf.Tensor, None]:
        """Computes (logits of the answer `[examples, 1, CLASSES]`, None)."""
        objects = tf.reshape(batch["objects"], [-1, OBJECTS * OBJECT_SIZE])
        distances = tf.reshape(batch["distances"], [-1, OBJECTS * (OBJECTS - 1)])
        flat = tf.concat([objects, distances, question], axis=-1)
        logits = self.mlp(flat, dropout(self.dropout, random))
        return tf.cast(logits, tf.float32)[:, None], None
