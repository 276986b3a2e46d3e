"""A run's folder and its files.

    lock            which process trains here, or was the last to
    earlier-N/      a run that --restart has moved aside
    config.json     the config, every field, "config", its name, and "run": the data's digest and
                    the program; see `rrn.training.identity`
    metrics.jsonl   one JSON object a line. Training: {"update", "run" (of the identity), "seconds"
                    (in which the run has trained), "examples_per_second", "peak_memory/..." (in
                    bytes, so far: of each GPU, or of the process), "loss", ...}, means since the
                    line before, and in stages "stage"; validation: {"update", "run",
                    "seconds", "split": "valid", "mean_loss" (over all steps), "validation_error"
                    (by which the best weights are chosen), the task's metrics}
    validation.jsonl  what a cluster's evaluator found: {"update", "run", "split": "valid",
                    "mean_loss", "validation_error", the task's metrics}
    results.json    {"config", "data", "split", "examples", "metrics": {name: value at the last
                    step}, "by_step": {name: [values]}, "notes", "made" (see
                    `rrn.training.provenance`)}, in stages "by_stage": {stage: metrics}, and where
                    there are groups "examples_by_group": {name in words: number}
    variables.json  [{"name", "shape", "dtype", "bytes", "stages", "device",
                    "readers": {tower: reads an update}}]
    activations.json  the towers' own tensors: [{"tower", "name", "shape", "dtype", "device"}]
    checkpoints/    the last states of training (`tf.train.Checkpoint`)
    weights.h5      the best weights, with what makes the model again; in stages the last ones
    saved_model/    the model as --mode export writes it
    weights_*.h5    the weights at the end of each stage
    figures/*.png   the results, and over the updates those of training.png and validation.png
    report.html     all of this to look at in a browser, and examples step by step, in one file;
    events/         TensorBoard's scalars, in update_*/ the graphs of `--mode variables`, and in
                    plugins/profile/ what --profile has recorded

A number that is not finite is null in all of them, as JSON has none.
"""

import bisect
import contextlib
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

from rrn.data_prep.writing import whole, writing
from rrn.training.identity import RUN, differences, digest, num_updates, program_differences


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
        import fcntl  # which Windows lacks, where this module can be imported

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

    def create(self, run: Mapping[str, Any]) -> None:
        """Makes the folder for a run, or checks that it was made for the same, or a shorter one.

        Args:
          run: its identity, which is written to config.json. There the fields of "evaluate" and
            "variables" stay what they were, and a run without "run" does not get one: nobody knows
            on what its first updates were made.

        Raises:
          ValueError: see `check`.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        self.check(run, may_be_longer=True)
        there = self._read_config()
        if there is None:
            return self.write_json("config.json", run)
        kept = {name: there[name] for name in ("evaluate", "variables") if name in there}
        new = {name: value for name, value in run.items() if name != RUN or RUN in there}
        new = json.loads(json.dumps({**new, **kept}))
        if (before := num_updates(there)) != num_updates(new):
            print(f"{self.path}: made for {before:,} updates, goes on to {num_updates(new):,}")
        if new != there:
            self.write_json("config.json", new)

    def check(self, run: Mapping[str, Any], may_be_longer: bool = False) -> None:
        """Checks that the folder, if there is one, was made for this run.

        Args:
          run: the run's identity.
          may_be_longer: whether the run may have more updates in its last stage.

        Raises:
          ValueError: it holds a run of another config or on other data; the message lists the
            differences. The fields of "evaluate" and "variables" may differ: results don't depend
            on them.
        """
        if self.path.exists() and not self.path.is_dir():
            raise ValueError(f"--workdir={self.path}: not a folder; expected one, or a new name")
        if (there := self._read_config()) is None:
            return
        if RUN not in there:
            run = {name: value for name, value in run.items() if name != RUN}
        if lines := differences(there, run, may_be_longer):
            of_data = [line for line in lines if line.startswith(f"  {RUN}.")]
            kinds = ["of another config"] * (len(lines) > len(of_data))
            kinds += ["on other data"] * bool(of_data)
            back = "put its data back, " * bool(of_data)
            raise ValueError(
                f"{self.path} holds a run {' and '.join(kinds)}; {back}give another --workdir, or "
                "begin anew with --restart, which moves the old run aside:\n" + "\n".join(lines)
            )

    def program_differences(self, run: Mapping[str, Any]) -> list[str]:
        """Lists what differs between the program that made the run so far and this one.

        Args:
          run: the run's identity.

        Returns:
          A line for each difference.
        """
        there = self._read_config() or {}
        return program_differences(there, run) if RUN in there else []

    def check_part(self, part: str | Path, there: Any, run: Mapping[str, Any]) -> None:
        """Checks that the run has written what is one of its parts.

        Args:
          part: the file, for the message.
          there: the identity that it holds; None if it has none, as files of earlier checkouts.
          run: the run's identity.

        Raises:
          ValueError: another run has written it.
        """
        if not isinstance(there, Mapping):
            if RUN not in (self._read_config() or {}):
                return
            what, lines = "does not say which run wrote it", []
        elif lines := differences(there, run, may_be_longer=True):
            what = "another run wrote it"
        else:
            return
        raise ValueError(
            "\n".join(
                [
                    f"{part}: {what}; put the file of the run in {self.path} back, begin anew with "
                    "--restart, or give weights as --weights, in another --workdir",
                    *lines,
                ]
            )
        )

    def _read_config(self):
        """What config.json has; None if it is not there."""
        file = self / "config.json"
        if not file.exists():
            return None
        try:
            there = json.loads(file.read_text())
        except (ValueError, RecursionError) as error:
            raise ValueError(
                f"{file}: not JSON: {error}; give another --workdir, or put the file right"
            ) from None
        if not isinstance(there, dict) or not isinstance(there.get(RUN, {}), dict):
            raise ValueError(f"{file}: not a run's config; give another --workdir")
        return there

    def check_can_go_on(self) -> None:
        """Checks that a run in the folder has what it needs to go on.

        A run writes its config first, and a checkpoint before its first update.

        Raises:
          ValueError: it has written, and its config or all of its last checkpoints are gone.
        """
        states = [*self.path.glob("checkpoints/last/ckpt-*.index")]
        written = [*states, *self.path.glob("weights*.h5"), *self.path.glob("metrics.jsonl")]
        config = [*self.path.glob("config.json")]
        for name, there in ("config.json", config), ("checkpoints/last", states):
            if written and not there:
                raise ValueError(
                    f"{self / name}: gone, and the folder has {written[0].name} of a run; put it "
                    "back, or begin anew with --restart, which moves the old run aside"
                )

    def write_json(self, name: str, value: Any) -> None:
        """Writes a file that appears whole or not at all."""
        self.write_text(name, _json(value, indent=1) + "\n")

    def write_text(self, name: str, text: str) -> Path:
        """Writes a file that appears whole or not at all.

        Args:
          name: the file's name.
          text: its text.

        Returns:
          The file's path.
        """
        with whole(self / name) as temporary:  # a path may have what is not Unicode
            temporary.write_text(text, encoding="utf-8", errors="backslashreplace")
        return self / name

    def append(self, name: str, line: Mapping[str, Any]) -> None:
        """Adds a line of JSON to a file, which need not be there."""
        with writing(self / name), (self / name).open("a") as file:
            file.write(_json(line) + "\n")

    def metrics(self, run: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
        """Reads metrics.jsonl.

        A damaged line is named and left out, and those after it are kept. A line whose update does
        not fit between its neighbours' is damaged, too: updates never fall.

        Args:
          run: the identity of the run that must have written it; None if it may be any.

        Returns:
          Its lines, without one that a kill has cut off; none before training.

        Raises:
          ValueError: another run has written a line.
        """
        file, lines = self / "metrics.jsonl", {}
        whole_lines = file.read_bytes().split(b"\n")[:-1] if file.exists() else ()
        for number, text in enumerate(whole_lines):
            with contextlib.suppress(ValueError, TypeError, LookupError, RecursionError):
                line = json.loads(text)
                if type(line["update"]) is int and all(map(_is_metric, line.items())):
                    lines[number] = line
        order = _longest_rising([line["update"] for line in lines.values()])
        lines = {number: lines[number] for number in (list(lines)[i] for i in order)}
        name = digest(run) if run else None
        for number, text in enumerate(whole_lines):
            if number not in lines:
                print(f"{file}, line {number + 1}: damaged, left out: {text[:60]!r}")
            elif name and (found := lines[number].get(RUN, name)) != name:
                raise ValueError(
                    f"{file}, line {number + 1}: another run wrote it, {found}; expected {name}: "
                    "put its own file back, or remove that one"
                )
        return list(lines.values())

    def keep_metrics_until(self, update: int, run: Mapping[str, Any] | None = None) -> None:
        """Drops what a killed process did after its last checkpoint from metrics.jsonl.

        Says so, and where a line of the checkpoint's update itself is missing.

        Args:
          update: the last update whose lines are kept, that of the last checkpoint. If it is 0,
            there is no checkpoint, and no line is kept.
          run: see `metrics`.

        Raises:
          ValueError: see `metrics`.
        """
        file, lines = self / "metrics.jsonl", self.metrics(run)
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
            with whole(self / name) as temporary:
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


def _is_metric(item):
    """Whether a line of metrics may have such a name and value."""
    name, value = item
    if name in ("split", "stage", RUN):
        return isinstance(value, str)
    values = value if isinstance(value, list) else [value]
    return all(number is None or isinstance(number, int | float) for number in values)


def _json(value, **options):
    return json.dumps(_with_null(value), allow_nan=False, **options)


def _with_null(value):
    """The value with None in place of numbers that are not finite, which JSON does not have."""
    if isinstance(value, dict):
        return {key: _with_null(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_with_null(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
