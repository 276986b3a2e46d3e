"""Pretty-CLEVR: from object to nearest object, as many jumps as asked (Palm et al. 2018, 3.3).

Modules:
  settings: what a config's `model` and options may be, which prepared files fit
  task: the inputs, the model's way from a batch to losses
  questions: what an example's number asks
  network: the modules: the recurrent network over objects, and the paper's MLP
  report: results, their table and figures, beside the paper's; a gallery
"""

from typing import TYPE_CHECKING

from rrn.lazy import lazy_names

if TYPE_CHECKING:
    from rrn.tasks.pretty_clevr.report import PrettyClevrReport, create_report
    from rrn.tasks.pretty_clevr.settings import SCHEMAS, Model
    from rrn.tasks.pretty_clevr.task import PrettyClevr, create_task

__all__ = [
    "SCHEMAS",
    "Model",
    "PrettyClevr",
    "PrettyClevrReport",
    "create_report",
    "create_task",
]
__getattr__ = lazy_names(__name__, __all__, ["settings", "task", "report"])
