"""A run's metrics over the updates, as curves."""

import pytest

from rrn.training.curves import collect_curves

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
