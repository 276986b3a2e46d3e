"""Image classification, to measure how such networks train on several machines."""

from rrn.tasks.classification.network import SCHEMAS, Model
from rrn.tasks.classification.report import create_report
from rrn.tasks.classification.task import Classification, create_task

__all__ = ["SCHEMAS", "Classification", "Model", "create_report", "create_task"]
