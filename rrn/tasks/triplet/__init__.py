"""Triplets: images are embedded so that those of the same digit are near each other.

Modules:
  settings: what a config's `model` may be, which prepared files fit
  task: the inputs, the model's way from a batch to losses
  network: the module: convolutions and a linear layer
  report: results of retrieval, their table and pictures
"""

from typing import TYPE_CHECKING

from rrn.lazy import lazy_names

if TYPE_CHECKING:
    from rrn.tasks.triplet.report import TripletReport, create_report
    from rrn.tasks.triplet.settings import SCHEMAS, Model
    from rrn.tasks.triplet.task import Triplet, create_task

__all__ = ["SCHEMAS", "Model", "Triplet", "TripletReport", "create_report", "create_task"]
__getattr__ = lazy_names(__name__, __all__, ["settings", "task", "report"])
