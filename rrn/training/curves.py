"""How a run's results changed while it trained, as a figure."""

import itertools

RUN = {"update", "seconds", "examples_per_second", "split", "stage"}  # no metrics


def draw_curves(lines):
    """A panel for each kind of metric ("error" of "error/task_01"; a list is one kind), over the
    number of updates, with a grey line where a stage begins.

    lines: the run's training or validation lines of metrics.jsonl, at least one. Metrics of one
    kind share a panel, their summary ("all", "mean") dashed; a list's go from dark to light.
    """
    from matplotlib import colormaps  # only drawing needs it
    from matplotlib.figure import Figure

    kinds = _by_kind(lines)
    rows = -(-len(kinds) // 2)
    figure = Figure(figsize=(10, 3.2 * rows), layout="constrained")
    panels = list(figure.subplots(rows, 2, squeeze=False).flat)
    for axes, kind in zip(panels, sorted(kinds), strict=False):
        curves = kinds[kind]
        for i, (label, points) in enumerate(sorted(curves.items())):
            style = {"color": colormaps["viridis"](i / len(curves))}
            if label in ("all", "mean"):
                style = {"color": "black", "linestyle": "--"}
            if isinstance(label, int):  # in a list; what its places mean is the task's
                label = {0: "first", len(curves) - 1: "last"}.get(i, "_")
            axes.plot(*zip(*points, strict=True), label=label, **style)
        axes.set(title=kind, xlabel="updates")
        for before, line in itertools.pairwise(lines):
            if before.get("stage") != line.get("stage"):
                axes.axvline(before["update"], color="0.8", zorder=0)
        if len(curves) > 1:
            axes.legend(fontsize=6, ncols=2)
    for axes in panels[len(kinds) :]:
        axes.set_axis_off()
    return figure


def _by_kind(lines):
    """Kind -> {metric's name in it: [(update, value)]}; what a line does not have is left out."""
    kinds = {}
    for line in lines:
        for name in line.keys() - RUN:
            kind, _, label = name.partition("/")
            curves = kinds.setdefault(kind, {})
            values = {label: line[name]}
            if isinstance(line[name], list):
                values = dict(enumerate(line[name]))
            for label, value in values.items():
                curves.setdefault(label, []).append((line["update"], value))
    return kinds
