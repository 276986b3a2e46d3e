"""What the model and the options of stages may be, and which prepared files the task takes."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from rrn.config import Dropout, ModelSettings, Size, Steps
from rrn.settings import Number, Settings
from rrn.tasks.pretty_clevr.questions import OBJECTS

SCHEMAS = (("pretty_clevr", 1),)


class LossOptions(Settings):
    """What a stage may give to `loss`."""

    # How many numbers of jumps are asked for, from 0 on.
    num_jumps: Annotated[int, Field(ge=1, le=OBJECTS)] = OBJECTS


class Model(ModelSettings):
    """The network on objects; the defaults are the paper's."""

    TASK: ClassVar = "pretty_clevr"
    LOSS_OPTIONS: ClassVar = LossOptions

    network: Literal["recurrent", "mlp"] = "recurrent"
    hidden_size: Size = 128
    num_steps: Steps = 4
    readout_dropout: Dropout = 0.5
    markers_in_order: bool = False  # the k-th object has marker k; only the MLP sees it
    auxiliary_loss: Number = 0.0  # weight of the loss of finding the answer's object, in training
