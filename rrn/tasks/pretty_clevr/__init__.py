"""Pretty-CLEVR: from object to nearest object, as many jumps as asked (Palm et al. 2018, 3.3)."""

from rrn.tasks.pretty_clevr.network import SCHEMAS, Model
from rrn.tasks.pretty_clevr.report import PrettyClevrReport, create_report
from rrn.tasks.pretty_clevr.task import PrettyClevr, create_task

__all__ = ["SCHEMAS", "Model", "PrettyClevr", "PrettyClevrReport", "create_report", "create_task"]
