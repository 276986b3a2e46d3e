"""How a run's validation results changed while it trained, as a figure."""


def draw_curves(lines):
    """A panel for each kind of metric ("error" of "error/task_01"), over the number of updates.

    lines: the run's validation lines of metrics.jsonl, at least one. Metrics of one kind share a
    panel, their summary ("all", "mean") dashed.
    """
    from matplotlib import colormaps  # only drawing needs it
    from matplotlib.figure import Figure

    kinds = {}
    for name in lines[-1].keys() - {"update", "seconds", "split"}:
        kinds.setdefault(name.partition("/")[0], []).append(name)
    figure = Figure(figsize=(10, 3.2 * -(-len(kinds) // 2)), layout="constrained")
    panels = list(figure.subplots(-(-len(kinds) // 2), 2, squeeze=False).flat)
    updates = [line["update"] for line in lines]
    for axes, kind in zip(panels, sorted(kinds), strict=False):
        names = sorted(kinds[kind])
        for i, name in enumerate(names):
            label = name.partition("/")[2]
            style = {"color": colormaps["viridis"](i / len(names))}
            if label in ("all", "mean"):
                style = {"color": "black", "linestyle": "--"}
            axes.plot(updates, [line[name] for line in lines], label=label, **style)
        axes.set(title=kind, xlabel="updates")
        if len(names) > 1:
            axes.legend(fontsize=6, ncols=2)
    for axes in panels[len(kinds) :]:
        axes.set_axis_off()
    return figure
