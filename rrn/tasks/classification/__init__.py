"""Image classification, to measure how such networks train on several machines.

task.py     the inputs, the model's way from a batch to losses
network.py  the module: convolutions, pooling, dense layers
report.py   results, their table and figure
"""

from rrn.tasks.classification.task import SCHEMAS, Classification, create_task

__all__ = ["SCHEMAS", "Classification", "create_task"]
