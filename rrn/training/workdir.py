"""A run's folder and its files.

    lock            which process trains here, or was the last to
    earlier-N/      a run that --restart has moved aside
    config.json     every field of the config, "config", its name, and "data_sha256", the digest of
                    the training data
    metrics.jsonl   one JSON object a line. Training: means since the line before, "update",
                    "seconds" of training, "examples_per_second", "peak_memory/..." in bytes, and
                    "stage" where there are several. Validation: "split": "valid", the task's
                    metrics, "mean_loss", "validation_error", by which the best weights are chosen
    results.json    "metrics" of the last step, "by_step", "by_stage", "examples_by_group", what it
                    was tested on, and "made": date, update, minutes, versions, hardware
    variables.json  each variable's name, shape, dtype, bytes, device, stages that train it, and
                    "readers": {tower: reads an update}
    checkpoints/    the last states of training (`tf.train.Checkpoint`)
    weights.h5      the best weights, with what makes the model again; in stages the last ones
    weights_*.h5    the weights at the end of each stage
    saved_model/    the model as --mode export writes it
    figures/*.png   the results, and curves.png over the updates
    report.html     all of this to look at in a browser, and examples step by step, in one file
    events/         TensorBoard's scalars, and what --profile has recorded

A number that is not finite is null in JSON.
"""

import contextlib
import fcntl
import itertools
import json
import math
import os
import re
import socket
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from rrn.data_prep.writing import whole, writing

# Fields of config.json that may differ. Validations take evaluate.passes and batch_size, too.
FREE = re.compile(r"config|data\.path|(evaluate|variables)\..*|train\.(log|checkpoint)_every_\w+")
LENGTH = re.compile(r"train\.stages\.\d+\.num_updates")  # the last stage may get more updates


class Workdir:
    """The folder of a run, which may be new; `workdir / name` is the path of a file in it."""

    def __init__(self, path: str | Path):
        self.path = Path(path)

    def __truediv__(self, name: str) -> Path:
        return self.path / name

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Makes the folder, and keeps other trainings out of it.

        The lock ends with the process. Other hosts see it on NFS, not on every file system.

        Raises:
          ValueError: another process trains there; the message says which.
        """
        if self.path.exists() and not self.path.is_dir():
            raise ValueError(f"--workdir={self.path}: not a folder; expected one, or a new name")
        self.path.mkdir(parents=True, exist_ok=True)
        with contextlib.ExitStack() as stack:
            # Of the folder, too: a file can be removed. Not every system has locks of folders.
            folder = os.open(self.path, os.O_RDONLY)
            stack.callback(os.close, folder)
            with contextlib.suppress(OSError):
                self._lock(folder)
            file = stack.enter_context((self / "lock").open("a+"))
            try:
                self._lock(file)
            except OSError as error:
                print(f"{self.path}: no lock ({error.strerror}); start no second process there")
            file.truncate(0)
            file.write(f"process {os.getpid()} of {socket.gethostname()}\n")
            file.flush()
            yield

    def _lock(self, file):
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock = self / "lock"
            owner = lock.read_text().strip() if lock.exists() else ""
            raise ValueError(
                f"--workdir={self.path}: {owner or 'another process'} trains there; wait for it, "
                "or give another folder"
            ) from None

    def set_aside(self) -> Path | None:
        """Moves all files but the lock to a new folder `earlier-N`; None if there are none."""
        files = [path for path in self.path.iterdir() if path.name != "lock"]
        files = [path for path in files if not re.fullmatch(r"earlier-\d+", path.name)]
        if not files:
            return None
        numbers = itertools.count(1)
        folder = next(f for n in numbers if not (f := self / f"earlier-{n}").exists())
        folder.mkdir()
        for path in files:
            path.replace(folder / path.name)
        return folder

    def check(self, run: Mapping[str, Any]) -> None:
        """Checks that the folder has no run, or this one, or a shorter one, as config.json says.

        Raises:
          ValueError: it has a run of another config or of other data; the first field that differs.
        """
        file = self / "config.json"
        if not file.exists():
            return
        try:
            there = flatten(json.loads(file.read_text()))
        except ValueError as error:
            raise ValueError(f"{file}: not JSON: {error}; give another --workdir") from None
        wanted = flatten(json.loads(json.dumps(run)))  # tuples are lists there
        lengths = [name for name in wanted if LENGTH.fullmatch(name)]
        for name in [*wanted, *(there.keys() - wanted.keys())]:
            found, asked = there.get(name), wanted.get(name)
            more = name in lengths[-1:] and found is not None and found <= wanted[name]
            if found != asked and not more and not FREE.fullmatch(name):
                raise ValueError(
                    f"{self.path} holds a run with another {name}: {found!r} there, {asked!r} "
                    "wanted; give the run's flags, another --workdir, or in training --restart"
                )

    def write_json(self, name: str, value: Any) -> None:
        self.write_text(name, _json(value, indent=1) + "\n")

    def write_text(self, name: str, text: str) -> Path:
        """Writes a file that appears whole or not at all; returns its path."""
        with whole(self / name) as temporary:
            # A path may have what is not Unicode.
            temporary.write_text(text, encoding="utf-8", errors="backslashreplace")
        return self / name

    def append(self, name: str, line: Mapping[str, Any]) -> None:
        """Adds a line of JSON to a file, which need not be there."""
        with writing(self / name), (self / name).open("a") as file:
            file.write(_json(line) + "\n")

    def metrics(self) -> list[dict[str, Any]]:
        """Reads the lines of metrics.jsonl, without one that a kill has cut off.

        Raises:
          ValueError: a line before the last is damaged.
        """
        file = self / "metrics.jsonl"
        lines = file.read_bytes().split(b"\n")[:-1] if file.exists() else []
        read = []
        for number, line in enumerate(lines, 1):
            try:
                read.append(json.loads(line))
            except ValueError as error:
                raise ValueError(
                    f"{file}, line {number}: {error}; put the file right, or remove it"
                ) from None
        return read

    def keep_metrics_until(self, update: int) -> None:
        """Drops lines of metrics.jsonl after an update, that of the last checkpoint; all if 0."""
        if (self / "metrics.jsonl").exists():
            kept = [line for line in self.metrics() if line["update"] <= update and update]
            self.write_text("metrics.jsonl", "".join(_json(line) + "\n" for line in kept))

    def save_figures(self, figures: Mapping[str, Figure]) -> list[Path]:
        """Writes figures as PNG files in `figures`; returns their paths."""
        (self / "figures").mkdir(exist_ok=True)
        paths = {self / f"figures/{name}.png": figure for name, figure in figures.items()}
        for path, figure in paths.items():
            with whole(path) as temporary:
                figure.savefig(temporary, format="png", dpi=120)
        return list(paths)


def flatten(value: Any, prefix: str = "") -> dict[str, Any]:
    """Makes one level of nested dicts, lists and tuples: {"a.b.0": 1} for {"a": {"b": [1]}}."""
    if isinstance(value, (list, tuple)):
        value = dict(enumerate(value))
    if not isinstance(value, dict):
        return {prefix[:-1]: value}
    flat = {}
    for key, item in value.items():
        flat.update(flatten(item, f"{prefix}{key}."))
    return flat


def _json(value, **options):
    def with_null(value):  # instead of numbers that are not finite
        if isinstance(value, dict):
            return {key: with_null(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [with_null(item) for item in value]
        return None if isinstance(value, float) and not math.isfinite(value) else value

    return json.dumps(with_null(value), **options)
