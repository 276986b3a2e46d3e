"""The triplet task's results: what the nearest images of each image show."""

from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure

from rrn.pages import Table
from rrn.tasks.report import Outputs, Report, Results, group_sizes
from rrn.tasks.task import Arrays

NEAREST = 10  # images that are looked at for every query
BLOCK = 1_000  # queries at once
SHOWN = 10  # queries in the picture


class TripletReport(Report):
    """What the nearest images show; see `rrn.tasks.report.Report` for what each method is for."""

    error = "nearest images of other digits, %"
    group = "digit"

    def results(self, arrays: Arrays, examples: np.ndarray, outputs: Outputs) -> Results:
        """Computes how well images are retrieved among the evaluated ones.

        Each image is a query, and the others are ranked by their embeddings' products with its own.
        Queries without another image of their digit count for the last two metrics alone.

        Returns:
          `nearest/digit_0` ... and `nearest/all`: percent of the queries whose nearest image shows
          their digit; `ten_nearest`: percent of the ten nearest images that do; `closer`: percent
          of the triplets in which the match is nearer; `loss`.
        """
        labels = arrays["label"].numpy()[examples]
        found = nearest(outputs["embedding"], max(1, min(NEAREST, len(labels) - 1)))
        right = 100.0 * (labels[found] == labels[:, None])
        has_match = np.bincount(labels)[labels] > 1
        kinds = np.unique(labels[has_match])
        metrics = {f"nearest/digit_{k}": right[labels == k, 0].mean() for k in kinds}
        metrics["nearest/all"] = right[has_match, 0].mean()
        metrics["ten_nearest"] = right[has_match].mean()
        metrics["closer"] = 100.0 * outputs["closer"].mean()
        metrics["loss"] = outputs["loss"].mean()
        shown = [np.flatnonzero(labels == k)[0] for k in np.unique(labels)][:SHOWN]
        samples = {
            "embedding": outputs["embedding"],
            "label": labels,
            "queries": arrays["image"].numpy()[examples[shown]],
            "found": arrays["image"].numpy()[examples[found[shown]]],
            "right": right[shown] > 0,
        }
        metrics = {name: float(value) for name, value in metrics.items()}
        error, sizes = 100.0 - metrics["nearest/all"], group_sizes(labels)
        return Results(metrics, error, group_sizes=sizes, samples=samples)

    def table(self, results: Results) -> Table:
        words = {
            "nearest/all": "the nearest image shows the digit, %",
            "ten_nearest": "of the ten nearest images, %",
            "closer": "the match is nearer than the other, %",
        }
        shown = [(n, v) for n, v in results.metrics.items() if n != "loss"]
        rows = [(words.get(n, f"  digit {n[-1]}"), f"{v:.2f}") for n, v in shown]
        return Table(("", "value"), [*rows, ("loss", f"{results.metrics['loss']:.4f}")])

    def figures(self, results: Results) -> dict[str, Figure]:
        return {
            "embedding": draw_embeddings(results.samples["embedding"], results.samples["label"]),
            "retrieved": draw_retrieved(results.samples),
        }


create_report = TripletReport


def nearest(embeddings: np.ndarray, number: int) -> np.ndarray:
    """Finds the `number` other rows with the largest products with each row.

    From embeddings `[images, size]` to integers `[images, number]`, the nearest one first.
    """
    found = np.zeros([len(embeddings), number], int)
    for first in range(0, len(embeddings), BLOCK):
        rows = np.arange(first, min(first + BLOCK, len(embeddings)))
        products = embeddings[rows] @ embeddings.T
        products[rows - first, rows] = -np.inf
        best = np.argpartition(-products, number - 1, axis=1)[:, :number]
        order = np.argsort(-np.take_along_axis(products, best, axis=1), axis=1, kind="stable")
        found[rows] = np.take_along_axis(best, order, axis=1)
    return found


def draw_embeddings(embeddings: np.ndarray, labels: np.ndarray) -> Figure:
    """Draws embeddings `[images, size]` on principal axes 1 and 2, and 3 and 4, by digit."""
    centred = embeddings - embeddings.mean(axis=0)
    _, _, axes_ = np.linalg.svd(centred, full_matrices=False)
    projected = centred @ axes_[:4].T
    projected = np.pad(projected, [(0, 0), (0, 4 - projected.shape[1])])  # there may be fewer axes
    figure = Figure(figsize=(10, 4.5), layout="constrained")
    panels = figure.subplots(1, 2)
    for i, axes in enumerate(panels):
        for digit in np.unique(labels):
            points = projected[labels == digit, 2 * i : 2 * i + 2]
            axes.scatter(*points.T, s=2, color=f"C{digit}", label=digit)
        axes.set(xlabel=f"principal axis {2 * i + 1}", ylabel=f"principal axis {2 * i + 2}")
    beside = {"loc": "center left", "bbox_to_anchor": (1.01, 0.5)}
    panels[-1].legend(title="digit", fontsize="small", markerscale=4, **beside)
    return figure


def draw_retrieved(samples: Mapping[str, np.ndarray]) -> Figure:
    """Draws a row for each query of `results`: it and its nearest images, wrong digits in red."""
    queries, found, right = samples["queries"], samples["found"], samples["right"]
    shape = len(queries), 1 + found.shape[1]
    figure = Figure(figsize=(0.6 * shape[1], 0.6 * shape[0]), layout="constrained")
    grid = figure.subplots(*shape, squeeze=False)
    for row, query, images, good in zip(grid, queries, found, right, strict=True):
        for axes, image in zip(row, [query, *images], strict=True):
            axes.imshow(image, "gray_r", vmin=0, vmax=255)
            axes.set(xticks=[], yticks=[])
        for axes, is_right in zip(row[1:], good, strict=True):
            for spine in axes.spines.values():
                spine.set_color("black" if is_right else "red")
                spine.set_linewidth(0.5 if is_right else 2.0)
    grid[0, 0].set_title("query", fontsize=7)
    grid[0, 1].set_title("nearest", fontsize=7)
    return figure
