"""bAbI: questions about short stories (Palm et al. 2018, section 3.2).

settings.py     what a config's `model` and options may be, which prepared files fit
task.py         the inputs, the model's way from a batch to losses
network.py      the modules: sentence encoders, network over facts, readouts
parts.py        the parts of a batch, in which little is padded
told.py         the second training loss: what the other facts tell of a fact's topics
relabelling.py  phrases that play the same part exchange places, in training
text.py         from text to words' ids, for answers
questions.py    questions whose words alone tell the answer
report.py       results, their table and figure, beside the paper's
"""

from typing import TYPE_CHECKING

from rrn.lazy import lazy_names

if TYPE_CHECKING:
    from rrn.tasks.babi.report import BabiReport, create_report
    from rrn.tasks.babi.settings import SCHEMAS, Model
    from rrn.tasks.babi.task import Babi, create_task

__all__ = ["SCHEMAS", "Babi", "BabiReport", "Model", "create_report", "create_task"]
__getattr__ = lazy_names(__name__, __all__, ["settings", "task", "report"])
