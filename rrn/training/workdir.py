"""A run's folder and its files.

config.json     the config, every field, and "config", its name
metrics.jsonl   one JSON object a line. Training: {"update", "seconds" (since this process began
                to train), "examples_per_second", "loss", ...}, means since the line before, and
                in stages "stage"; validation: {"update", "seconds", "split": "valid",
                "mean_loss" (over all steps), the task's metrics}
validation.jsonl  what a cluster's evaluator found: {"update", "split": "valid", "mean_loss", the
                task's metrics}
results.json    {"config", "data", "split", "examples", "metrics": {name: value at the last step},
                "by_step": {name: [values]}, "notes"}, and in stages "by_stage": {stage: metrics}
variables.json  [{"name", "shape", "dtype", "bytes", "stages", "device",
                "readers": {tower: reads an update}}]
checkpoints/    the last states of training, and the best (`tf.train.Checkpoint`)
weights.h5      the best weights; in stages the last ones
weights_*.h5    the weights at the end of each stage
figures/*.png   the results, and over the updates those of training.png and validation.png
events/         TensorBoard's scalars
"""

import json
import os
from pathlib import Path


class Workdir:
    """The folder `path`; `workdir / name` is the path of a file in it."""

    def __init__(self, path):
        self.path = Path(path)

    def __truediv__(self, name):
        return self.path / name

    def create(self, config):
        """Makes the folder for `config` (a dict), or checks that it was made for the same.

        Raises:
          ValueError: the folder holds a run of another config; the message lists the differences.
            The fields of "evaluate" and "variables" may differ: results don't depend on them.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        file = self / "config.json"
        if not file.exists():
            self.write_json("config.json", config)
            return
        wanted = json.loads(json.dumps(config))  # tuples are lists there
        there, wanted = _flatten(json.loads(file.read_text())), _flatten(wanted)
        differences = [
            f"  {name}: {there.get(name, 'absent')} there, {wanted.get(name, 'absent')} wanted"
            for name in sorted(there.keys() | wanted.keys())
            if there.get(name) != wanted.get(name)
            and not name.startswith(("evaluate.", "variables."))
        ]
        if differences:
            raise ValueError(
                f"{self.path} holds a run of another config; give another --workdir:\n"
                + "\n".join(differences)
            )

    def write_json(self, name, value):
        """Writes a file that appears whole or not at all."""
        temporary = self / f"{name}.tmp"
        temporary.write_text(json.dumps(value, indent=1) + "\n")
        os.replace(temporary, self / name)

    def append(self, name, line):
        with (self / name).open("a") as file:
            file.write(json.dumps(line) + "\n")

    def metrics(self):
        """The lines of metrics.jsonl as dicts, up to one that a kill has cut off; none before
        training.
        """
        file, lines = self / "metrics.jsonl", []
        for line in file.read_text().splitlines() if file.exists() else ():
            try:
                lines.append(json.loads(line))
            except ValueError:
                break
        return lines

    def keep_metrics_until(self, update):
        """Drops the lines after `update`: what a killed process did after its last checkpoint."""
        file = self / "metrics.jsonl"
        if not file.exists():
            return
        kept = [json.dumps(line) + "\n" for line in self.metrics() if line["update"] <= update]
        temporary = self / "metrics.jsonl.tmp"
        temporary.write_text("".join(kept))
        os.replace(temporary, file)

    def save_figures(self, figures):
        """name -> matplotlib figure; returns the paths."""
        folder = self / "figures"
        folder.mkdir(exist_ok=True)
        paths = [folder / f"{name}.png" for name in figures]
        for path, figure in zip(paths, figures.values(), strict=True):
            figure.savefig(path, dpi=120)
        return paths


def _flatten(value, prefix=""):
    """{"a.b.0": 1} for {"a": {"b": [1]}}."""
    if isinstance(value, list):
        value = dict(enumerate(value))
    if not isinstance(value, dict):
        return {prefix[:-1]: value}
    flat = {}
    for key, item in value.items():
        flat.update(_flatten(item, f"{prefix}{key}."))
    return flat
