"""What the fields of `model` and the options of stages may be, and which prepared files the task
takes.
"""

from rrn.fields import COMPUTE_DTYPE, SIZE, STEPS, SWITCH
from rrn.tasks.options import Option

SCHEMAS = (("sudoku", 1),)
FIELDS = {
    "embedding_size": SIZE,
    "hidden_size": SIZE,
    "num_steps": STEPS,
    "evaluation_steps": STEPS,
    "relabel": SWITCH,
    "symmetries": SWITCH,
    "recompute": SWITCH,
    "compute_dtype": COMPUTE_DTYPE,
}
OPTIONS = {
    "num_steps": Option(
        "loss", STEPS, "The steps of a segment, in place of the model's `num_steps`."
    ),
}
