"""What the fields of `model` and the options of stages may be, and which prepared files the task
takes.
"""

from data_prep.ages.trees import PEOPLE
from rrn.fields import COMPUTE_DTYPE, DROPOUT, LOSS_WEIGHT, SIZE, STEPS, SWITCH, Field
from rrn.tasks.options import Option

SCHEMAS = (("ages", 1),)
FIELDS = {
    "hidden_size": SIZE,
    "num_steps": STEPS,
    "readout_dropout": DROPOUT,
    "node_loss": LOSS_WEIGHT,
    "sinusoids": SWITCH,
    "compute_dtype": COMPUTE_DTYPE,
}
OPTIONS = {
    "num_steps": Option("loss", STEPS, "The network's steps, in place of the model's."),
    "num_people": Option(
        "loss",
        Field(int, at_least=1, at_most=PEOPLE),
        "How many people take part: those nearest to the one whose age is told. By default all.",
    ),
}
