"""What the model and the options of stages may be, and which prepared files the task takes."""

from typing import Annotated, ClassVar

from pydantic import Field

from rrn.config import Dropout, ModelSettings, Size, Steps
from rrn.data_prep.ages.trees import PEOPLE
from rrn.settings import Number, Settings

SCHEMAS = (("ages", 1),)


class LossOptions(Settings):
    """What a stage may give to `loss`."""

    num_steps: Steps | None = None  # the network's; by default the model's
    # How many people take part: those nearest to the one whose age is told.
    num_people: Annotated[int, Field(ge=1, le=PEOPLE)] = PEOPLE


class Model(ModelSettings):
    """The network on people and the question; the defaults are the paper's."""

    TASK: ClassVar = "ages"
    LOSS_OPTIONS: ClassVar = LossOptions

    hidden_size: Size = 128
    num_steps: Steps = 8
    readout_dropout: Dropout = 0.5
    auxiliary_loss: Number = 0.0  # weight of the loss of all people's ages, in training
    sinusoids: bool = False  # initially in the weights of years and ages
