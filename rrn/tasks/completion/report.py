"""The completion task's results: how well holes are filled, also without a network; examples."""

import numpy as np
import tensorflow as tf
from matplotlib.figure import Figure

from rrn.pages import Table
from rrn.tasks.completion.holes import hole_mask
from rrn.tasks.completion.task import FILLS, Completion
from rrn.tasks.report import Outputs, Report, Results
from rrn.tasks.task import Arrays

SHOWN = 6  # examples in the picture


def psnr(mse: np.ndarray | float) -> np.ndarray | float:
    """Computes the peak signal-to-noise ratio, dB, of mean squared errors of values in [0, 1]."""
    return -10.0 * np.log10(mse)


class CompletionReport(Report):
    """How well holes are filled; see `rrn.tasks.report.Report` for what each method is for."""

    task: Completion
    error = "mean squared error in the hole"

    def results(self, arrays: Arrays, examples: np.ndarray, outputs: Outputs) -> Results:
        """Computes `l1`, `psnr` (dB), those of other fills, `discriminator_accuracy` and `loss`.

        The PSNR is that of the mean squared error over all holes.
        """
        images = arrays[self.task.name].numpy().reshape(-1, *self.task.average.shape)
        l1, mse = (outputs[name].mean(axis=0, dtype=np.float64) for name in ("l1", "mse"))
        metrics = {"l1": l1[0], "psnr": psnr(mse[0]), "loss": mse[0]}
        right = outputs["original_logit"] > 0, outputs["completed_logit"] < 0
        metrics["discriminator_accuracy"] = np.mean(right)
        for i, fill in enumerate(FILLS[1:], 1):
            name = fill.replace(" ", "_")
            metrics |= {f"l1/{name}": l1[i], f"psnr/{name}": psnr(mse[i])}
        metrics = {name: float(value) for name, value in metrics.items()}
        shown = np.linspace(0, len(examples) - 1, min(SHOWN, len(examples))).astype(int)
        samples = {
            "original": images[examples[shown]] / 255.0,
            "hole": outputs["hole"][shown].astype(int),
            "completed": outputs["completed"][shown],
        }
        return Results(metrics, error=metrics["loss"], samples=samples)

    def table(self, results: Results) -> Table:
        """Makes the table of what each stage reaches, and the other fills."""
        rows = []

        def row(name, metrics, suffix="", judged=""):
            l1, psnr_ = metrics["l1" + suffix], metrics["psnr" + suffix]
            rows.append((name, f"{l1:.4f}", f"{psnr_:.2f}", judged))

        for name, stage in _by_stage(results).items():
            share = stage.metrics["discriminator_accuracy"]
            row(f"completed{name and ', after '}{name}", stage.metrics, judged=f"{100 * share:.1f}")
        for fill in FILLS[1:]:
            row(fill, results.metrics, "/" + fill.replace(" ", "_"))
        return Table(("in the hole", "L1", "PSNR, dB", "discriminator accuracy, %"), rows)

    def figures(self, results: Results) -> dict[str, Figure]:
        """Draws some images as `completed`: with their holes, and completed after every stage."""
        samples = results.samples
        size = samples["original"].shape[1]
        masks = hole_mask(tf.constant(samples["hole"], tf.int32), size).numpy()
        columns = {
            "original": samples["original"],
            "with a hole": np.where(masks > 0, 0.5, samples["original"]),
        }
        for name, stage in _by_stage(results).items():
            columns[f"after {name}" if name else "completed"] = stage.samples["completed"]
        shape = len(masks), len(columns)
        figure = Figure(figsize=(1.8 * shape[1], 1.8 * shape[0]), layout="constrained")
        grid = figure.subplots(*shape, squeeze=False)
        for column, (title, images) in zip(grid.T, columns.items(), strict=True):
            column[0].set_title(title, fontsize=9)
            for axes, image in zip(column, images, strict=True):
                image = image if image.shape[-1] == 3 else image[..., 0]
                axes.imshow(image, "gray", vmin=0, vmax=1)
                axes.set(xticks=[], yticks=[])  # the frame stays
        return {"completed": figure}


create_report = CompletionReport


def _by_stage(results):
    """Stage -> the results at its end; for weights of no known stage "" -> the results."""
    return results.by_stage or {"": results}
