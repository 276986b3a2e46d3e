"""bAbI's modules: the sentence encoders, and the network over facts with its readouts."""

from typing import Annotated, ClassVar

import tensorflow as tf
from pydantic import Field

from rrn.config import Dropout, ModelSettings, Size, Steps
from rrn.nn.layers import MLP, Embedding
from rrn.nn.network import RecurrentRelationalNetwork
from rrn.nn.sentences import SentenceEncoder
from rrn.settings import Number

SCHEMAS = (("babi", 1),)


class Model(ModelSettings):
    """The encoders of facts and questions, and the network; the defaults are the paper's."""

    TASK: ClassVar = "babi"

    embedding_size: Size = 32
    encoding_size: Size = 32
    hidden_size: Size = 128
    num_hidden_layers: Annotated[int, Field(ge=1, le=8)] = 3  # of each MLP but the readouts
    max_facts: Annotated[int, Field(ge=1, le=512)] = 20  # the last ones of longer stories
    num_steps: Steps = 3
    readout_dropout: Dropout = 0.5
    num_parts: Annotated[int, Field(ge=1, le=32)] = 8  # buckets by the number of facts
    normal_embeddings: bool = False  # initially, not Glorot's
    auxiliary_loss: Number = 0.0  # weight of the auxiliary loss, in training; see auxiliary.py
    augment: bool = False  # permute names in training; see augmentation.py


# Initially of the facts' readout: of a hundred words about one is a label. From 0, learning that
# would take thousands of updates.
AUXILIARY_BIAS = -4.6


class BabiEncoder(tf.Module):
    """One word embedding and two LSTMs, for facts and for questions.

    With `normal_embeddings` the initial embedding is of the standard normal distribution. With
    Glorot's, a tenth as large, encodings are nearly equal at first, next to positions of 0 and 1.
    """

    def __init__(self, vocabulary_size: int, config: Model):
        super().__init__(name="encoder")
        self.embedding = Embedding(vocabulary_size, config.embedding_size)
        if config.normal_embeddings:
            self.embedding.table.assign(tf.random.normal(self.embedding.table.shape))
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
            num_hidden_layers=config.num_hidden_layers,
            global_size=config.encoding_size,
            compute_dtype=config.compute_dtype,
        )
        self.readout = MLP([hidden, hidden, hidden, vocabulary_size], name="readout")
        if config.auxiliary_loss:
            sizes = [hidden, hidden, vocabulary_size]
            self.node_readout = MLP(sizes, config.compute_dtype, name="node_readout")
            bias = self.node_readout.layers[-1].b
            bias.assign(tf.fill(bias.shape, AUXILIARY_BIAS))
