"""What a report is: what a model reaches on a split, computed and shown.

A task makes a model's outputs, and its report makes of them what people read. The program that
evaluates asks a task's room for its report; a task knows of none.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from rrn.pages import Example, Table
from rrn.tasks.task import Arrays, Task

if TYPE_CHECKING:  # only drawing needs it
    from matplotlib.figure import Figure


@dataclasses.dataclass(frozen=True)
class Results:
    """What a model reaches on a split, or on a part of it.

    Attributes:
      metrics: name -> the number at the last step.
      error: the number by which the best weights are chosen; the lowest is the best.
      by_step: name -> the numbers by step; empty where there are no steps.
      group_errors: group of `Task.groups` -> its error; examples are drawn by these errors where
        the config's `error_share` is above 0.
      group_sizes: group -> how many of the examples are of it; empty where there are no groups.
      samples: whatever else the report's figures show.
      by_stage: stage -> the results of the weights at its end; empty where there are no stages.
    """

    metrics: dict[str, float]
    error: float
    by_step: dict[str, list[float]] = dataclasses.field(default_factory=dict)
    group_errors: dict[int, float] = dataclasses.field(default_factory=dict)
    group_sizes: dict[int, int] = dataclasses.field(default_factory=dict)
    samples: Any = None
    by_stage: dict[str, "Results"] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Quantity:
    """What the figures say of a kind of metric.

    Kinds of one title are curves of one plot.

    Attributes:
      title: what it is in words, and its unit.
      factor: by what its numbers are multiplied, 100 where a share is shown in percent.
      counted: if it is a list, what its places are, in a word.
      first: the number of the list's first place.
      offset: what is added then; a factor of -100 and 100 make of a share right a percentage wrong.
      curve: if it is one number, what its curve is called beside others of the title.
    """

    title: str
    factor: float = 1
    counted: str = ""
    first: int = 0
    offset: float = 0
    curve: str = "all"


class Report:
    """The results of a task's outputs, with their table, figures and examples.

    Everything has a default, so that a task without a report of its own has this one.

    Attributes:
      quantities: kind of metric -> what figures say of it. A kind is a metric's name, up to the
        slash and with it if there is one: "error/" is that of "error/task_01".
      error: what `Results.error` and `Results.group_errors` are, in words, and after a comma the
        unit.
      group: what a group is, in the word that metrics are named with, "task" in "error/task_01".
    """

    quantities: ClassVar[Mapping[str, Quantity]] = {}
    error: ClassVar[str] = "loss"
    group: ClassVar[str] = "group"

    def __init__(self, task: Task):
        self.task = task

    def group_name(self, group: int) -> str:
        """Names a group of `Task.groups` in words; by default "group 3", with the word `group`.

        It is asked for without a task, too, where runs are compared.
        """
        return f"{self.group} {group}"

    def results(
        self, arrays: Arrays, examples: np.ndarray, outputs: dict[str, np.ndarray]
    ) -> Results:
        """Computes the results; by default the mean loss, which is also the error.

        Args:
          examples: ids of all examples of the split, or of some.
          outputs: name -> `[examples, ...]`, in the order of `examples`.
        """
        loss = np.mean(outputs["loss"], axis=0)
        last = float(loss[-1] if loss.ndim else loss)
        by_step = {"loss": loss.tolist()} if loss.ndim else {}
        return Results({"loss": last}, error=last, by_step=by_step)

    def table(self, results: Results) -> Table | str:
        """Makes a table, or text of any form, of the results; by default a row for each metric."""
        rows = [(name, f"{value:.4f}") for name, value in results.metrics.items()]
        return Table(("", "value"), rows)

    def figures(self, results: Results) -> dict[str, "Figure"]:
        """Draws the results: name -> figure; by default none."""
        return {}

    def examples(self, arrays: Arrays, ids: np.ndarray, seed: int) -> list[Example]:
        """Shows on the page of a run what the network makes of a few examples, step by step.

        By default there are none. It runs outside of `tf.function`, and should take a few seconds.

        Args:
          ids: those of the examples that were evaluated, increasing.
          seed: the experiment's, for `rrn.tasks.inputs.evaluation_batch`.
        """
        return []


# What reports of several tasks are made of

# Other people's accuracy: (name, percent by kind, from kind 0 on).
Published = Sequence[tuple[str, Sequence[float]]]


def results_by_step(
    by_step: Mapping[str, np.ndarray],
    error: float,
    groups: np.ndarray | None = None,
    group_errors: Mapping[int, float] | None = None,
) -> Results:
    """Puts together the results of a network that answers at every step; see `Results`.

    Args:
      by_step: name -> `[steps]`.
      groups: each example's group, integers `[examples]`.

    Returns:
      The results; the metrics are the values at the last step.
    """
    return Results(
        metrics={name: float(values[-1]) for name, values in by_step.items()},
        error=float(error),
        by_step={name: [float(v) for v in values] for name, values in by_step.items()},
        group_errors=dict(group_errors or {}),
        group_sizes={} if groups is None else group_sizes(groups),
    )


def group_sizes(groups: np.ndarray) -> dict[int, int]:
    """Counts the examples of each group: group -> number, by group.

    Args:
      groups: each example's group, integers `[examples]`.
    """
    found, counts = np.unique(groups, return_counts=True)
    return dict(zip(found.tolist(), counts.tolist(), strict=True))


def accuracy_by_kind(outputs: Mapping[str, np.ndarray], kinds: np.ndarray, name: str) -> Results:
    """Computes the percentage of right answers by step, for each kind of question and for all.

    Args:
      outputs: "correct" and "loss", each `[examples, steps]`, of `rrn.nn.readout.answer_losses`.
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
        groups=kinds,
        group_errors={kind: 100.0 - float(v[-1]) for kind, v in by_kind.items()},
    )


def accuracy_table(results: Results, name: str, published: Published = ()) -> Table:
    """Makes a table of accuracy: a row for each step, a column for each kind.

    Args:
      name: what a kind is, in a word.
      published: rows of other people's results.
    """
    kinds = _kinds(results, name)
    columns = {**kinds, "all": results.by_step["accuracy/all"]}
    rows = [
        (f"step {i}", *(f"{percent:.1f}" for percent in percents))
        for i, percents in enumerate(zip(*columns.values(), strict=True), 1)
    ]
    rows += [(row, *(f"{percents[k]:.1f}" for k in kinds), "") for row, percents in published]
    return Table((f"right, %; {name}:", *map(str, columns)), rows)


def draw_accuracy(results: Results, name: str, published: Published = ()) -> "Figure":
    """Draws accuracy by kind: a line for each step.

    Args:
      name: what a kind is, in a word.
      published: other people's results for kinds from 0 on, as dashed lines with marks.
    """
    from matplotlib.figure import Figure

    by_kind = _kinds(results, name)
    kinds = list(by_kind)
    steps = list(zip(*by_kind.values(), strict=True))
    figure = Figure(figsize=(9 if published else 8, 4.5), layout="constrained")
    axes = figure.subplots()
    for i, percents in enumerate(steps, 1):
        shade = str(0.8 * (1 - i / len(steps)))
        axes.plot(kinds, percents, "o-", color=shade, label=f"step {i}")
    for i, (label, percents) in enumerate(published):
        axes.plot(percents, "D--", color=f"C{i}", linewidth=1, markersize=4, label=label)
    axes.set(xlabel=name, ylabel="right answers, %", ylim=(0, 103), xticks=kinds)
    axes.legend(fontsize="small", loc="center left", bbox_to_anchor=(1.01, 0.5))
    return figure


def _kinds(results, name):
    """Kind -> percents right by step, of the results of `accuracy_by_kind`."""
    return {kind: results.by_step[f"accuracy/{name}_{kind}"] for kind in results.group_errors}
