"""What the fields of `model` and the options of stages may be, and which prepared files the task
takes.
"""

from rrn.fields import COMPUTE_DTYPE, DROPOUT, LOSS_WEIGHT, SIZE, STEPS, SWITCH, Field
from rrn.tasks.options import Option
from rrn.tasks.pretty_clevr.questions import OBJECTS

SCHEMAS = (("pretty_clevr", 1),)
FIELDS = {
    "network": Field(str, choices=("recurrent", "mlp")),
    "hidden_size": SIZE,
    "num_steps": STEPS,
    "readout_dropout": DROPOUT,
    "markers_in_order": SWITCH,
    "node_loss": LOSS_WEIGHT,
    "compute_dtype": COMPUTE_DTYPE,
}
OPTIONS = {
    "num_jumps": Option(
        "loss",
        Field(int, at_least=1, at_most=OBJECTS),
        "How many numbers of jumps are asked for, from 0 on. By default all.",
    ),
}
