"""What the published weights reach on a fixed part of the test split."""

import pytest

from rrn.data import read_prepared
from rrn.tasks import create_task
from rrn.training.evaluation import Evaluator
from rrn.weights import load_weights, model_variables
from tests.helpers import CPUS, ROOT, load_config


def error_of(file, variant, weights, data_path, examples):
    """The error of published weights on so many examples of the test split, spread over it."""
    config, data = load_config(file, variant), read_prepared(data_path)
    task = create_task(config, data)
    load_weights(ROOT / "pretrained" / weights, model_variables(task))
    arrays, devices = data.arrays("test"), CPUS[:1]
    evaluator = Evaluator(task, config.evaluate, devices, arrays, config.seed, examples)
    return evaluator.results()[0].error


@pytest.mark.slow
@pytest.mark.parametrize(
    ("variant", "weights", "least", "most"),
    [
        ("relabelled", "babi.h5", 0.0, 1.5),
        ("hour", "babi_hour.h5", 2.5, 8.0),
        ("simulated_relabelled", "babi_simulated.h5", 0.1, 2.5),
    ],
)
def test_babi(babi_h5, variant, weights, least, most):
    """Percent of 1,000 questions, 50 of each task, that are answered wrong."""
    assert least <= error_of("babi.py", variant, weights, babi_h5, 1_000) <= most


@pytest.mark.slow
def test_sudoku(sudoku_h5):
    """Percent of 200 boards with 17 to 34 givens that are not solved after 64 steps."""
    assert error_of("sudoku.py", "segments", "sudoku.h5", sudoku_h5, 200) <= 3.0
