"""bAbI's modules: the sentence encoders, and the network over facts with its readouts."""

import tensorflow as tf
from ml_collections import ConfigDict

from rrn.layers import MLP, Embedding
from rrn.network import RecurrentRelationalNetwork
from rrn.sentences import SentenceEncoder

# Initially of the facts' readout: a word is told of a subject about once in a hundred times. From
# 0, thousands of updates would go into learning that.
TOLD_BIAS = -4.6


class BabiEncoder(tf.Module):
    """One word embedding and two LSTMs, for facts and for questions.

    With `normal_embeddings` the embedding begins with draws of the standard normal distribution.
    With Glorot's, a tenth as large, all sentences are encoded nearly alike at first, next to
    positions of 0 and 1.

    Args:
      vocabulary_size: the number of words.
      config: the experiment's `model`.
    """

    def __init__(self, vocabulary_size: int, config: ConfigDict):
        super().__init__(name="encoder")
        self.embedding = Embedding(vocabulary_size, config.embedding_size)
        if config.normal_embeddings:
            table = self.embedding.table
            table.assign(tf.random.normal(table.shape))
        sizes = config.embedding_size, config.encoding_size
        self.facts = SentenceEncoder(*sizes, name="fact_encoder")
        self.questions = SentenceEncoder(*sizes, name="question_encoder")


class BabiNetwork(tf.Module):
    """The network over facts, the readout of its sum, and in training those of what is told.

    The readout of the sum has the layers `[hidden, hidden, vocabulary]`. With `node_loss` there is
    one `told_readout`, and a second one with `told_of_objects`.

    Args:
      vocabulary_size: the number of words.
      config: the experiment's `model`.
    """

    def __init__(self, vocabulary_size: int, config: ConfigDict):
        super().__init__(name="network")
        hidden = config.hidden_size
        self.rrn = RecurrentRelationalNetwork(
            input_size=2 * config.encoding_size + 2 * config.max_facts,
            hidden_size=hidden,
            global_size=config.encoding_size,
            compute_dtype=config.compute_dtype,
        )
        self.readout = MLP([hidden, hidden, hidden, vocabulary_size], name="readout")
        if config.node_loss:
            self.node_readout = told_readout(vocabulary_size, config, "node_readout")
        if config.told_of_objects:
            self.object_readout = told_readout(vocabulary_size, config, "object_node_readout")


def told_readout(vocabulary_size: int, config: ConfigDict, name: str) -> MLP:
    """Makes a readout of what is told, with layers `[hidden, vocabulary]`.

    Args:
      vocabulary_size, config: as of `BabiNetwork`.
      name: its name.

    Returns:
      The readout.
    """
    sizes = [config.hidden_size, config.hidden_size, vocabulary_size]
    readout = MLP(sizes, config.compute_dtype, name=name)
    bias = readout.layers[-1].b
    bias.assign(tf.fill(bias.shape, TOLD_BIAS))
    return readout
