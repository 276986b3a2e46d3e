"""The classification task's results: accuracy by digit."""

import numpy as np
from matplotlib.figure import Figure

from rrn.pages import Table
from rrn.tasks.report import Outputs, Report, Results, group_sizes
from rrn.tasks.task import Arrays


class ClassificationReport(Report):
    """Accuracy by digit; see `rrn.tasks.report.Report` for what each method is for."""

    error = "error, %"
    group = "digit"

    def results(self, arrays: Arrays, examples: np.ndarray, outputs: Outputs) -> Results:
        """Computes `accuracy/digit_0` ... `/digit_9` and `/all` (percent), and `loss`."""
        labels = arrays["label"].numpy()[examples]
        right = 100.0 * (outputs["probabilities"].argmax(-1) == labels)
        metrics = {f"accuracy/digit_{k}": right[labels == k].mean() for k in np.unique(labels)}
        metrics |= {"accuracy/all": right.mean(), "loss": outputs["loss"].mean()}
        metrics = {name: float(value) for name, value in metrics.items()}
        error = 100.0 - metrics["accuracy/all"]
        return Results(metrics, error, group_sizes=group_sizes(labels))

    def table(self, results: Results) -> Table:
        rows = [
            (n.replace("_", " "), f"{v:.2f}") for n, v in results.metrics.items() if n != "loss"
        ]
        return Table(("", "%"), [*rows, ("loss", f"{results.metrics['loss']:.4f}")])

    def figures(self, results: Results) -> dict[str, Figure]:
        """Draws `accuracy` by digit."""
        metrics = results.metrics
        digits = {int(n[-1]): v for n, v in metrics.items() if n.startswith("accuracy/digit_")}
        figure = Figure(figsize=(6, 3.5), layout="constrained")
        axes = figure.subplots()
        axes.bar(list(digits), list(digits.values()))
        axes.set_xticks(list(digits))
        axes.set_ylim(min(digits.values()) - 1.0, 100.0)
        axes.set(xlabel="digit", ylabel="accuracy, %")
        axes.set_title(f"{metrics['accuracy/all']:.2f} % of all", fontsize="medium")
        return {"accuracy": figure}


create_report = ClassificationReport
