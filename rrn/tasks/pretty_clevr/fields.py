"""What the fields of `model` may be, and which prepared files the task takes."""

from rrn.fields import COMPUTE_DTYPE, DROPOUT, LOSS_WEIGHT, SIZE, STEPS, SWITCH, Field

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
