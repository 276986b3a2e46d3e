"""bAbI: questions about short stories (Palm et al. 2018, section 3.2).

Modules:
  settings: what a config's `model` and options may be, which prepared files fit
  task: the model's way from a batch to losses, and its answers
  batches: which questions are drawn, and the last facts of their stories, in parts
  network: the modules: sentence encoders, network over facts, readouts
  parts: the parts of a batch, in which little is padded
  auxiliary: the second training loss: what the other facts tell of a fact's topics
  augmentation: phrases that play the same part exchange places, in training
  text: from text to words' ids, for answers
  questions: questions whose words alone tell the answer
  report: results, their table and figure, beside the paper's
"""

from typing import TYPE_CHECKING

from rrn.lazy import lazy_names

if TYPE_CHECKING:
    from rrn.tasks.babi.report import BabiReport, create_report
    from rrn.tasks.babi.settings import SCHEMAS, Model
    from rrn.tasks.babi.task import Babi, create_task

__all__ = ["SCHEMAS", "Babi", "BabiReport", "Model", "create_report", "create_task"]
__getattr__ = lazy_names(__name__, __all__, ["settings", "task", "report"])
