"""A run's results over the updates: the charts of a page, and the figure."""

import pytest

from rrn.tasks.babi import BabiReport
from rrn.tasks.report import Quantity, Report
from rrn.training.curves import MOST, draw_curves, make_charts, plots, stage_marks

SHARED = {"split": "valid", "seconds": 1.0, "validation_error": 4.5}
NAN = pytest.approx(float("nan"), nan_ok=True)


def report_with(**quantities):
    """A report whose groups are tasks."""
    report = Report(None)
    report.quantities, report.group = quantities, "task"
    return report


def draw(lines, **quantities):
    """The panels by title, which the figure's part has where the panels are small."""
    quantities = {"error/": Quantity("wrong answers, %"), **quantities}
    figure = draw_curves(lines, report_with(**quantities))
    figure.draw_without_rendering()
    return figure, {axes.get_title(): axes for axes in figure.axes}


def drawn(axes):
    """Curve's name -> its points."""
    return {line.get_label(): line.get_xydata().tolist() for line in axes.lines}


# Plots


def test_every_quantity_has_a_plot_and_every_metric_a_curve():
    lines = [{"update": u, "error/mean": u / 2, "error/task_01": u, **SHARED} for u in (10, 20)]
    found = plots(lines, report_with(**{"error/": Quantity("wrong answers, %")}))
    curves = {"task 1": [(10, 10), (20, 20)], "mean": [(10, 5), (20, 10)]}
    assert found == {"wrong answers, %": curves}


def test_training_and_validation_are_in_percent_of_the_same():
    """Training counts right answers as shares, and bAbI's validation wrong ones in percent."""
    trained = {"update": 1, "accuracy": 0.75, "accuracy_by_task": [0.5, 1.0]}
    validated = {"update": 1, "error/mean": 20.0, "error/task_02": 0.0, "tasks_failed": 1, **SHARED}
    report = BabiReport(None)
    one, two = "1 single supporting fact", "2 two supporting facts"
    training, validation = plots([trained], report), plots([validated], report)
    assert training == {"wrong answers, %": {one: [(1, 50)], two: [(1, 0)], "mean": [(1, 25)]}}
    assert validation["wrong answers, %"] == {two: [(1, 0)], "mean": [(1, 20)]}


def test_groups_are_named_in_words():
    lines = [{"update": 1, "split": "valid", "share/18": 0.25, "share/118": 0.5}]
    (curves,) = plots(lines, BabiReport(None)).values()
    alone = "18 size reasoning, answered by the question alone"
    assert curves == {"18 size reasoning": [(1, 25)], alone: [(1, 50)]}


def test_places_of_lists_are_named_and_what_is_not_known_has_no_number():
    lines = [
        {"update": 10, "accuracy_by_step": [0.125], "accuracy_by_kind": [0.5, None]},
        {"update": 20, "accuracy_by_step": [0.25, 0.5], "accuracy_by_kind": [1, 0]},
    ]
    kinds = Quantity("right by kind, %", 100, "kind", 4)
    found = plots(lines, report_with(accuracy_by_kind=kinds))
    steps = {"step 1": [(10, 12.5), (20, 25)], "step 2": [(20, 50)]}
    kinds = {"kind 4": [(10, 50), (20, 100)], "kind 5": [(10, NAN), (20, 0)]}
    assert found == {"right answers by step, %": steps, "right by kind, %": kinds}
    assert plots([{"update": 1, "psnr": None}], report_with()) == {}


def test_one_step_has_no_second_copy_of_a_plot():
    trained = {"update": 1, "loss": 2.0, "accuracy": 0.5, "accuracy_by_step": [0.5]}
    assert plots([trained], Report(None)).keys() == {"loss", "right answers, %"}
    validated = {"update": 1, "mean_loss": 2.0, "loss": 2.0000001, **SHARED}
    assert plots([validated], Report(None)) == {"loss": {"mean": [(1, 2.0)]}}
    several = plots([validated | {"loss": 1.5}], Report(None))
    assert several == {"loss": {"last step": [(1, 1.5)], "mean": [(1, 2.0)]}}


def test_several_objectives_have_their_losses_in_one_plot():
    line = {"update": 1, "generator/loss": 2.0, "discriminator/loss": 3.0}
    found = plots([line | {"generator/gradient_norm": 4.0}], Report(None))
    assert found["loss"] == {"discriminator": [(1, 3.0)], "generator": [(1, 2.0)]}
    assert found["length of the gradient"] == {"generator": [(1, 4.0)]}


# Charts


def test_a_chart_has_training_and_validation_and_at_first_the_summary_of_many_curves():
    tasks = {f"error/task_{task:02d}": 1.0 for task in range(1, 21)}
    lines = [
        {"update": 1, "accuracy": 0.5, "loss": 1.0, "learning_rate": 3e-4},
        {"update": 1, **tasks, "error/mean": 9.0, "mean_loss": 1.0, **SHARED},
    ]
    charts = make_charts({"": (lines, BabiReport(None))}, [(1, "a mark")])
    assert [chart.title for chart in charts] == ["wrong answers, %", "loss", "learning rate"]
    wrong, loss, rate = charts
    parts = [(c.part, c.points) for c in wrong.curves if c.name == "mean"]
    assert parts == [("training", [(1, 50)]), ("validation", [(1, 9)])]
    assert wrong.names[1] == "2 two supporting facts" and wrong.names[-1] == "mean"
    assert len(wrong.names) == 21 and wrong.shown == ["mean"] and loss.shown == ["mean"]
    assert rate.curves[0].points == [(1, 3e-4)] and rate.marks == [(1, "a mark")]


def test_several_runs_are_shown_by_their_summaries():
    lines = [{"update": 1, "accuracy/distance_1": 3.0, "accuracy/all": 2.0, **SHARED}]
    (chart,) = make_charts({name: (lines, Report(None)) for name in ("a", "b")})
    assert [(c.run, c.name) for c in chart.curves if c.name == "all"] == [
        ("a", "all"),
        ("b", "all"),
    ]
    assert chart.names == ["distance 1", "all"] and chart.shown == ["all"]


def test_a_long_curve_is_thinned_and_keeps_its_end():
    lines = [{"update": u, "loss": None if u == 5 * MOST else 1 / 3} for u in range(5 * MOST + 1)]
    (chart,) = make_charts({"": (lines, Report(None))})
    points = chart.curves[0].points
    assert MOST // 2 < len(points) <= MOST
    assert points[-2:] == [(5 * MOST - 6, 0.33333), (5 * MOST, None)]


def test_a_stage_is_marked_where_it_begins():
    trained = [(10, "few"), (20, "few"), (30, "all")]
    lines = [{"update": update, "stage": stage} for update, stage in trained]
    lines.insert(1, {"update": 10, "split": "valid"})
    assert stage_marks(lines) == [(20, "stage all begins")]  # after the last update before


# The figure


def test_a_plot_is_a_panel_with_its_legend_beside_it():
    lines = [
        {"update": u, "error/mean": u / 2, "error/task_01": u, "loss": 1 / u, "psnr": 3.0, **SHARED}
        for u in (10, 20, 30)
    ]
    _, panels = draw(lines)
    assert list(panels) == ["loss", "psnr", "wrong answers, %"]  # and no empty one
    loss, _, error = panels.values()
    assert drawn(error) == {
        "task 1": [[10, 10], [20, 20], [30, 30]],
        "mean": [[10, 5], [20, 10], [30, 15]],
    }
    assert loss.get_legend() is None and loss.get_xlabel() == "updates"
    legend = error.get_legend()
    assert [text.get_text() for text in legend.get_texts()] == ["task 1", "mean"]
    assert legend.get_window_extent().x0 >= error.get_window_extent().x1  # outside


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
    assert begins.get_xdata() == [20, 20]


def test_one_number_is_a_mark():
    lines = [{"update": 20, "loss": 1.0, "accuracy_by_kind": [0.5, None]}]
    figure, panels = draw(lines, accuracy_by_kind=Quantity("right by kind, %", 100, "kind"))
    kinds = panels["right by kind, %"].lines
    assert [(line.get_label(), line.get_marker()) for line in kinds] == [("kind 0", ".")]
    assert all(tick == int(tick) for axes in figure.axes for tick in axes.get_xticks())
