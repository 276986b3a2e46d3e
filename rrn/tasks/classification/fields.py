"""What the fields of `model` may be, and which prepared files the task takes."""

from rrn.fields import COMPUTE_DTYPE, DROPOUT, Field

SCHEMAS = (("mnist", 1),)
MULTIPLE = Field(int, at_least=1, at_most=1024)  # of `width`
FIELDS = {
    "input_size": Field(int, at_least=1, at_most=4096),
    "width": Field(int, at_least=1, at_most=1024),
    "kernel_size": Field(int, at_least=1, at_most=63),
    "blocks": Field(tuple, items=Field(tuple, items=MULTIPLE)),
    "dense": Field(tuple, items=MULTIPLE),
    "dropout": DROPOUT,
    "kernel_deviation": Field(float, at_least=0, absent=0.0),
    "initial_bias": Field(float, at_least=0, absent=0.0),
    "compute_dtype": COMPUTE_DTYPE,
}
