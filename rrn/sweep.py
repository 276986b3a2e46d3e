"""Trains a config with several seeds and settings, and says what they reach on average.

    python -m rrn.sweep configs/babi.py:hour --seeds 0,1,2
    python -m rrn.sweep configs/babi.py:quick --seeds 0,1 --set train.learning_rate=1e-3,2e-3

Each run is an ordinary one, of `python -m rrn` in a folder of its own. Ctrl-C stops the runs, which
save their states. The same command goes on: runs that have ended are not made again. A run that
fails is named, and the others go on. The means are written to sweep.json.
"""

import contextlib
import dataclasses
import itertools
import json
import re
import signal
import statistics
import subprocess
import sys
import time
import urllib.parse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rrn.config_file import UsageError, read_config, run_name, split_arguments
from rrn.data_prep.failures import Parser, check_system, error_line, escape_output
from rrn.data_prep.writing import whole
from rrn.pages import Table
from rrn.training import Request
from rrn.training.workdir import Workdir

PROGRAM = [sys.executable, "-m", "rrn"]
MOST = 256  # runs at a time on one place
Setting = tuple[tuple[str, str], ...]  # (field, value), as texts


@dataclasses.dataclass(frozen=True)
class Run:
    """One run: a config with some settings and a seed, in a folder.

    Attributes:
      common: what all runs change in the config.
      fields: every field of its config, as JSON has them.
    """

    config: str
    common: Setting
    setting: Setting
    seed: int
    folder: Path
    fields: dict[str, Any] = dataclasses.field(compare=False)

    @property
    def name(self) -> str:
        """Its settings and its seed, for people."""
        return ", ".join([*map("=".join, self.setting), f"seed={self.seed}"])

    @property
    def output(self) -> Path:
        """The file of what it prints."""
        return self.folder / "output.txt"

    def results(self) -> dict[str, Any] | None:
        """Reads its metrics; None if it has not ended, or was of another config."""
        with contextlib.suppress(FileNotFoundError):
            if json.loads((self.folder / "ended.json").read_text()) == self.fields:
                return json.loads((self.folder / "results.json").read_text())["metrics"]
        return None

    def start(self, devices: str) -> subprocess.Popen:
        """Starts its process; Ctrl-C is for this one, which ends it."""
        changes = [f"--config.{f}={value}" for f, value in (*self.common, *self.setting)]
        flags = [f"--config.seed={self.seed}", f"--workdir={self.folder}", f"--devices={devices}"]
        self.folder.mkdir(parents=True, exist_ok=True)
        with self.output.open("wb") as output:
            return subprocess.Popen(
                [*PROGRAM, f"--config={self.config}", *changes, *flags],
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

    def end(self, status: int) -> str | None:
        """Notes that it has ended; says what has failed, None if nothing has."""
        if status or not (self.folder / "results.json").exists():
            text = self.output.read_text(errors="replace")
            lines = [line for line in text.splitlines() if line.strip()] or ["no word"]
            error = next(
                (line for line in reversed(lines) if line.startswith("error: ")), lines[-1]
            )
            return f"failed with status {status}: {error.removeprefix('error: ')}"
        with whole(self.folder / "ended.json") as temporary:
            temporary.write_text(json.dumps(self.fields))
        return None


def plan(
    config: str, common: Setting, settings: Sequence[Setting], seeds: Sequence[int], workdir: Path
) -> list[Run]:
    """Lists the runs of every setting with every seed.

    Raises:
      ValueError: a config or a value that does not fit.
    """

    def make(setting, seed):
        name = ",".join(map("=".join, setting))
        folder = workdir / urllib.parse.quote(name, safe="=,.[]-_") / f"seed={seed}"
        fields = read_config(config, [*common, *setting, ("seed", str(seed))]).to_dict()
        return Run(config, common, setting, seed, folder, json.loads(json.dumps(fields)))

    return [make(setting, seed) for setting in settings for seed in seeds]


def make_runs(runs: Sequence[Run], places: Sequence[str]) -> list[Run]:
    """Makes runs, as many at a time as there are places; returns those that have failed.

    Args:
      places: the devices of the runs that are made side by side.
    """
    waiting, free, going, failed = list(runs), list(places), {}, []
    try:
        while waiting or going:
            while waiting and free:
                run = waiting.pop(0)
                going[run] = run.start(free[0]), free.pop(0), time.monotonic()
                print(f"{run.name}: begins; {run.output} has what it prints", flush=True)
            time.sleep(0.1)
            for run, (process, devices, began) in list(going.items()):
                if process.poll() is None:
                    continue
                del going[run]
                free.append(devices)
                if error := run.end(process.returncode):
                    failed.append(run)
                minutes = (time.monotonic() - began) / 60
                print(f"{run.name}: {error or f'ended after {minutes:.1f} minutes'}", flush=True)
    finally:
        if going:
            print(f"{len(going)} runs save their states", flush=True)
        for process, _, _ in going.values():
            process.terminate()
        for process, _, _ in going.values():
            process.wait()
    return failed


def summarize(config: str, runs: Sequence[Run]) -> dict[str, Any]:
    """Computes what sweep.json has: of each setting the runs and each metric's mean and deviation.

    The standard deviation is that of a sample, null where one run alone has ended.
    """
    rows = []
    for setting, its_runs in itertools.groupby(runs, lambda run: run.setting):
        found = [
            {"seed": r.seed, "folder": str(r.folder), "metrics": r.results()} for r in its_runs
        ]
        reached = [run["metrics"] for run in found if run["metrics"]]
        rows.append({"setting": dict(setting), "runs": found, "metrics": _means(reached)})
    return {"config": config, "settings": rows}


def _means(reached):
    means = {}
    for name in dict.fromkeys(itertools.chain(*reached)):
        values = [metrics[name] for metrics in reached if metrics.get(name) is not None]
        if values:
            deviation = statistics.stdev(values) if len(values) > 1 else None
            means[name] = {"mean": statistics.fmean(values), "std": deviation, "runs": len(values)}
    return means


def table(summary: dict[str, Any]) -> Table:
    """Makes a table with a row for each setting, of what is of all examples if anything is."""
    names = list(dict.fromkeys(name for row in summary["settings"] for name in row["metrics"]))
    names = [name for name in names if not re.search(r"\d", name)] or names

    def cell(found):
        if not found:
            return ""
        spread = "" if found["std"] is None else f" ± {found['std']:.2g}"
        return f"{found['mean']:.4g}{spread}"

    rows = []
    for row in summary["settings"]:
        setting = ", ".join(map("=".join, row["setting"].items())) or summary["config"]
        ended = [run for run in row["runs"] if run["metrics"]]
        cells = [cell(row["metrics"].get(name)) for name in names]
        rows.append([setting, f"{len(ended)} of {len(row['runs'])}", *cells])
    return Table(["setting", "runs", *names], rows, ["mean ± standard deviation over the runs"])


def _seeds(text):
    if re.fullmatch(r"\d+(,\d+)*", text):
        seeds = [int(seed) for seed in text.split(",")]
        if len({*seeds}) == len(seeds):
            return seeds
    raise UsageError(f"--seeds {text}: expected different numbers, such as 0,1,2")


def _settings(texts):
    """All combinations of FIELD=VALUE,VALUE; commas within brackets are of a value."""
    choices = {}
    for text in texts:
        field, _, values = text.partition("=")
        values = re.split(r",(?![^(\[{]*[)\]}])", values)
        if not all([field, *values]) or field in choices or len({*values}) < len(values):
            raise UsageError(
                f"--set {text}: expected a field of the config and its values, such as "
                "train.learning_rate=1e-3,2e-3, each of them once"
            )
        choices[field] = values
    return [
        tuple(zip(choices, those, strict=True)) for those in itertools.product(*choices.values())
    ]


def _parse(arguments):
    """The options, and what all runs change in the config."""
    arguments, common = split_arguments(sys.argv[1:] if arguments is None else arguments)
    summary = (__doc__ or "").partition("\n")[0]
    common_too = "--config.FIELD=VALUE changes a field for all runs, as with main.py."
    parser = Parser(prog="python -m rrn.sweep", description=f"{summary} {common_too}")
    parser.add_argument("config", help="the experiment, FILE or FILE:VARIANT")
    parser.add_argument("--seeds", default="0", help="such as 0,1,2")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="FIELD=VALUE,VALUE",
        help="values of a field of the config; with several fields, all combinations",
    )
    parser.add_argument(
        "--devices",
        nargs="+",
        default=["auto"],
        help="of a run, as main.py takes them; of several, one run at a time on each",
    )
    parser.add_argument("--parallel", type=int, default=1, help="runs at a time on each of them")
    parser.add_argument("--workdir", help="runs/sweep_<config> if not given")
    return parser.parse_args(arguments), tuple(common)


def sweep(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns the exit status, 1 if a run has failed.

    Raises:
      ValueError: a config, a value or an option that does not fit.
    """
    options, common = _parse(arguments)
    workdir = Path(options.workdir or f"runs/sweep_{run_name(options.config)}")
    if not 1 <= options.parallel <= MOST:
        raise UsageError(f"--parallel {options.parallel}: expected 1 to {MOST}")
    settings, seeds = _settings(options.set), _seeds(options.seeds)
    if "seed" in dict([*common, *settings[0]]):
        raise UsageError("seed: this field is given by --seeds, such as --seeds 0,1,2")
    runs = plan(options.config, common, settings, seeds, workdir)
    for devices in options.devices:
        Request(read_config(options.config), options.config, workdir, devices=devices).check()
    left = [run for run in runs if run.results() is None]
    if len(left) < len(runs):
        print(f"{len(runs) - len(left)} of {len(runs)} runs have ended before")
    failed = make_runs(left, options.devices * options.parallel)
    summary = summarize(options.config, runs)
    Workdir(workdir).write_json("sweep.json", summary)
    print(f"{table(summary)}\n{workdir / 'sweep.json'}")
    for run in failed:
        print(f"error: {run.name}: failed; see {run.output}", file=sys.stderr)
    return 1 if failed else 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command, and says in a line what is wrong; returns the exit status."""
    try:
        check_system()
        return sweep(arguments)
    except KeyboardInterrupt:
        print("error: interrupted; the same command goes on", file=sys.stderr)
        return 130
    except Exception as error:
        if (line := error_line(error)) is None:
            raise
        print(line, file=sys.stderr)
        return 2 if isinstance(error, UsageError) else 1


if __name__ == "__main__":
    escape_output()
    for number in {signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)}:  # not on Windows
        if signal.getsignal(number) is not signal.SIG_IGN:  # as SIGHUP is under nohup
            signal.signal(number, lambda number, _: sys.exit(128 + number))
    sys.exit(main())
