"""What the fields of `model` may be, and which prepared files the task takes."""

from rrn.fields import COMPUTE_DTYPE, LOSS_WEIGHT, Field

SCHEMAS = (("pretty_clevr", 1), ("mnist", 1))
FIELDS = {
    "width": Field(int, at_least=2, at_most=1024),
    "dilations": Field(tuple, items=Field(int, at_least=1, at_most=256)),
    "hole": Field(tuple, items=Field(float, at_least=0.01, below=1), length=2),
    "patch_size": Field(int, at_least=1, at_most=4096),
    "adversarial_weight": LOSS_WEIGHT,
    "compute_dtype": COMPUTE_DTYPE,
}
