"""Pretty-CLEVR: from object to nearest object, as many jumps as asked (Palm et al. 2018, 3.3).

task.py  the inputs, the model's way from a batch to losses, results
"""

from rrn.tasks.pretty_clevr.task import SCHEMAS, PrettyClevr, create_task

__all__ = ["SCHEMAS", "PrettyClevr", "create_task"]
