"""What the model and the options of stages may be, and which prepared files the task takes."""

from typing import Annotated, ClassVar

from pydantic import Field

from rrn.config import Dropout, ModelSettings, Size, Steps
from rrn.settings import Number, Settings

SCHEMAS = (("babi", 1),)


class LossOptions(Settings):
    """What a stage may give to `loss`."""

    num_steps: Steps | None = None  # the network's; by default the model's
    auxiliary: bool = True  # whether there is the loss "auxiliary", if the model has one
    # Of how many facts of each story the loss "auxiliary" is computed, in a second pass. By default
    # it is computed of whole stories, in the first.
    auxiliary_facts: Annotated[int, Field(ge=1, le=256)] | None = None


class BatchOptions(Settings):
    """What a stage may give to `make_batch`."""

    # If the model has `augment`, phrases exchange places only in tasks with fewer training
    # questions than this; 0: in none. By default they do in all tasks.
    augment_below: Annotated[int, Field(ge=0)] | None = None
    # The last ones of longer stories, if these are fewer than the model's `max_facts`.
    max_facts: Annotated[int, Field(ge=1, le=512)] | None = None


class Model(ModelSettings):
    """The encoders of facts and questions, and the network; the defaults are the paper's."""

    TASK: ClassVar = "babi"
    LOSS_OPTIONS: ClassVar = LossOptions
    BATCH_OPTIONS: ClassVar = BatchOptions

    embedding_size: Size = 32
    encoding_size: Size = 32
    hidden_size: Size = 128
    max_facts: Annotated[int, Field(ge=1, le=512)] = 20  # the last ones of longer stories
    num_steps: Steps = 3
    readout_dropout: Dropout = 0.5
    num_parts: Annotated[int, Field(ge=1, le=32)] = 8  # of a batch, by the number of facts
    normal_embeddings: bool = False  # initially, not Glorot's
    auxiliary_loss: Number = 0.0  # weight of the loss of what facts tell of topics, in training
    augment: bool = False  # phrases that play the same part exchange places, in training
