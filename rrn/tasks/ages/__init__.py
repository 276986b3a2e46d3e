"""Age arithmetic: who is how old, from differences along a tree (arXiv 1711.08028).

Modules:
  settings: what a config's `model` and options may be, which prepared files fit
  task: the inputs, the model's way from a batch to losses
  network: the modules: network over facts, readouts, their initial weights
  report: results, their table and figure
"""

from typing import TYPE_CHECKING

from rrn.lazy import lazy_names

if TYPE_CHECKING:
    from rrn.tasks.ages.report import AgesReport, create_report
    from rrn.tasks.ages.settings import SCHEMAS, Model
    from rrn.tasks.ages.task import Ages, create_task

__all__ = ["SCHEMAS", "Ages", "AgesReport", "Model", "create_report", "create_task"]
__getattr__ = lazy_names(__name__, __all__, ["settings", "task", "report"])
