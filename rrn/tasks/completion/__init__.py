"""Image completion: a network fills a hole, two discriminators judge it (Iizuka et al. 2017).

task.py     the inputs, the model's way from a batch to losses
holes.py    holes in images, and how well they are filled
network.py  the modules: completion network, discriminators
report.py   results, their table and picture
"""

from rrn.tasks.completion.task import SCHEMAS, Completion, create_task

__all__ = ["SCHEMAS", "Completion", "create_task"]
