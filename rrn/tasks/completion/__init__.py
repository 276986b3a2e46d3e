"""Image completion: a network fills a hole, two discriminators judge it (Iizuka et al. 2017).

task.py  the inputs, the model's way from a batch to losses, results
"""

from rrn.tasks.completion.task import SCHEMAS, Completion, create_task

__all__ = ["SCHEMAS", "Completion", "create_task"]
