"""A run's folder and its files.

    lock            which process trains here, or was the last to
    earlier-N/      a run that --restart has moved aside
    config.json     the config, every field, and "config", its name
    metrics.jsonl   one JSON object a line. Training: {"update", "seconds" (since this process began
                    to train), "examples_per_second", "loss", ...}, means since the line before, and
                    in stages "stage"; validation: {"update", "seconds", "split": "valid",
                    "mean_loss" (over all steps), the task's metrics}
    validation.jsonl  what a cluster's evaluator found: {"update", "split": "valid", "mean_loss",
                    the task's metrics}
    results.json    {"config", "data", "split", "examples", "metrics": {name: value at the last
                    step}, "by_step": {name: [values]}, "notes"}, and in stages "by_stage":
                    {stage: metrics}
    variables.json  [{"name", "shape", "dtype", "bytes", "stages", "device",
                    "readers": {tower: reads an update}}]
    activations.json  the towers' own tensors: [{"tower", "name", "shape", "dtype", "device"}]
    checkpoints/    the last states of training, and the best (`tf.train.Checkpoint`)
    weights.h5      the best weights, with what makes the model again; in stages the last ones
    saved_model/    the model as --mode export writes it
    weights_*.h5    the weights at the end of each stage
    figures/*.png   the results, and over the updates those of training.png and validation.png
    report.html     all of this to look at in a browser, and examples step by step, in one file
    events/         TensorBoard's scalars, and in update_*/ the graphs of `--mode variables`

A number that is not finite is null in all of them, as JSON has none.
"""

import bisect
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
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

from rrn.data_prep.failures import writing


class Workdir:
    """The folder of a run, which may be new; `workdir / name` is the path of a file in it."""

    def __init__(self, path: str | Path):
        self.path = Path(path)

    def __truediv__(self, name: str) -> Path:
        return self.path / name

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Within it no other process that asks for it trains in the folder, which is made.

        The system ends the lock with the process, however that ends. Another host is kept out where
        the file system takes locks to its server: NFS does, some others do not. Where a file system
        has no locks, that is said, and nobody is kept out.

        Raises:
          ValueError: another process trains there; the message says which.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        with (self / "lock").open("a+") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                file.seek(0)
                raise ValueError(
                    f"--workdir={self.path}: {file.read().strip() or 'another process'} trains "
                    "there; wait for it, or give another folder"
                ) from None
            except OSError as error:
                print(f"{self.path}: no lock ({error.strerror}); start no second process there")
            file.truncate(0)
            file.write(f"process {os.getpid()} of {socket.gethostname()}\n")
            file.flush()
            yield

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

    def create(self, config: Mapping[str, Any]) -> None:
        """Makes the folder for a config, or checks that it was made for the same.

        Args:
          config: every field of the experiment's config, and "config", its name.

        Raises:
          ValueError: see `check`.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        self.check(config)
        if not (self / "config.json").exists():
            self.write_json("config.json", config)

    def check(self, config: Mapping[str, Any]) -> None:
        """Checks that the folder, if there is one, was made for this config.

        Raises:
          ValueError: it holds a run of another config; the message lists the differences. The
            fields of "evaluate" and "variables" may differ: results don't depend on them.
        """
        file = self / "config.json"
        if self.path.exists() and not self.path.is_dir():
            raise ValueError(f"--workdir={self.path}: not a folder; expected one, or a new name")
        if not file.exists():
            return
        try:
            there = json.loads(file.read_text())
        except (ValueError, RecursionError) as error:
            raise ValueError(
                f"{file}: not JSON: {error}; give another --workdir, or put the file right"
            ) from None
        wanted = json.loads(json.dumps(config))  # tuples are lists there
        there, wanted = flatten(there), flatten(wanted)
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

    def check_can_go_on(self) -> None:
        """Checks that a run in the folder has what it needs to go on.

        A run writes its config first, and a checkpoint before its first update.

        Raises:
          ValueError: it has written, and its config or all of its checkpoints are gone.
        """
        states = [*self.path.glob("checkpoints/*/ckpt-*.index")]
        written = [*states, *self.path.glob("weights*.h5"), *self.path.glob("metrics.jsonl")]
        config = [*self.path.glob("config.json")]
        for name, there in ("config.json", config), ("checkpoints", states):
            if written and not there:
                raise ValueError(
                    f"{self / name}: gone, and the folder has {written[0].name} of a run; put it "
                    "back, or begin anew with --restart, which moves the old run aside"
                )

    def write_json(self, name: str, value: Any) -> None:
        """Writes a file that appears whole or not at all."""
        self.write_text(name, _json(value, indent=1) + "\n")

    def write_text(self, name: str, text: str) -> Path:
        """Writes a file that appears whole or not at all; returns its path."""
        with self._replacing(name) as temporary:
            temporary.write_text(text, encoding="utf-8")
        return self / name

    def append(self, name: str, line: Mapping[str, Any]) -> None:
        """Adds a line of JSON to a file, which need not be there."""
        with writing(self / name), (self / name).open("a") as file:
            file.write(_json(line) + "\n")

    @contextlib.contextmanager
    def _replacing(self, name):
        """Yields a temporary path, whose file takes the name in the end, or goes if that fails."""
        temporary = self / f"{name}.{os.getpid()}.tmp"
        try:
            with writing(self / name):
                yield temporary
            os.replace(temporary, self / name)
        finally:
            temporary.unlink(missing_ok=True)

    def metrics(self) -> list[dict[str, Any]]:
        """Reads metrics.jsonl; it has no lines before training.

        A damaged line is named and left out, and those after it are kept. A line whose update does
        not fit between its neighbours' is damaged, too: updates never fall. Left out is also a line
        that a kill has cut off.
        """
        file, lines = self / "metrics.jsonl", {}
        whole = file.read_bytes().split(b"\n")[:-1] if file.exists() else ()
        for number, text in enumerate(whole):
            with contextlib.suppress(ValueError, TypeError, LookupError, RecursionError):
                line = json.loads(text)
                if type(line["update"]) is int:
                    lines[number] = line
        order = _longest_rising([line["update"] for line in lines.values()])
        lines = {number: lines[number] for number in (list(lines)[i] for i in order)}
        for number, text in enumerate(whole):
            if number not in lines:
                print(f"{file}, line {number + 1}: damaged, left out: {text[:60]!r}")
        return list(lines.values())

    def keep_metrics_until(self, update: int) -> None:
        """Drops what a killed process did after its last checkpoint from metrics.jsonl.

        Says so, and where a line of the checkpoint's update itself is missing.

        Args:
          update: the last update whose lines are kept, that of the last checkpoint. If it is 0,
            there is no checkpoint, and no line is kept.
        """
        file, lines = self / "metrics.jsonl", self.metrics()
        kept = [line for line in lines if line["update"] <= update] if update else []
        if dropped := len(lines) - len(kept):
            print(f"{file}: {dropped} lines after update {update}, the last saved one, are dropped")
        if update and update not in (line["update"] for line in kept):
            print(f"{file}: lines before update {update}, the last saved one, are missing")
        if file.exists():
            self.write_text("metrics.jsonl", "".join(json.dumps(line) + "\n" for line in kept))

    def save_figures(self, figures: Mapping[str, "Figure"]) -> list[Path]:
        """Writes figures as PNG files in `figures`; returns their paths."""
        (self / "figures").mkdir(exist_ok=True)
        names = [f"figures/{name}.png" for name in figures]
        for name, figure in zip(names, figures.values(), strict=True):
            with self._replacing(name) as temporary:
                figure.savefig(temporary, format="png", dpi=120)
        return [self / name for name in names]


def _longest_rising(numbers):
    """The places of the most numbers of which none is below one before it."""
    lowest, ends, before = [], [], []  # of the rising numbers of each length: the lowest last one
    for place, number in enumerate(numbers):
        length = bisect.bisect_right(lowest, number)
        lowest[length : length + 1], ends[length : length + 1] = [number], [place]
        before.append(ends[length - 1] if length else None)
    place, places = (ends or [None])[-1], []
    while place is not None:
        places.append(place)
        place = before[place]
    return places[::-1]


def _json(value, **options):
    return json.dumps(_with_null(value), allow_nan=False, **options)


def _with_null(value):
    """The value with None in place of numbers that are not finite, which JSON does not have."""
    if isinstance(value, dict):
        return {key: _with_null(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_with_null(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def flatten(value: Any, prefix: str = "") -> dict[str, Any]:
    """Makes one level of nested dicts, lists and tuples: {"a.b.0": 1} for {"a": {"b": [1]}}.

    Args:
      value: dicts, lists and other values; an empty dict or list has no entry.
    """
    if isinstance(value, (list, tuple)):
        value = dict(enumerate(value))
    if not isinstance(value, dict):
        return {prefix[:-1]: value}
    flat = {}
    for key, item in value.items():
        flat.update(flatten(item, f"{prefix}{key}."))
    return flat
