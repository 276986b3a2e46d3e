"""What a report is: what a model reaches on a split, computed and shown.

A task makes a model's outputs, and its report makes of them what people read. The program that
evaluates asks a task's package for its report; a task knows of none.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from matplotlib.figure import Figure

from rrn.pages import Example, Table
from rrn.tasks.examples import one_of_each
from rrn.tasks.inputs import evaluation_batch
from rrn.tasks.task import Arrays, Batch, Task
from rrn.variables.reading import reading_scope

Outputs = Mapping[str, np.ndarray]  # of evaluated examples, `[examples, ...]`
# Other people's accuracy: (name, percent by group, from group 0 on).
Published = Sequence[tuple[str, Sequence[float]]]


@dataclasses.dataclass(frozen=True)
class Results:
    """What a model reaches on a split, or on a part of it.

    Attributes:
      metrics: name -> the value at the last step.
      error: the best weights are those with the lowest one.
      by_step: name -> the values by step; empty without steps.
      group_errors: group of `Task.groups` -> its error; see the config's `error_share`.
      group_sizes: group -> its number of examples.
      samples: whatever else the report's table and figures show.
      by_stage: stage -> the results of the weights at its end.
      data: the attributes of the prepared file, where they are known.
    """

    metrics: dict[str, float]
    error: float
    by_step: dict[str, list[float]] = dataclasses.field(default_factory=dict)
    group_errors: dict[int, float] = dataclasses.field(default_factory=dict)
    group_sizes: dict[int, int] = dataclasses.field(default_factory=dict)
    samples: Any = None
    by_stage: dict[str, "Results"] = dataclasses.field(default_factory=dict)
    data: Mapping[str, Any] = dataclasses.field(default_factory=dict)


class Report:
    """The results of a task's outputs, with their table, figures and examples.

    Everything has a default, so that a task without a report of its own has this one.

    Attributes:
      error: the name of `Results.error` and `Results.group_errors`, and after a comma their unit.
      group: what a group is, in the word that metrics are named with, "task" in "error/task_01".
      most_examples: on the page.
    """

    error: ClassVar[str] = "loss"
    group: ClassVar[str] = "group"
    most_examples: ClassVar[int] = 24

    def __init__(self, task: Task):
        self.task = task

    def group_name(self, group: int) -> str:
        """Names a group of `Task.groups` in words; by default "group 3"."""
        return f"{self.group} {group}"

    def results(self, arrays: Arrays, examples: np.ndarray, outputs: Outputs) -> Results:
        """Computes the results; by default the mean loss, which is also the error.

        `examples` are ids in the split.
        """
        loss = outputs["loss"].mean(axis=0, dtype=np.float64)
        last = float(loss[-1] if loss.ndim else loss)
        by_step = {"loss": loss.tolist()} if loss.ndim else {}
        return Results({"loss": last}, error=last, by_step=by_step)

    def table(self, results: Results) -> Table | str:
        """Makes a table, or text of any form, of the results; by default a row for each metric."""
        rows = [(name, f"{value:.4f}") for name, value in results.metrics.items()]
        return Table(("", "value"), rows)

    def figures(self, results: Results) -> dict[str, Figure]:
        """Draws the results, name -> figure; by default none."""
        return {}

    def examples(self, arrays: Arrays, ids: np.ndarray, seed: int) -> list[Example]:
        """Shows an example of each group, step by step; none of a report without `look`.

        Args:
          ids: those of the examples that were evaluated, increasing.
          seed: the experiment's.
        """
        groups = self.task.groups(arrays)
        if groups is None or type(self).look is Report.look:
            return []
        chosen = ids[np.sort(one_of_each(groups[ids], self.most_examples))]
        batch = evaluation_batch(self.task, arrays, chosen, seed)
        with reading_scope():
            looked = self.look(batch)
        rows = np.argsort(groups[np.asarray(batch["examples"])], kind="stable")
        return [self.example(arrays, batch, int(row), looked) for row in rows]

    def look(self, batch: Batch) -> Any:
        """Runs the network on a batch, in a few seconds; returns what `example` shows of it."""
        raise NotImplementedError

    def example(self, arrays: Arrays, batch: Batch, row: int, looked: Any) -> Example:
        """Makes of a row of the batch an example for the page."""
        raise NotImplementedError


class AccuracyReport(Report):
    """Accuracy by group and step, of a task with the outputs of `rrn.nn.readout.answer_losses`.

    Results are by step `accuracy/{group}_{number}` of each group that occurs and `accuracy/all`, in
    percent, and `loss`. Without groups all are group 0. `note` is about the `published` results.
    """

    error = "error, %"
    published: ClassVar[Published] = ()
    note: ClassVar[str] = ""

    def results(self, arrays: Arrays, examples: np.ndarray, outputs: Outputs) -> Results:
        groups = self.task.groups(arrays)
        groups = np.zeros(len(examples), int) if groups is None else groups[examples]
        # In float32, sums over millions of examples would be percents off.
        right, loss = (outputs[name].astype(np.float64) for name in ("correct", "loss"))
        right *= 100.0
        by_group = {int(g): right[groups == g].mean(axis=0) for g in np.unique(groups)}
        by_step = {f"accuracy/{self.group}_{g}": percents for g, percents in by_group.items()}
        by_step |= {"accuracy/all": right.mean(axis=0), "loss": loss.mean(axis=0)}
        group_errors = {group: 100.0 - float(v[-1]) for group, v in by_group.items()}
        return results_by_step(by_step, 100.0 - by_step["accuracy/all"][-1], groups, group_errors)

    def table(self, results: Results) -> Table:
        """Makes a table with a row for each step, and a column for each group."""
        groups = self._by_group(results)
        columns = {**groups, "all": results.by_step["accuracy/all"]}
        rows = [
            (f"step {i}", *(f"{percent:.1f}" for percent in percents))
            for i, percents in enumerate(zip(*columns.values(), strict=True), 1)
        ]
        rows += [(row, *(f"{values[g]:.1f}" for g in groups), "") for row, values in self.published]
        notes = [self.note] if self.note else []
        return Table((f"accuracy, %; {self.group}:", *map(str, columns)), rows, notes)

    def figures(self, results: Results) -> dict[str, Figure]:
        """Draws `accuracy` by group, a line for each step; what is published is dashed."""
        by_group = self._by_group(results)
        groups, steps = list(by_group), list(zip(*by_group.values(), strict=True))
        figure = Figure(figsize=(9, 4.5), layout="constrained")
        axes = figure.subplots()
        for i, percents in enumerate(steps, 1):
            shade = str(0.8 * (1 - i / len(steps)))
            axes.plot(groups, percents, "o-", color=shade, label=f"step {i}")
        for i, (label, percents) in enumerate(self.published):
            axes.plot(percents, "D--", color=f"C{i}", linewidth=1, markersize=4, label=label)
        axes.set(xlabel=self.group, ylabel="right answers, %", ylim=(0, 103), xticks=groups)
        axes.legend(fontsize="small", loc="center left", bbox_to_anchor=(1.01, 0.5))
        return {"accuracy": figure}

    def _by_group(self, results):
        names = {group: f"accuracy/{self.group}_{group}" for group in results.group_errors}
        return {group: results.by_step[name] for group, name in names.items()}


def results_by_step(
    by_step: Mapping[str, np.ndarray],
    error: float,
    groups: np.ndarray | None = None,
    group_errors: Mapping[int, float] | None = None,
) -> Results:
    """Makes the results of a network that answers at every step; see `Results`.

    Args:
      by_step: name -> `[steps]`; the metrics are the values at the last step.
      groups: each example's group, integers `[examples]`.
    """
    return Results(
        metrics={name: float(values[-1]) for name, values in by_step.items()},
        error=float(error),
        by_step={name: [float(v) for v in values] for name, values in by_step.items()},
        group_errors=dict(group_errors or {}),
        group_sizes={} if groups is None else group_sizes(groups),
    )


def group_sizes(groups: np.ndarray) -> dict[int, int]:
    """Counts the examples of each group `[examples]`: group -> number, by group."""
    found, counts = np.unique(groups, return_counts=True)
    return dict(zip(found.tolist(), counts.tolist(), strict=True))
