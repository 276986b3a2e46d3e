"""The figure of a run's results over the updates."""

import pytest

from rrn.tasks.report import Quantity
from rrn.training.curves import draw_curves

SHARED = {"split": "valid", "seconds": 1.0}


def draw(lines, **quantities):
    """The panels by title, which the figure's part has where the panels are small."""
    figure = draw_curves(lines, {"error/": Quantity("wrong answers, %"), **quantities})
    figure.draw_without_rendering()
    return figure, {axes.get_title(): axes for axes in figure.axes}


def drawn(axes):
    """Curve's name -> its points."""
    return {line.get_label(): line.get_xydata().tolist() for line in axes.lines}


def test_every_kind_has_a_panel_and_every_metric_a_line():
    lines = [
        {"update": u, "error/mean": u / 2, "error/task_01": u, "loss": 1 / u, "psnr": 3.0, **SHARED}
        for u in (10, 20, 30)
    ]
    _, panels = draw(lines)
    assert list(panels) == ["wrong answers, %", "loss", "psnr"]  # and no empty one
    error, loss, _ = panels.values()
    assert drawn(error) == {
        "task 1": [[10, 10], [20, 20], [30, 30]],
        "mean": [[10, 5], [20, 10], [30, 15]],
    }
    assert loss.get_legend() is None and loss.get_xlabel() == "updates"
    legend = error.get_legend()
    assert [text.get_text() for text in legend.get_texts()] == ["task 1", "mean"]
    assert legend.get_window_extent().x0 >= error.get_window_extent().x1  # outside


def test_shares_are_in_percent_and_places_of_lists_are_named():
    lines = [
        {"update": 10, "loss": 3.0, "accuracy_by_step": [0.125], "accuracy_by_kind": [0.5, None]},
        {"update": 20, "loss": 2.0, "accuracy_by_step": [0.25, 0.5], "accuracy_by_kind": [1, 0]},
    ]
    _, panels = draw(lines, accuracy_by_kind=Quantity("right by kind, %", 100, "kind", 4))
    steps = drawn(panels["right answers by step, %"])
    assert steps == {"step 1": [[10, 12.5], [20, 25]], "step 2": [[20, 50]]}
    kinds = drawn(panels["right by kind, %"])
    assert kinds["kind 4"] == [[10, 50], [20, 100]]
    assert kinds["kind 5"] == [[10, pytest.approx(float("nan"), nan_ok=True)], [20, 0]]


def test_many_curves_have_a_panel_each_with_the_summary():
    names = {f"error/task_{task:02d}": float(task) for task in range(1, 21)}
    lines = [{"update": u, **names, "error/mean": 9.0, "loss": 1.0, **SHARED} for u in (1, 2)]
    figure, panels = draw(lines)
    assert list(panels) == ["loss", *(f"task {task}" for task in range(1, 21))]
    for task in (1, 10, 20):
        curves = drawn(panels[f"task {task}"])
        assert curves == {"mean": [[1, 9], [2, 9]], f"task {task}": [[1, task], [2, task]]}
    assert len({axes.get_ylim() for axes in figure.axes[1:]}) == 1  # the same scale
    assert {len(row) for row in by_row(figure.axes[1:]).values()} == {5}
    assert figure.subfigs[1].get_suptitle() == "wrong answers, %"


def test_small_panels_leave_no_place_empty():
    lines = [{"update": 1, **{f"solved/{givens}": 1.0 for givens in range(17, 35)}}]
    figure, _ = draw(lines)
    assert {len(row) for row in by_row(figure.axes).values()} == {6}


def by_row(panels):
    """Height -> panels at it."""
    rows = {}
    for axes in panels:
        rows.setdefault(round(axes.get_position().y0, 3), []).append(axes)
    return rows


def test_a_line_is_where_a_stage_begins():
    lines = [
        {"update": 10, "stage": "few", "loss": 3.0},
        {"update": 20, "stage": "few", "loss": 2.0},
        {"update": 30, "stage": "all"},
    ]
    _, panels = draw(lines)
    loss, begins = panels["loss"].lines
    assert loss.get_xydata().tolist() == [[10, 3.0], [20, 2.0]]  # of one stage only
    assert begins.get_xdata() == [20, 20]  # after the last update of the stage before


def test_what_has_no_number_is_left_out_and_one_number_is_a_mark():
    lines = [{"update": 20, "loss": 1.0, "psnr": None, "accuracy_by_kind": [0.5, None]}]
    figure, panels = draw(lines, accuracy_by_kind=Quantity("right by kind, %", 100, "kind"))
    assert list(panels) == ["right by kind, %", "loss"]
    kinds = panels["right by kind, %"].lines
    assert [(line.get_label(), line.get_marker()) for line in kinds] == [("kind 0", ".")]
    assert all(tick == int(tick) for axes in figure.axes for tick in axes.get_xticks())
