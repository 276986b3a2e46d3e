"""Files that are read and verified, or written.

Modules:
  data: a prepared file of `rrn.data_prep`, read into memory
  weights: a model's variables, saved and loaded
  weights_file: what a weights file holds, verified; without TensorFlow
"""

from typing import TYPE_CHECKING

from rrn.lazy import lazy_names

if TYPE_CHECKING:
    from rrn.files.data import PreparedData, read_prepared
    from rrn.files.weights import assign_weights, load_weights, model_variables, save_weights
    from rrn.files.weights_file import Weights, read_weights, write_weights

__all__ = [
    "PreparedData",
    "Weights",
    "assign_weights",
    "load_weights",
    "model_variables",
    "read_prepared",
    "read_weights",
    "save_weights",
    "write_weights",
]
__getattr__ = lazy_names(__name__, __all__, ["data", "weights", "weights_file"])
