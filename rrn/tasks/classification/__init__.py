"""Image classification, to measure how such networks train on several machines.

task.py  the inputs, the model's way from a batch to losses, results
"""

from rrn.tasks.classification.task import SCHEMAS, Classification, create_task

__all__ = ["SCHEMAS", "Classification", "create_task"]
