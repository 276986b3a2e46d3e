"""Models as their weights files hold them.

Modules:
  saved: made again without config or data, and summed up
  export: as SavedModels, which run without rrn
  publish: a run's weights, written for others
  hub: a folder to upload: weights as safetensors, too, config and card
"""

from typing import TYPE_CHECKING

from rrn.lazy import lazy_names

if TYPE_CHECKING:
    from rrn.models.saved import (
        describe,
        load,
        naming,
        saved_data,
        saved_model,
        saved_task,
        summary,
    )

__all__ = [
    "describe",
    "load",
    "naming",
    "saved_data",
    "saved_model",
    "saved_task",
    "summary",
]
__getattr__ = lazy_names(__name__, __all__, ["saved"])
