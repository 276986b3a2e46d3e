"""The figure of a run's validation results."""

from rrn.training.curves import draw_curves


def test_every_kind_has_a_panel_and_every_metric_a_line():
    shared = {"split": "valid", "seconds": 1.0}
    lines = [
        {"update": u, "error/mean": u / 2, "error/task_01": u, "loss": 1 / u, "psnr": 3.0, **shared}
        for u in (10, 20, 30)
    ]
    error, loss, psnr, empty = draw_curves(lines).axes
    drawn = {line.get_label(): list(line.get_ydata()) for line in error.lines}
    assert drawn == {"mean": [5, 10, 15], "task_01": [10, 20, 30]}
    assert list(error.lines[0].get_xdata()) == [10, 20, 30]
    assert (loss.get_title(), len(loss.lines), loss.get_legend()) == ("loss", 1, None)
    assert psnr.get_title() == "psnr" and not empty.axison and error.get_legend() is not None
