"""The classification task's results: accuracy by digit."""

import numpy as np

from rrn.tasks.task import Results


def results(arrays, examples, outputs):
    """`accuracy/digit_0` ... `accuracy/digit_9` and `accuracy/all` (percent), `loss`."""
    labels = arrays["label"].numpy()[examples]
    right = 100.0 * (outputs["probabilities"].argmax(-1) == labels)
    metrics = {f"accuracy/digit_{k}": right[labels == k].mean() for k in np.unique(labels)}
    metrics |= {"accuracy/all": right.mean(), "loss": outputs["loss"].mean()}
    metrics = {name: float(value) for name, value in metrics.items()}
    return Results(metrics, error=100.0 - metrics["accuracy/all"])


def table(results):
    """Accuracy and loss in words."""
    numbers = results.metrics.items()
    lines = [f"{n.replace('_', ' '):<20}{v:8.2f}" for n, v in numbers if n != "loss"]
    return "\n".join([f"{'':<20}{'%':>8}", *lines, f"{'loss':<20}{results.metrics['loss']:8.4f}"])


def figures(results):
    """`accuracy`: bars of the accuracy by digit."""
    from matplotlib.figure import Figure  # only drawing needs it

    metrics = results.metrics
    digits = {int(n[-1]): v for n, v in metrics.items() if n.startswith("accuracy/digit_")}
    figure = Figure(figsize=(6, 3.5), layout="constrained")
    axes = figure.subplots()
    axes.bar(list(digits), list(digits.values()))
    axes.set_xticks(list(digits))
    axes.set_ylim(min(digits.values()) - 1.0, 100.0)
    axes.set_xlabel("digit")
    axes.set_ylabel("accuracy, %")
    axes.set_title(f"{metrics['accuracy/all']:.2f} %", fontsize=9)
    return {"accuracy": figure}
