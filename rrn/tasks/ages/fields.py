"""What the fields of `model` may be, and which prepared files the task takes."""

from rrn.fields import COMPUTE_DTYPE, DROPOUT, LOSS_WEIGHT, SIZE, STEPS, SWITCH

SCHEMAS = (("ages", 1),)
FIELDS = {
    "hidden_size": SIZE,
    "num_steps": STEPS,
    "readout_dropout": DROPOUT,
    "node_loss": LOSS_WEIGHT,
    "sinusoids": SWITCH,
    "compute_dtype": COMPUTE_DTYPE,
}
