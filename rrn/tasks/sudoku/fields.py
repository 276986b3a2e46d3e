"""What the fields of `model` may be, and which prepared files the task takes."""

from rrn.fields import COMPUTE_DTYPE, SIZE, STEPS, SWITCH

NUM_STEPS = 64  # with which puzzles are solved
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
