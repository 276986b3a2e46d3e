"""A run's metrics over the updates, as curves and as a figure."""

import pytest

from rrn.training.curves import collect_curves, draw_curves

NAN = pytest.approx(float("nan"), nan_ok=True)
LINES = [
    {"update": 1, "seconds": 1.0, "stage": "a", "loss": 3.0, "accuracy_by_task": [0.5, None]},
    {"update": 2, "stage": "b", "generator/loss": 1.0, "peak_memory/GPU:0": 5},
    {"update": 2, "split": "valid", "mean_loss": 4.0, "loss": 2.0, "error/mean": 5.0},
]


def test_metrics_are_sorted_by_panel():
    assert collect_curves(LINES) == {
        "loss": {("", False): [(1, 3.0)], ("generator", False): [(2, 1.0)], ("", True): [(2, 4.0)]},
        "accuracy_by_task": {("1", False): [(1, 0.5)], ("2", False): [(1, NAN)]},
        "loss of the last step": {("", True): [(2, 2.0)]},
        "error": {("mean", True): [(2, 5.0)]},
    }


def test_training_is_thin_validation_thick_and_a_line_is_where_a_stage_begins():
    figure = draw_curves(LINES)
    figure.draw_without_rendering()
    panels = {axes.get_title(): axes for axes in figure.axes}
    assert list(panels) == ["accuracy by task", "error", "loss", "loss of the last step"]
    *curves, begins = panels["loss"].lines
    drawn = {line.get_label(): (line.get_ydata().tolist(), line.get_linewidth()) for line in curves}
    assert drawn == {
        "all": ([3.0], 0.8),
        "generator": ([1.0], 0.8),
        "all (validation)": ([4.0], 2.0),
    }
    assert list(begins.get_xdata()) == [1, 1]
