"""What the model may be, and which prepared files the task takes."""

from typing import Annotated, ClassVar

from pydantic import Field

from rrn.config import Dropout, ModelSettings, Size, Steps
from rrn.settings import Number

SCHEMAS = (("babi", 1),)


class Model(ModelSettings):
    """The encoders of facts and questions, and the network; the defaults are the paper's."""

    TASK: ClassVar = "babi"

    embedding_size: Size = 32
    encoding_size: Size = 32
    hidden_size: Size = 128
    max_facts: Annotated[int, Field(ge=1, le=512)] = 20  # the last ones of longer stories
    num_steps: Steps = 3
    readout_dropout: Dropout = 0.5
    num_parts: Annotated[int, Field(ge=1, le=32)] = 8  # of a batch, by the number of facts
    normal_embeddings: bool = False  # initially, not Glorot's
    node_loss: Number = 0.0  # weight of the loss of what facts tell of topics, in training
    relabel: bool = False  # phrases that play the same part exchange places, in training
