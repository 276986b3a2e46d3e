"""bAbI's modules: the sentence encoders, and the network over facts with its readouts."""

import tensorflow as tf

from rrn.nn.layers import MLP, Embedding
from rrn.nn.network import RecurrentRelationalNetwork
from rrn.nn.sentences import SentenceEncoder
from rrn.tasks.babi.settings import Model

# Initially of the facts' readout: a word is told of a topic about once in a hundred times. From
# 0, thousands of updates would go into learning that.
TOLD_BIAS = -4.6


class BabiEncoder(tf.Module):
    """One word embedding and two LSTMs, for facts and for questions.

    With `normal_embeddings` the embedding begins with draws of the standard normal distribution.
    With Glorot's, a tenth as large, all sentences are encoded nearly alike at first, next to
    positions of 0 and 1.
    """

    def __init__(self, vocabulary_size: int, config: Model):
        super().__init__(name="encoder")
        self.embedding = Embedding(vocabulary_size, config.embedding_size)
        if config.normal_embeddings:
            table = self.embedding.table
            table.assign(tf.random.normal(table.shape))
        sizes = config.embedding_size, config.encoding_size
        self.facts = SentenceEncoder(*sizes, name="fact_encoder")
        self.questions = SentenceEncoder(*sizes, name="question_encoder")


class BabiNetwork(tf.Module):
    """The network over facts, the readout of its sum, and with `auxiliary_loss` one of each fact.

    The readouts' layers are `[hidden, hidden, vocabulary]` and `[hidden, vocabulary]`.
    """

    def __init__(self, vocabulary_size: int, config: Model):
        super().__init__(name="network")
        hidden = config.hidden_size
        self.rrn = RecurrentRelationalNetwork(
            input_size=2 * config.encoding_size + 2 * config.max_facts,
            hidden_size=hidden,
            global_size=config.encoding_size,
            compute_dtype=config.compute_dtype,
        )
        self.readout = MLP([hidden, hidden, hidden, vocabulary_size], name="readout")
        if config.auxiliary_loss:
            sizes = [hidden, hidden, vocabulary_size]
            self.node_readout = MLP(sizes, config.compute_dtype, name="node_readout")
            bias = self.node_readout.layers[-1].b
            bias.assign(tf.fill(bias.shape, TOLD_BIAS))
