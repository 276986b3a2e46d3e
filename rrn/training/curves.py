"""How a run's results changed while it trained, as a figure."""

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rrn.tasks.report import Quantity

if TYPE_CHECKING:  # only drawing needs it
    from matplotlib.figure import Figure

RUN = {"update", "run", "seconds", "examples_per_second", "split", "stage", "ended_early"}
MEMORY = "peak_memory/"  # of a run, too, and no metric
SUMMARIES, SUMMARY = ("all", "mean"), {"color": "black", "linestyle": "--", "linewidth": 1}
FEW = 30  # points that are marked: one alone makes no line
TOGETHER = 8  # so many curves can be told apart in one panel
COLUMNS = 5, 6, 7  # of small panels, if there are more; those that leave the fewest places empty
WIDTH, PANEL, SMALL = 11, 2.8, 1.6  # inches: of the figure, and the panels' heights

QUANTITIES = {  # those of every task
    "loss": Quantity("loss"),
    "mean_loss": Quantity("loss, mean over the steps"),
    "gradient_norm": Quantity("length of the gradient"),
    "learning_rate": Quantity("learning rate"),
    "accuracy": Quantity("right answers, %", 100),
    "accuracy_by_step": Quantity("right answers by step, %", 100, "step", 1),
    "accuracy/": Quantity("right answers, %"),
    "solved": Quantity("of the examples that leave, solved, %", 100),
    "segments_to_solve": Quantity("segments until an example is solved"),
    "share/": Quantity("share of the next batches by group, %", 100),
}


def draw_curves(lines: Sequence[Mapping[str, Any]], quantities: Mapping[str, Quantity]) -> "Figure":
    """Draws every kind of metric over the number of updates.

    A kind is a metric, all metrics of one name before the slash, or a metric that is a list. Where
    a kind has many curves, each has a small panel of its own, with the summary ("all", "mean") in
    all of them. A curve without a number is left out. A grey line is where a stage begins.

    Args:
      lines: the run's training or validation lines of metrics.jsonl, at least one.
      quantities: see `rrn.tasks.report.Report`.
    """
    from matplotlib.figure import Figure  # only drawing needs it
    from matplotlib.ticker import MaxNLocator

    quantities = {**QUANTITIES, **quantities}
    kinds = sorted(_by_kind(lines, quantities).items())
    few = [(kind, curves) for kind, curves in kinds if len(curves) <= TOGETHER + 1]
    many = [(kind, curves) for kind, curves in kinds if len(curves) > TOGETHER + 1]
    rows = [few[i : i + 2] for i in range(0, len(few), 2)]
    heights = [PANEL] * len(rows)
    heights += [0.6 + SMALL * math.ceil(len(curves) / COLUMNS[0]) for _, curves in many]
    figure = Figure(figsize=(WIDTH, sum(heights)), layout="constrained")
    parts = figure.subfigures(len(heights), 1, height_ratios=heights, squeeze=False)[:, 0]
    begins = [
        before["update"]
        for before, line in itertools.pairwise(lines)
        if before.get("stage") != line.get("stage")
    ]
    for part, row in zip(parts, rows, strict=False):
        panels = part.subplots(1, len(row), squeeze=False)[0]
        for axes, (kind, curves) in zip(panels, row, strict=True):
            _draw_together(axes, curves)
            axes.set(title=_quantity(kind, quantities).title, xlabel="updates")
    for part, (kind, curves) in zip(parts[len(rows) :], many, strict=True):
        _draw_apart(part, curves)
        part.suptitle(_quantity(kind, quantities).title)
        part.supxlabel("updates", fontsize="medium")
    for axes in figure.axes:
        axes.xaxis.set_major_locator(MaxNLocator("auto", integer=True))
        for update in begins:
            axes.axvline(update, color="0.8", zorder=0)
    return figure


def _quantity(kind, quantities):
    return quantities.get(kind) or Quantity(kind.rstrip("/").replace("_", " "))


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


def _by_kind(lines, quantities):
    """Kind -> {curve's name: [(update, value)]}; what no line has is left out."""
    kinds = {}
    for line in lines:
        for name in (name for name in line.keys() - RUN if not name.startswith(MEMORY)):
            before, slash, label = name.partition("/")
            kind, values = before + slash, line[name]
            quantity = _quantity(kind, quantities)
            if not isinstance(values, list):
                values = {_in_words(label): values}
            else:
                places = enumerate(values, quantity.first)
                values = {f"{quantity.counted} {place}".strip(): v for place, v in places}
            curves = kinds.setdefault(kind, {})
            for label, value in values.items():
                value = math.nan if value is None else quantity.factor * value
                curves.setdefault(label, []).append((line["update"], value))
    for kind, curves in kinds.items():
        known = [curve for curve in curves.items() if not all(math.isnan(v) for _, v in curve[1])]
        kinds[kind] = dict(sorted(known, key=_by_number))
    return {kind: curves for kind, curves in kinds.items() if curves}


def _in_words(label):
    """Writes task 1 for task_01."""
    return " ".join(word.lstrip("0") or "0" for word in label.split("_")) if label else ""


def _by_number(curve):
    """A key that sorts task 2 before task 10, and summaries last."""
    label, _ = curve
    *words, last = label.rsplit(" ", 1)
    return label in SUMMARIES, words, (int(last), "") if last.isdigit() else (-1, last)
