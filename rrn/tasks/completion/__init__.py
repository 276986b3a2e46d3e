"""Image completion: a network fills a hole, two discriminators judge it (Iizuka et al. 2017)."""

from rrn.tasks.completion.network import SCHEMAS, Model
from rrn.tasks.completion.report import CompletionReport, create_report
from rrn.tasks.completion.task import Completion, create_task

__all__ = ["SCHEMAS", "Completion", "CompletionReport", "Model", "create_report", "create_task"]
