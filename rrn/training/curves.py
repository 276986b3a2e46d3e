"""How a run's metrics changed while it trained, as one figure."""

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib import colormaps
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

Lines = Sequence[Mapping[str, Any]]  # of metrics.jsonl
Panels = dict[str, dict[tuple[str, bool], list[tuple[int, float]]]]

NO_METRICS = {"update", "seconds", "examples_per_second", "split", "stage"}
NO_METRICS |= {"validation_error"}  # which is one of them
MEMORY = "peak_memory/"  # of a run, too, and no metric
BY_OBJECTIVE = "loss", "gradient_norm", "learning_rate"  # as in "generator/loss"
IN_VALIDATION = {"mean_loss": "loss", "loss": "loss of the last step"}
FEW = 30  # points that are marked: one alone makes no line


def collect_curves(lines: Lines) -> Panels:
    """Sorts metrics by panel: "error/task_01" and "error/mean" are curves of the panel "error".

    A list has a curve for each of its numbers. NaN stands for what is not known.

    Returns:
      panel -> (curve's name, whether it is of validation) -> [(update, value)].
    """
    panels: Panels = {}
    for line in lines:
        validation = "split" in line
        for name, value in line.items():
            if name in NO_METRICS or name.startswith(MEMORY):
                continue
            panel, _, curve = name.partition("/")
            if curve in BY_OBJECTIVE:
                panel, curve = curve, panel
            if validation and not curve:
                panel = IN_VALIDATION.get(panel, panel)
            numbers = enumerate(value, 1) if isinstance(value, list) else [(curve, value)]
            for curve, number in numbers:
                points = panels.setdefault(panel, {}).setdefault((str(curve), validation), [])
                points.append((line["update"], math.nan if number is None else number))
    return panels


def draw_curves(lines: Lines) -> Figure:
    """Draws all metrics over the updates: training thin, validation thick.

    A grey line is where a stage begins.
    """
    trained = [line for line in lines if "split" not in line]
    pairs = itertools.pairwise(trained)
    begins = [a["update"] for a, b in pairs if a.get("stage") != b.get("stage")]
    panels = sorted(collect_curves(lines).items())
    figure = Figure(figsize=(12, 2.8 * math.ceil(len(panels) / 2)), layout="constrained")
    for i, (title, curves) in enumerate(panels, 1):
        axes = figure.add_subplot(math.ceil(len(panels) / 2), 2, i, title=title.replace("_", " "))
        axes.xaxis.set_major_locator(MaxNLocator("auto", integer=True))
        names = list(dict.fromkeys(name for name, _ in curves))
        for (name, validation), points in curves.items():
            style: dict[str, Any] = {
                "color": colormaps["viridis"](0.9 * names.index(name) / len(names))
            }
            style |= {"linewidth": 2.0 if validation else 0.8}
            style |= {"marker": "." if len(points) <= FEW else ""}
            label = (name or "all").replace("_", " ") + " (validation)" * validation
            axes.plot(*zip(*points, strict=True), label=label, **style)
        for update in begins:
            axes.axvline(update, color="0.8", zorder=0)
        if len(curves) > 1:
            columns, beside = 1 + len(curves) // 12, {"bbox_to_anchor": (1, 0.5)}
            axes.legend(fontsize="xx-small", ncols=columns, loc="center left", **beside)
    return figure
