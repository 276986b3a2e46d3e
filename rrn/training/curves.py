"""How a run's results changed while it trained: as charts of a page, and as a figure."""

import itertools
import math
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rrn.pages import Chart, Curve
from rrn.tasks.report import Quantity, Report

if TYPE_CHECKING:  # only drawing needs it
    from matplotlib.figure import Figure

Lines = Sequence[Mapping[str, Any]]  # of metrics.jsonl
Plots = dict[str, dict[str, list[tuple[int, float]]]]  # title -> curve's name -> (update, value)

NO_METRICS = {"update", "run", "seconds", "examples_per_second", "split", "stage"}
NO_METRICS |= {"validation_error"}  # which is one of them
MEMORY = "peak_memory/"  # of a run, too, and no metric
SUMMARIES, SUMMARY = ("all", "mean"), {"color": "black", "linestyle": "--", "linewidth": 1}
FEW = 30  # points that are marked: one alone makes no line
TOGETHER = 8  # so many curves can be told apart in one panel
COLUMNS = 5, 6, 7  # of small panels, if there are more; those that leave the fewest places empty
WIDTH, PANEL, SMALL = 11, 2.8, 1.6  # inches: of the figure, and the panels' heights
MOST = 1_000  # points of a curve on a page

QUANTITIES = {  # those of every task
    "loss": Quantity("loss", curve="mean"),  # over the steps
    "mean_loss": Quantity("loss", curve="mean"),
    "last_loss": Quantity("loss", curve="last step"),
    "gradient_norm": Quantity("length of the gradient"),
    "learning_rate": Quantity("learning rate"),
    "accuracy": Quantity("right answers, %", 100),
    "accuracy_by_step": Quantity("right answers by step, %", 100, "step", 1),
    "accuracy/": Quantity("right answers, %"),
    "solved": Quantity("of the examples that leave, solved, %", 100),
    "segments_to_solve": Quantity("segments until an example is solved"),
    "share/": Quantity("share of the next batches by group, %", 100),
}


def by_part(lines: Lines) -> dict[str, Lines]:
    """Parts lines of metrics.jsonl into "training" and "validation", where there are some."""
    parts = {"training": [], "validation": []}
    for line in lines:
        parts["validation" if "split" in line else "training"].append(line)
    return {part: some for part, some in parts.items() if some}


def make_charts(
    runs: Mapping[str, tuple[Lines, Report]], marks: Sequence[tuple[int, str]] = ()
) -> list[Chart]:
    """Makes a chart of every quantity, with the curves of training and validation.

    Where there are many curves, or several runs, summaries are shown at first, or the first curves.

    Args:
      runs: name -> its lines of metrics.jsonl, and a report that says what metrics are.
      marks: what all charts mark: updates, each with a few words.
    """
    curves: dict[str, list[Curve]] = {}
    for run, (lines, report) in runs.items():
        for part, some in by_part(lines).items():
            for title, named in plots(some, report).items():
                curves.setdefault(title, []).extend(
                    Curve(run, name, part, _thinned(points)) for name, points in named.items()
                )
    charts = []
    for title, some in curves.items():
        names = sorted({curve.name for curve in some}, key=in_order)
        summaries = [name for name in names if name in SUMMARIES]
        many = len(names) > (TOGETHER if len(runs) == 1 else 1)
        shown = summaries or names[:TOGETHER] if many else names
        charts.append(Chart(title, some, names, shown, marks))
    return sorted(charts, key=_by_parts)


def _by_parts(chart):
    """A key by which charts of training and validation are first, and the loss is the last."""
    parts = {curve.part for curve in chart.curves}
    return -len(parts), "validation" not in parts, chart.title == "loss", chart.title


def stage_marks(lines: Lines) -> list[tuple[int, str]]:
    """Finds where a run's stages begin: the last update before, and the stage's name."""
    trained = [line for line in lines if "split" not in line]
    return [
        (before["update"], f"stage {line.get('stage')} begins")
        for before, line in itertools.pairwise(trained)
        if before.get("stage") != line.get("stage")
    ]


def _thinned(points):
    """At most `MOST` of the points, with the last; values that are not finite are None."""
    every = math.ceil(len(points) / MOST)
    some = points[::-1][::every][::-1]
    return [(update, float(f"{v:.5g}") if math.isfinite(v) else None) for update, v in some]


def draw_curves(lines: Lines, report: Report) -> "Figure":
    """Draws every kind of metric over the number of updates.

    Where a plot has many curves, each has a small panel of its own, with the summary ("all",
    "mean") in all of them. A grey line is where a stage begins.

    Args:
      lines: the run's training or validation lines of metrics.jsonl, at least one.
      report: it says what metrics are.
    """
    from matplotlib.figure import Figure  # only drawing needs it
    from matplotlib.ticker import MaxNLocator

    found = sorted(plots(lines, report).items())
    few = [(title, curves) for title, curves in found if len(curves) <= TOGETHER + 1]
    many = [(title, curves) for title, curves in found if len(curves) > TOGETHER + 1]
    rows = [few[i : i + 2] for i in range(0, len(few), 2)]
    heights = [PANEL] * len(rows)
    heights += [0.6 + SMALL * math.ceil(len(curves) / COLUMNS[0]) for _, curves in many]
    figure = Figure(figsize=(WIDTH, sum(heights)), layout="constrained")
    parts = figure.subfigures(len(heights), 1, height_ratios=heights, squeeze=False)[:, 0]
    for part, row in zip(parts, rows, strict=False):
        panels = part.subplots(1, len(row), squeeze=False)[0]
        for axes, (title, curves) in zip(panels, row, strict=True):
            _draw_together(axes, curves)
            axes.set(title=title, xlabel="updates")
    for part, (title, curves) in zip(parts[len(rows) :], many, strict=True):
        _draw_apart(part, curves)
        part.suptitle(title)
        part.supxlabel("updates", fontsize="medium")
    for axes in figure.axes:
        axes.xaxis.set_major_locator(MaxNLocator("auto", integer=True))
        for update, _ in stage_marks(lines):
            axes.axvline(update, color="0.8", zorder=0)
    return figure


def _draw_together(axes, curves):
    """All curves of a kind, with a legend beside them."""
    from matplotlib import colormaps

    for i, (label, points) in enumerate(curves.items()):
        style = {"color": colormaps["viridis"](0.9 * i / len(curves))}
        if label in SUMMARIES:
            style = SUMMARY
        _plot(axes, points, label, **style)
    if len(curves) > 1:
        axes.legend(fontsize="small", loc="center left", bbox_to_anchor=(1, 0.5))


def _draw_apart(part, curves):
    """A small panel for each curve of a kind."""
    summaries = {label: points for label, points in curves.items() if label in SUMMARIES}
    apart = {label: points for label, points in curves.items() if label not in SUMMARIES}
    columns = min(COLUMNS, key=lambda number: -len(apart) % number)
    rows, first = math.ceil(len(apart) / columns), None
    for i, (label, points) in enumerate(apart.items()):
        axes = part.add_subplot(rows, columns, i + 1, sharex=first, sharey=first)
        first = first or axes
        for summary, its_points in summaries.items():
            _plot(axes, its_points, summary, **SUMMARY)
        _plot(axes, points, label)
        axes.set_title(label, fontsize="small")
        axes.tick_params(labelsize="small", labelleft=i % columns == 0)
        axes.tick_params(labelbottom=i + columns >= len(apart))
    if summaries and first is not None:
        part.legend(first.lines[: len(summaries)], [*summaries], loc="outside upper right")


def _plot(axes, points, label, **style):
    marker = "." if len(points) <= FEW else ""
    axes.plot(*zip(*points, strict=True), label=label, marker=marker, **style)


def plots(lines: Lines, report: Report) -> Plots:
    """Makes the plots of training's or validation's lines: title -> {curve: [(update, value)]}.

    A curve without a number is left out, and so is what repeats another where there is one step.
    NaN stands for what is not known.

    Args:
      lines: training or validation lines of metrics.jsonl.
      report: it says what metrics are.
    """
    found: Plots = {}
    for line in lines:
        for name, value in _numbers(line):
            quantity, curves = _curves_of(name, value, report)
            for curve, number in curves.items():
                number = math.nan if number is None else quantity.factor * number + quantity.offset
                points = found.setdefault(quantity.title, {}).setdefault(curve, [])
                points.append((line["update"], number))
    for title, curves in found.items():
        known = [curve for curve in curves.items() if not all(math.isnan(v) for _, v in curve[1])]
        found[title] = dict(sorted(known, key=lambda curve: in_order(curve[0])))
    return {title: curves for title, curves in found.items() if curves and [*curves] != ["step 1"]}


def _numbers(line):
    """(name, value) of a line's metrics; a validation's "loss" is that of the last step."""
    metrics = {
        name: value
        for name, value in line.items()
        if name not in NO_METRICS and not name.startswith(MEMORY)
    }
    if "mean_loss" in metrics and "loss" in metrics:
        last = metrics.pop("loss")
        if not (last and math.isclose(last, metrics["mean_loss"] or 0, rel_tol=1e-5)):
            metrics["last_loss"] = last
    return metrics.items()


def _curves_of(name, value, report):
    """What a metric is, and its curves: name -> number."""
    quantities = {**QUANTITIES, **report.quantities}
    before, slash, label = name.partition("/")
    if label in ("loss", "gradient_norm", "learning_rate"):  # of one of several objectives
        return quantities[label], {before: value}
    kind = before + slash
    quantity = quantities.get(name) or quantities.get(kind)
    quantity = quantity or Quantity(kind.rstrip("/").replace("_", " "))
    if not isinstance(value, list):
        return quantity, {_in_words(label, report) if slash else quantity.curve: value}
    counted = quantity.counted
    by_group = counted == report.group
    return quantity, {
        report.group_name(place) if by_group else f"{counted} {place}".strip(): number
        for place, number in enumerate(value, quantity.first)
    }


def _in_words(label, report):
    """The name of a group, as "task_01" and "17" are; else "step 1" for step_01."""
    if found := re.fullmatch(rf"(?:{report.group}[ _])?0*(\d+)", label):
        return report.group_name(int(found[1]))
    return re.sub(r"\b0+(?=\d)", "", label.replace("_", " "))


def in_order(name: str) -> tuple:
    """Makes a key that sorts task 2 before task 10, and summaries last."""
    words = re.split(r"(\d+)", name)
    return name in SUMMARIES, [int(word) if word.isdigit() else word for word in words]
