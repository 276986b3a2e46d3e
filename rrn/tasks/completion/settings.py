"""What the model may be, and which prepared files the task takes."""

from typing import Annotated, ClassVar

from pydantic import Field

from rrn.config import ModelSettings
from rrn.settings import LIST_TOO, Number

SCHEMAS = (("pretty_clevr", 1), ("mnist", 1))
Dilation = Annotated[int, Field(ge=1, le=256)]
Share = Annotated[float, Field(ge=0.01, lt=1)]


class Model(ModelSettings):
    """The completion network and the discriminators; the defaults are the publication's."""

    TASK: ClassVar = "completion"

    width: Annotated[int, Field(ge=2, le=1024)] = 64
    dilations: Annotated[tuple[Dilation, ...], LIST_TOO] = (2, 4, 8, 16)
    # Its sides' smallest and largest share of the image's.
    hole: Annotated[tuple[Share, Share], LIST_TOO] = (0.25, 0.5)
    patch_size: Annotated[int, Field(ge=1, le=4096)] = 64
    adversarial_weight: Number = 4e-4
