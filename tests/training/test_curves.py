"""The figure of a run's results over the updates."""

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


def test_training_lines_may_have_lists_and_stages():
    lines = [
        {"update": 10, "stage": "few", "loss": 3.0, "accuracy_by_step": [0.1]},
        {"update": 20, "stage": "few", "loss": 2.0, "accuracy_by_step": [0.3]},
        {"update": 30, "stage": "all", "accuracy_by_step": [0.4, 0.5, 0.6]},
    ]
    accuracy, loss = draw_curves(lines).axes
    *steps, begins = ((line.get_label(), line.get_xydata().tolist()) for line in accuracy.lines)
    assert steps == [
        ("first", [[10, 0.1], [20, 0.3], [30, 0.4]]),
        ("_", [[30, 0.5]]),
        ("last", [[30, 0.6]]),
    ]
    assert [x for x, _ in begins[1]] == [20, 20]  # after the last update of the stage before
    assert [text.get_text() for text in accuracy.get_legend().get_texts()] == ["first", "last"]
    assert loss.lines[0].get_xydata().tolist() == [[10, 3.0], [20, 2.0]]  # of one stage only
