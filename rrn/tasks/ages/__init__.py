"""Age arithmetic: who is how old, from differences along a tree (arXiv 1711.08028).

task.py     the inputs, the model's way from a batch to losses
network.py  the modules: network over facts, readouts, their initial weights
report.py   results, their table and figure
"""

from rrn.tasks.ages.task import SCHEMAS, Ages, create_task

__all__ = ["SCHEMAS", "Ages", "create_task"]
