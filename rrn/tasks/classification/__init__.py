"""Image classification, to measure how such networks train on several machines.

Modules:
  settings: what a config's `model` may be, which prepared files fit
  task: the inputs, the model's way from a batch to losses
  network: the module: convolutions, pooling, dense layers
  report: results, their table and figure
"""

from typing import TYPE_CHECKING

from rrn.lazy import lazy_names

if TYPE_CHECKING:
    from rrn.tasks.classification.report import ClassificationReport, create_report
    from rrn.tasks.classification.settings import SCHEMAS, Model
    from rrn.tasks.classification.task import Classification, create_task

__all__ = [
    "SCHEMAS",
    "Classification",
    "ClassificationReport",
    "Model",
    "create_report",
    "create_task",
]
__getattr__ = lazy_names(__name__, __all__, ["settings", "task", "report"])
