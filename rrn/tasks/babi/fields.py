"""What the fields of `model` and the options of stages may be, and which prepared files the task
takes.
"""

from rrn.fields import COMPUTE_DTYPE, DROPOUT, LOSS_WEIGHT, SIZE, STEPS, SWITCH, Field
from rrn.tasks.options import Option

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
OPTIONS = {
    "num_steps": Option("loss", STEPS, "The network's steps, in place of the model's."),
    "told": Option("loss", SWITCH, 'Whether there is the loss "told" of `node_loss`; it is.'),
    "told_facts": Option(
        "loss",
        Field(int, at_least=1, at_most=256),
        'Of how many facts of each story the loss "told" is computed, in a second pass. By default '
        "it is computed of whole stories, in the first.",
    ),
    "keep_names": Option(
        "make_batch", SWITCH, "Whether names stay, even if the model has `relabel`; they do not."
    ),
}
