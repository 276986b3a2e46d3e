"""What the model and the options of stages may be, and which prepared files the task takes."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from rrn.config import ModelSettings, Size, Steps
from rrn.settings import Settings

SCHEMAS = (("sudoku", 1),)


class LossOptions(Settings):
    """What a stage may give to `loss`."""

    num_steps: Steps | None = None  # of a segment; by default the model's


class BatchOptions(Settings):
    """What a stage may give to `make_batch`."""

    revealed: Annotated[int, Field(ge=0, le=64)] = 0  # further cells, at most, in training


class Model(ModelSettings):
    """The network on a board; the defaults are the paper's."""

    TASK: ClassVar = "sudoku"
    LOSS_OPTIONS: ClassVar = LossOptions
    BATCH_OPTIONS: ClassVar = BatchOptions

    nodes: Literal["cells", "candidates"] = "cells"  # candidates are digits in cells
    embedding_size: Size = 16
    hidden_size: Size = 96
    num_steps: Steps = 32  # in training
    evaluation_steps: Steps = 64
    augment_digits: bool = False  # digits exchange places, in training
    augment_symmetries: bool = False  # boards are turned and mirrored, in training
    recompute: bool = False  # in the backward pass: less memory, more time
