"""What the model may be, and which prepared files the task takes."""

from typing import Annotated, ClassVar

from pydantic import Field

from rrn.config import Dropout, ModelSettings
from rrn.settings import LIST_TOO, Number

SCHEMAS = (("mnist", 1),)
Multiple = Annotated[int, Field(ge=1, le=1024)]  # of `width`


class Model(ModelSettings):
    """Blocks of convolutions, then dense layers; the defaults are the tutorial's."""

    TASK: ClassVar = "classification"

    input_size: Annotated[int, Field(ge=1, le=4096)] = 28  # the images' height and width
    width: Annotated[int, Field(ge=1, le=1024)] = 32
    kernel_size: Annotated[int, Field(ge=1, le=63)] = 5
    # Convolutions' channels by block, over width.
    blocks: Annotated[tuple[Annotated[tuple[Multiple, ...], LIST_TOO], ...], LIST_TOO] = (
        (1,),
        (2,),
    )
    dense: Annotated[tuple[Multiple, ...], LIST_TOO] = (32,)  # hidden layers' sizes, over width
    dropout: Dropout = 0.5
    kernel_deviation: Number = 0.0  # initially, of a truncated normal distribution; 0: uniform
    initial_bias: Number = 0.0
