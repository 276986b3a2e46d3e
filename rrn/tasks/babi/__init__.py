"""bAbI: questions about short stories (Palm et al. 2018, section 3.2).

task.py     the inputs, the model's way from a batch to losses
network.py  the modules: sentence encoders, network over facts, readouts
told.py     the second training loss: what the other facts tell of a fact's subject
report.py   results, their table and figure, beside the paper's
"""

from rrn.tasks.babi.task import SCHEMAS, Babi, create_task

__all__ = ["SCHEMAS", "Babi", "create_task"]
