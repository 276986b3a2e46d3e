"""bAbI: questions about short stories (Palm et al. 2018, section 3.2)."""

from rrn.tasks.babi.network import SCHEMAS, Model
from rrn.tasks.babi.report import BabiReport, create_report
from rrn.tasks.babi.task import Babi, create_task

__all__ = ["SCHEMAS", "Babi", "BabiReport", "Model", "create_report", "create_task"]
