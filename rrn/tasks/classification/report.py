"""The classification task's results: accuracy by digit."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from rrn.pages import Table
from rrn.tasks.classification.task import Classification
from rrn.tasks.report import Quantity, Report, Results, group_sizes
from rrn.tasks.task import Arrays

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def create_report(task: Classification) -> "ClassificationReport":
    """Makes the report; see `rrn.tasks.create_report`.

    Args:
      task: the task.

    Returns:
      The report.
    """
    return ClassificationReport(task)


class ClassificationReport(Report):
    """Accuracy by digit; see `rrn.tasks.report.Report` for what each method is for."""

    quantities: ClassVar = {
        "accuracy": Quantity("digits right, %", 100),
        "accuracy/": Quantity("digits right, %"),
    }
    error = "digits wrong, %"
    group = "digit"

    def results(
        self, arrays: Arrays, examples: np.ndarray, outputs: Mapping[str, np.ndarray]
    ) -> Results:
        """Computes the accuracy by digit.

        Returns:
          `accuracy/digit_0` ... `accuracy/digit_9` and `accuracy/all` (percent), `loss`.
        """
        labels = arrays["label"].numpy()[examples]
        right = 100.0 * (outputs["probabilities"].argmax(-1) == labels)
        metrics = {f"accuracy/digit_{k}": right[labels == k].mean() for k in np.unique(labels)}
        metrics |= {"accuracy/all": right.mean(), "loss": outputs["loss"].mean()}
        metrics = {name: float(value) for name, value in metrics.items()}
        error = 100.0 - metrics["accuracy/all"]
        return Results(metrics, error, group_sizes=group_sizes(labels))

    def table(self, results: Results) -> Table:
        numbers = results.metrics.items()
        rows = [
            (name.replace("_", " "), f"{value:.2f}") for name, value in numbers if name != "loss"
        ]
        return Table(("", "%"), [*rows, ("loss", f"{results.metrics['loss']:.4f}")])

    def figures(self, results: Results) -> dict[str, "Figure"]:
        """Draws `accuracy` by digit."""
        from matplotlib.figure import Figure  # only drawing needs it

        metrics = results.metrics
        digits = {int(n[-1]): v for n, v in metrics.items() if n.startswith("accuracy/digit_")}
        figure = Figure(figsize=(6, 3.5), layout="constrained")
        axes = figure.subplots()
        axes.bar(list(digits), list(digits.values()))
        axes.set_xticks(list(digits))
        axes.set_ylim(min(digits.values()) - 1.0, 100.0)
        axes.set(xlabel="digit", ylabel="digits right, %")
        axes.set_title(f"{metrics['accuracy/all']:.2f} % of all", fontsize="medium")
        return {"accuracy": figure}
