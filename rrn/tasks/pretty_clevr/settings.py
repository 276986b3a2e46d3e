"""What the model may be, and which prepared files the task takes."""

from typing import ClassVar, Literal

from rrn.config import Dropout, ModelSettings, Size, Steps
from rrn.settings import Number

SCHEMAS = (("pretty_clevr", 1),)


class Model(ModelSettings):
    """The network on objects; the defaults are the paper's."""

    TASK: ClassVar = "pretty_clevr"

    network: Literal["recurrent", "mlp"] = "recurrent"
    hidden_size: Size = 128
    num_steps: Steps = 4
    readout_dropout: Dropout = 0.5
    markers_in_order: bool = False  # the k-th object has marker k; only the MLP sees it
    node_loss: Number = 0.0  # weight of the loss of finding the answer's object, in training
