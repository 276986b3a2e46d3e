"""What the published weights reach on a fixed part of the test split."""

import pytest
import tensorflow as tf

from rrn.config import replace
from rrn.files.data import read_prepared
from rrn.models import load
from rrn.tasks import create_report
from rrn.training.evaluation import Evaluator
from tests.helpers import CPUS, ROOT, load_config


def error_of(config, weights, arrays, examples, **fields):
    """The error of published weights in one pass over `examples` of `arrays`, spread over them."""
    report = create_report(load(ROOT / "pretrained" / weights, **fields))
    once = replace(config.evaluate, passes=1, batch_size=100)  # bAbI has eight, a little better
    evaluator = Evaluator(report, once, CPUS[:1], arrays, config.seed, examples)
    return evaluator.results()[0].error


@pytest.mark.slow
@pytest.mark.parametrize(
    ("variant", "weights", "least", "most"),
    [
        ("hour", "babi.h5", 0.0, 0.5),
        ("simulated", "babi_simulated.h5", 0.0, 0.8),
    ],
)
def test_babi(babi_h5, variant, weights, least, most):
    """Percent of 1,000 questions, 50 of each task, that are answered wrong."""
    config, data = load_config("babi.py", variant), read_prepared(babi_h5)
    assert least <= error_of(config, weights, data.arrays("test"), 1_000) <= most


@pytest.mark.slow
def test_babi_of_1_000_questions(babi_archive, prepare_once):
    """Percent of 1,000 questions, 50 of each task, that are answered wrong."""
    path = prepare_once("babi_1k", "babi", "--source", babi_archive, "--folder", "en-valid")
    arrays = read_prepared(path).arrays("test")
    assert 0.0 <= error_of(load_config("babi.py", "small"), "babi_small.h5", arrays, 1_000) <= 0.8


@pytest.mark.slow
def test_sudoku(sudoku_h5):
    """Percent of 100 boards with 17 givens that are not solved after 32 steps."""
    config, data = load_config("sudoku.py", "segments"), read_prepared(sudoku_h5)
    boards = data.arrays("test")
    hardest = boards["givens"] == 17
    arrays = {n: tf.boolean_mask(boards[n], hardest) for n in ("puzzle", "solution", "givens")}
    assert 4.0 <= error_of(config, "sudoku.h5", arrays, 100, evaluation_steps=32) <= 22.0
