"""Files that are read and verified, or written: prepared data, and weights."""

from rrn.data_prep.writing import check_path
from rrn.files.data import PreparedData, read_prepared
from rrn.files.weights import assign_weights, load_weights, model_variables, save_weights
from rrn.files.weights_file import Weights, read_weights, write_weights

__all__ = [
    "PreparedData",
    "Weights",
    "assign_weights",
    "check_path",
    "load_weights",
    "model_variables",
    "read_prepared",
    "read_weights",
    "save_weights",
    "write_weights",
]
