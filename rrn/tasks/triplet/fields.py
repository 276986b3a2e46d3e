"""What the fields of `model` may be, and which prepared files the task takes."""

from rrn.fields import COMPUTE_DTYPE, SIZE, Field

SCHEMAS = (("mnist", 1),)
FIELDS = {
    "width": Field(int, at_least=1, at_most=1024),
    "embedding_size": SIZE,
    "margin": Field(float, at_least=0, at_most=2),  # of a difference of cosines
    "compute_dtype": COMPUTE_DTYPE,
}
