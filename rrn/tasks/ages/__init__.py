"""Age arithmetic: who is how old, from differences along a tree (arXiv 1711.08028)."""

from rrn.tasks.ages.network import SCHEMAS, Model
from rrn.tasks.ages.report import AgesReport, create_report
from rrn.tasks.ages.task import Ages, create_task

__all__ = ["SCHEMAS", "Ages", "AgesReport", "Model", "create_report", "create_task"]
