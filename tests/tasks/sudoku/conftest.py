"""Weights that Sudoku's tests share."""

import pytest
import tensorflow as tf

from configs.sudoku import get_config
from rrn.files.weights import model_variables, save_weights
from rrn.tasks.sudoku import Sudoku


@pytest.fixture(scope="module")
def weights(tmp_path_factory):
    """Untrained weights of the paper's size."""
    tf.random.set_seed(0)
    path = tmp_path_factory.mktemp("weights") / "weights.h5"
    save_weights(path, model_variables(Sudoku(get_config().model)), {})
    return path
