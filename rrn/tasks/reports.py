"""What tasks' reports share: results by step, and tables and figures of accuracy by kind."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from rrn.tasks.task import Results

if TYPE_CHECKING:  # only drawing needs it
    from matplotlib.figure import Figure

# Other people's accuracy: (name, percent by kind, from kind 0 on).
Published = Sequence[tuple[str, Sequence[float]]]


def results_by_step(
    by_step: Mapping[str, np.ndarray], error: float, group_errors: Mapping[int, float] | None = None
) -> Results:
    """Puts together the results of a network that answers at every step.

    Args:
      by_step: name -> `[steps]`.
      error: the number by which the best weights are chosen; the lowest is the best.
      group_errors: group -> its error; none if not given.

    Returns:
      The results; the metrics are the values at the last step.
    """
    return Results(
        metrics={name: float(values[-1]) for name, values in by_step.items()},
        error=float(error),
        by_step={name: [float(v) for v in values] for name, values in by_step.items()},
        group_errors=dict(group_errors or {}),
    )


def accuracy_by_kind(outputs: Mapping[str, np.ndarray], kinds: np.ndarray, name: str) -> Results:
    """Computes the percentage of right answers by step, for each kind of question and for all.

    Args:
      outputs: "correct" and "loss", each `[examples, steps]`, of `rrn.readout.answer_losses`.
      kinds: each question's kind, integers `[examples]`.
      name: what a kind is, in a word.

    Returns:
      The results "accuracy/{name}_{kind}" for each kind that occurs, "accuracy/all" and "loss", all
      by step. The kinds are the groups. Errors are percentages of wrong answers at the last step.
    """
    right = 100.0 * outputs["correct"]
    by_kind = {int(kind): right[kinds == kind].mean(axis=0) for kind in np.unique(kinds)}
    by_step = {f"accuracy/{name}_{kind}": percents for kind, percents in by_kind.items()}
    by_step["accuracy/all"] = right.mean(axis=0)
    by_step["loss"] = outputs["loss"].mean(axis=0)
    return results_by_step(
        by_step,
        error=100.0 - by_step["accuracy/all"][-1],
        group_errors={kind: 100.0 - float(v[-1]) for kind, v in by_kind.items()},
    )


def format_accuracy(results: Results, name: str, published: Published = ()) -> str:
    """Writes accuracy as a table: a row for each step, a column for each kind.

    Args:
      results: what `accuracy_by_kind` returned.
      name: what a kind is, in a word.
      published: rows of other people's results.

    Returns:
      The table's lines.
    """
    kinds = _kinds(results, name)
    columns = {**kinds, "all": results.by_step["accuracy/all"]}
    rows = [(f"step {i + 1}", v) for i, v in enumerate(zip(*columns.values(), strict=True))]
    rows += [(row, [percents[kind] for kind in kinds]) for row, percents in published]
    lines = [f"{f'right, %; {name}:':<34}" + "".join(f"{kind:>7}" for kind in columns)]
    for row, percents in rows:
        lines.append(f"{row:<34}" + "".join(f"{percent:7.1f}" for percent in percents))
    return "\n".join(lines)


def draw_accuracy(results: Results, name: str, published: Published = ()) -> "Figure":
    """Draws accuracy by kind: a line for each step.

    Args:
      results: what `accuracy_by_kind` returned.
      name: what a kind is, in a word.
      published: other people's results, as dashed lines.

    Returns:
      The figure.
    """
    from matplotlib.figure import Figure

    by_kind = _kinds(results, name)
    kinds = list(by_kind)
    steps = list(zip(*by_kind.values(), strict=True))
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.subplots()
    for i, percents in enumerate(steps, 1):
        shade = str(0.8 * (1 - i / len(steps)))
        axes.plot(kinds, percents, "o-", color=shade, label=f"step {i}")
    for i, (label, percents) in enumerate(published):
        axes.plot(percents, "--", color=f"C{i}", linewidth=1, label=label)  # kinds from 0 on
    axes.set(xlabel=name, ylabel="right, %", ylim=(0, 103))
    axes.legend(fontsize=7)
    return figure


def _kinds(results, name):
    """Kind -> percents right by step, of the results of `accuracy_by_kind`."""
    return {kind: results.by_step[f"accuracy/{name}_{kind}"] for kind in results.group_errors}
