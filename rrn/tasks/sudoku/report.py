"""Sudoku's results: boards solved by givens and step, beside the published figures."""

import numpy as np

from rrn.tasks.reports import results_by_step

PAPER = (
    "17 givens, boards solved: paper 94.1 % after 32 steps and 96.6 % after 64; "
    "Recurrent Transformer (2023) 96.7 %",
    "17-34 givens, boards solved, other people's: DGL's RRN 95.3 % after 32 steps and 98.9 % "
    "after 64; RRN-derived (2022) 99.13 ± 0.14 %; Recurrent Transformer (2023) 99.5 %",
)


def results(arrays, examples, outputs):
    """`board_accuracy/17` ... `/34`, `/all`, `cell_accuracy/...` (percent), `loss`."""
    givens, cells = arrays["givens"].numpy()[examples], outputs["cells_correct"]
    by_step, levels = {}, np.unique(givens).tolist()
    for name, right in (("board", cells == 81.0), ("cell", cells / 81.0)):
        for level in levels:
            by_step[f"{name}_accuracy/{level}"] = 100.0 * right[givens == level].mean(axis=0)
        by_step[f"{name}_accuracy/all"] = 100.0 * right.mean(axis=0)
    by_step["loss"] = outputs["loss"].mean(axis=0)
    unsolved = {n: 100.0 - float(by_step[f"board_accuracy/{n}"][-1]) for n in levels}
    error = 100.0 - by_step["board_accuracy/all"][-1]
    return results_by_step(by_step, error, group_errors=unsolved)


def _levels(results):
    """[(givens, % of boards solved by step, % of cells right by step)], ascending."""
    by_step = results.by_step
    return [
        (level, by_step[f"board_accuracy/{level}"], by_step[f"cell_accuracy/{level}"])
        for level in results.group_errors
    ]


def table(results):
    """Boards solved and cells right in words, beside the published figures."""
    by_step, levels = results.by_step, _levels(results)
    num_steps = len(by_step["loss"])
    steps = [2**i for i in range(num_steps.bit_length()) if 2**i < num_steps] + [num_steps]
    lines = [
        f"{'':<14}{'boards solved, %'.ljust(8 * len(steps))}   cells right, %",
        f"{'givens, step':<14}" + "".join(f"{step:8d}" for step in steps) + f"{num_steps:17d}",
    ]
    name = f"{levels[0][0]}-{levels[-1][0]}, all"
    both = by_step["board_accuracy/all"], by_step["cell_accuracy/all"]
    for level, boards, cells in [*levels, (name, *both)]:
        numbers = "".join(f"{boards[step - 1]:8.1f}" for step in steps)
        lines.append(f"{level!s:<14}{numbers}{cells[-1]:17.2f}")
    return "\n".join([*lines, *PAPER])


def figures(results):
    """`accuracy_by_step`: boards solved, a line for each number of givens;
    `accuracy_by_givens_and_step`: the same as a map.
    """
    from matplotlib import colormaps  # only drawing needs it
    from matplotlib.figure import Figure

    givens, boards, _ = zip(*_levels(results), strict=True)
    steps = np.arange(1, len(boards[0]) + 1)
    lines = Figure(figsize=(8, 4.5), layout="constrained")
    axes = lines.subplots()
    for i, (level, values) in enumerate(zip(givens, boards, strict=True)):
        colour = colormaps["viridis"](i / max(len(givens) - 1, 1))
        axes.plot(steps, values, color=colour, label=f"{level}")
    axes.plot(steps, results.by_step["board_accuracy/all"], "k--", label="all")
    axes.set(xlabel="step", ylabel="boards solved, %", xlim=(1, steps[-1]), ylim=(0, 101))
    axes.set_title("\n".join(PAPER), fontsize=6)
    axes.legend(title="givens", fontsize=7, ncols=2)

    heat = Figure(figsize=(8, 4.5), layout="constrained")
    axes = heat.subplots()
    edges = 0.5, steps[-1] + 0.5, -0.5, len(givens) - 0.5
    image = axes.imshow(boards, aspect="auto", origin="lower", vmin=0, vmax=100, extent=edges)
    axes.set(xlabel="step", ylabel="givens")
    axes.set_yticks(range(len(givens)), givens)
    heat.colorbar(image, label="boards solved, %")
    return {"accuracy_by_step": lines, "accuracy_by_givens_and_step": heat}
