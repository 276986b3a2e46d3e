"""What the model may be, and which prepared files the task takes."""

from typing import ClassVar

from rrn.config import Dropout, ModelSettings, Size, Steps
from rrn.settings import Number

SCHEMAS = (("ages", 1),)


class Model(ModelSettings):
    """The network on people and the question; the defaults are the paper's."""

    TASK: ClassVar = "ages"

    hidden_size: Size = 128
    num_steps: Steps = 8
    readout_dropout: Dropout = 0.5
    node_loss: Number = 0.0  # weight of the loss of all people's ages, in training
    sinusoids: bool = False  # initially in the weights of years and ages
