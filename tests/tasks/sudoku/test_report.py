"""Sudoku's results, worked out by hand, and their table and figures."""

import numpy as np
import pytest
import tensorflow as tf

from configs.sudoku import get_config
from rrn.tasks.sudoku.report import SudokuReport
from rrn.tasks.sudoku.task import Sudoku


def test_metrics_by_hand():
    outputs = {"cells_correct": tf.constant([[81.0, 80.0], [0.0, 81.0], [40.0, 1.0]])}
    metrics = Sudoku(get_config().model).metrics({}, outputs)
    assert metrics.keys() == {"accuracy", "board_accuracy"}
    np.testing.assert_allclose(metrics["accuracy"], [(80 + 81 + 1) / 81, 3], rtol=1e-6)
    np.testing.assert_array_equal(metrics["board_accuracy"], [1, 3])


def pool(*givens):
    """The puzzles of which the boards are made."""
    return np.array([np.arange(81) < number for number in givens], int)


def hand_made_results():
    """Examples 1 to 4 of five: two of 17 givens, one of 19, one of 34; three steps."""
    arrays = {"givens": tf.constant([17, 17, 19, 17, 34]), "pool": pool(17, 20)}
    cells = np.array([[0, 40.5, 81], [81, 81, 81], [81, 0, 81], [81, 81, 0]], np.float32)
    loss = np.array([[3, 2, 1], [1, 1, 1], [0, 0, 0], [4, 5, 6]], np.float32)
    sure = np.array([[0.99, 0.5, 1], [0.98, 0, 1], [0, 0.99, 0.9], [0, 0.5, 0.99]], np.float32)
    outputs = {"cells_correct": cells, "confidence": sure, "loss": loss}
    return SudokuReport(Sudoku(get_config().model)).results(arrays, np.array([1, 2, 3, 4]), outputs)


def test_results_by_hand():
    results = hand_made_results()
    by_step = {
        "board_accuracy/17": [50, 0, 100],  # examples 1 and 3
        "board_accuracy/19": [100, 100, 100],
        "board_accuracy/34": [100, 100, 0],
        "board_accuracy/all": [75, 50, 75],
        "cell_accuracy/17": [50, 25, 100],
        "cell_accuracy/19": [100, 100, 100],
        "cell_accuracy/34": [100, 100, 0],
        "cell_accuracy/all": [75, 62.5, 75],
        "sure/boards": [25, 25, 75],
        "sure/wrong": [100, 100, 100 / 3],  # examples 1; 3; 4 of 1, 2 and 4
        "loss": [2, 2, 2],
    }
    assert results.error == 25
    assert results.by_step.keys() == by_step.keys() == results.metrics.keys()
    for name, values in by_step.items():
        assert results.by_step[name] == pytest.approx(values)
        assert results.metrics[name] == pytest.approx(values[-1])


def test_the_table_and_the_figures_have_a_row_and_a_line_for_each_level():
    """The list has other puzzles than the paper's, so nothing of the paper is there."""
    report = SudokuReport(Sudoku(get_config().model))
    table = report.table(hand_made_results())
    assert [list(row) for row in (table.columns, *table.rows)] == [
        ["boards solved, %; givens:", "step 1", "step 2", "step 3", "cell accuracy, %"],
        ["17", "50.0", "0.0", "100.0", "100.00"],
        ["19", "100.0", "100.0", "100.0", "100.00"],
        ["34", "100.0", "100.0", "0.0", "0.00"],
        ["17-34, all", "75.0", "50.0", "75.0", "75.00"],
    ]
    assert len(table.notes) == 1 and "33.33 % of these are wrong" in table.notes[0]
    figures = report.figures(hand_made_results())
    lines = figures["accuracy_by_step"].axes[0].lines
    assert [line.get_label() for line in lines] == ["17", "19", "34", "all"]
    np.testing.assert_array_equal(lines[0].get_ydata(), [50, 0, 100])


@pytest.mark.parametrize(
    ("num_steps", "shown", "paper"),
    [
        (1, [1], [""]),
        (48, [1, 2, 4, 8, 16, 32, 48], [""] * 5 + ["94.1", ""]),
        (64, [1, 2, 4, 8, 16, 32, 64], [""] * 5 + ["94.1", "96.6"]),
    ],
)
def test_results_of_puzzles_with_17_givens_are_beside_published_ones(num_steps, shown, paper):
    zeros = np.zeros([2, num_steps])
    outputs = {"cells_correct": zeros, "confidence": zeros, "loss": zeros}
    arrays = {"givens": tf.constant([17, 20]), "pool": pool(17, 17)}
    report = SudokuReport(Sudoku(get_config().model))
    results = report.results(arrays, np.arange(2), outputs)
    table = report.table(results)
    assert list(table.columns[1:-1]) == [f"step {step}" for step in shown]
    assert list(table.rows[-1]) == ["paper, 17", *paper, ""]
    figures = report.figures(results)
    assert (figures == {}) == (num_steps == 1)  # the table says all of it
    if num_steps == 48:
        figure = figures["accuracy_by_step"]
        marks = figure.axes[0].lines[-1]
        assert marks.get_label() == "paper, 17" and marks.get_xydata().tolist() == [[32, 94.1]]
