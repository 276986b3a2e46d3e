"""Accuracy by group, its table and figure, by hand."""

import types

import numpy as np

from rrn.tasks import AccuracyReport

CORRECT = np.array([[0, 1], [1, 1], [0, 0], [1, 0]], np.float32)
GROUPS = np.array([2, 1, 0, 2, 0])


class Jumps(AccuracyReport):
    group = "jumps"
    published = (("paper", (90, 85, 80)),)
    note = "Theirs."


def test_results_by_group_their_table_and_figure():
    outputs = {"correct": CORRECT, "loss": np.array([[1.0, 3.0]] * 4)}
    report = Jumps(types.SimpleNamespace(groups=lambda arrays: GROUPS))
    results = report.results({}, np.array([0, 2, 3, 4]), outputs)
    by_step = {
        "accuracy/jumps_0": [100, 50],
        "accuracy/jumps_2": [0, 50],
        "accuracy/all": [50, 50],
        "loss": [1, 3],
    }
    assert results.by_step == by_step and results.error == 50
    assert results.metrics == {name: values[-1] for name, values in by_step.items()}
    assert results.group_errors == {0: 50, 2: 50} and results.group_sizes == {0: 2, 2: 2}
    table = report.table(results)
    assert [list(row) for row in (table.columns, *table.rows, table.notes)] == [
        ["accuracy, %; jumps:", "0", "2", "all"],
        ["step 1", "100.0", "0.0", "50.0"],
        ["step 2", "50.0", "50.0", "50.0"],
        ["paper", "90.0", "80.0", ""],
        ["Theirs."],
    ]
    axes = report.figures(results)["accuracy"].axes[0]
    drawn = {line.get_label(): line.get_xydata().tolist() for line in axes.lines}
    assert drawn == {
        "step 1": [[0, 100], [2, 0]],
        "step 2": [[0, 50], [2, 50]],
        "paper": [[0, 90], [1, 85], [2, 80]],  # of all kinds
    }


def test_sums_over_millions_of_examples_are_exact():
    examples = np.arange(2**21)
    report = Jumps(types.SimpleNamespace(groups=lambda arrays: np.zeros(len(examples))))
    ones = np.ones([len(examples), 2], np.float32)
    results = report.results({}, examples, {"correct": ones, "loss": 0.3 * ones})
    assert results.metrics["accuracy/all"] == 100 and results.error == 0
    assert abs(results.metrics["loss"] - 0.3) < 1e-6
