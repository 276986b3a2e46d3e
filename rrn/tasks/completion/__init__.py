"""Image completion: a network fills a hole, two discriminators judge it (Iizuka et al. 2017).

Modules:
  settings: what a config's `model` may be, which prepared files fit
  task: the inputs, the model's way from a batch to losses
  holes: holes in images, and how well they are filled
  network: the modules: completion network, discriminators
  report: results, their table and picture
"""

from typing import TYPE_CHECKING

from rrn.lazy import lazy_names

if TYPE_CHECKING:
    from rrn.tasks.completion.report import CompletionReport, create_report
    from rrn.tasks.completion.settings import SCHEMAS, Model
    from rrn.tasks.completion.task import Completion, create_task

__all__ = ["SCHEMAS", "Completion", "CompletionReport", "Model", "create_report", "create_task"]
__getattr__ = lazy_names(__name__, __all__, ["settings", "task", "report"])
