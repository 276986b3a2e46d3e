"""Files that are read and verified, or written: prepared data, and weights."""

from rrn.files.data import PreparedData, read_prepared
from rrn.files.weights import assign_weights, load_weights, read_weights, save_weights

__all__ = [
    "PreparedData",
    "assign_weights",
    "load_weights",
    "read_prepared",
    "read_weights",
    "save_weights",
]
