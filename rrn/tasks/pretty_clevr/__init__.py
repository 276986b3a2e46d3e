"""Pretty-CLEVR: from object to nearest object, as many jumps as asked (Palm et al. 2018, 3.3).

task.py       the inputs, the model's way from a batch to losses
questions.py  what an example's number asks
network.py    the modules: the recurrent network over objects, and the paper's MLP
report.py     results, their table and figures, beside the paper's; a gallery
"""

from rrn.tasks.pretty_clevr.task import SCHEMAS, PrettyClevr, create_task

__all__ = ["SCHEMAS", "PrettyClevr", "create_task"]
