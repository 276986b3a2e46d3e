"""What the fields of `model` may be, and which prepared files the task takes."""

from rrn.fields import COMPUTE_DTYPE, DROPOUT, LOSS_WEIGHT, SIZE, STEPS, SWITCH, Field

SCHEMAS = (("babi", 1),)
FIELDS = {
    "embedding_size": SIZE,
    "encoding_size": SIZE,
    "hidden_size": SIZE,
    "max_facts": Field(int, at_least=1, at_most=512),  # the longest stories have 320 or so
    "num_steps": STEPS,
    "readout_dropout": DROPOUT,
    "num_parts": Field(int, at_least=1, at_most=32),
    "normal_embeddings": SWITCH,
    "node_loss": LOSS_WEIGHT,
    "relabel": Field(bool, absent=False),
    "compute_dtype": COMPUTE_DTYPE,
}
