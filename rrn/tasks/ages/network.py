"""The age task's network over facts with its readouts, and its initial weights."""

import math
from typing import ClassVar

import tensorflow as tf

from rrn.config import Dropout, ModelSettings, Size, Steps
from rrn.data_prep.ages.trees import PEOPLE
from rrn.nn.layers import MLP
from rrn.nn.network import RecurrentRelationalNetwork
from rrn.settings import Number
from rrn.variables.reading import read
from rrn.variables.sharded import known_size

SCHEMAS = (("ages", 1),)


class Model(ModelSettings):
    """The network on facts and the question; the defaults are the paper's."""

    TASK: ClassVar = "ages"

    hidden_size: Size = 128
    num_steps: Steps = 8
    readout_dropout: Dropout = 0.5
    auxiliary_loss: Number = 0.0  # weight of the loss of all people's ages, in training
    sinusoids: bool = False  # initially in the weights of years and ages


KINDS = 3  # of facts
CLASSES = 100  # of ages and differences


class AgesNetwork(tf.Module):
    """The network over facts, the readout of its sum, and with `auxiliary_loss` one of each fact.

    With `sinusoids` the initial weights of years and ages are not Glorot's (see `sinusoids`).
    """

    def __init__(self, config: Model):
        super().__init__(name="network")
        self.config, hidden = config, config.hidden_size
        self.rrn = RecurrentRelationalNetwork(
            input_size=3 * PEOPLE + KINDS + CLASSES,
            hidden_size=hidden,
            compute_dtype=config.compute_dtype,
        )
        self.readout = MLP([hidden, hidden, hidden, hidden, CLASSES], name="readout")
        if config.auxiliary_loss:
            sizes = [hidden, hidden, hidden, 2 * CLASSES]
            self.node_readout = MLP(sizes, config.compute_dtype, name="node_readout")
        if config.sinusoids:
            self._assign_sinusoids()

    def _assign_sinusoids(self):
        kernel = self.rrn.input_fn.layers[0].w
        sizes = [2 * PEOPLE + KINDS, CLASSES, PEOPLE]
        people_and_kind, years, asked = tf.split(read(kernel), sizes)
        kernel.assign(tf.concat([people_and_kind, sinusoids(years), asked], axis=0))
        for readout in [self.readout, *([self.node_readout] if self.config.auxiliary_loss else [])]:
            kernel = readout.layers[-1].w
            columns = tf.split(tf.transpose(read(kernel)), known_size(kernel, 1) // CLASSES)
            kernel.assign(tf.transpose(tf.concat([sinusoids(part) for part in columns], axis=0)))


def sinusoids(weights: tf.Tensor) -> tf.Tensor:
    """Draws sinusoids over the years, each with 1, 2, 4, 8, 16 or 32 cycles in a century.

    Low frequencies make near ages alike, and high ones distinguish them. To add years is then to
    rotate by a few angles.

    Args:
      weights: `[100, size]`, whose standard deviation and shape the sinusoids get.
    """
    size = known_size(weights, 1)
    cycles = tf.gather([1.0, 2.0, 4.0, 8.0, 16.0, 32.0], tf.random.uniform([size], 0, 6, tf.int32))
    turns = cycles * tf.range(CLASSES, dtype=tf.float32)[:, None] / CLASSES
    waves = tf.cos(2.0 * math.pi * (turns + tf.random.uniform([size])))
    return math.sqrt(2.0) * tf.math.reduce_std(weights) * waves
