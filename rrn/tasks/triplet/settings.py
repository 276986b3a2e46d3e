"""What the model may be, and which prepared files the task takes."""

from typing import Annotated, ClassVar

from pydantic import Field

from rrn.config import ModelSettings, Size

SCHEMAS = (("mnist", 1),)


class Model(ModelSettings):
    """The network that embeds images."""

    TASK: ClassVar = "triplet"

    # Channels of the first convolution; the second has twice as many.
    width: Annotated[int, Field(ge=1, le=1024)] = 16
    embedding_size: Size = 32
    margin: Annotated[float, Field(ge=0, le=2)] = 0.5  # of a difference of cosines
