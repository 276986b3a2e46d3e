"""Trains a config with several seeds and settings, and prints the mean of their results.

    python -m rrn.sweep configs/babi.py:hour --seeds 0,1,2 --devices 0 1
    python -m rrn.sweep configs/babi.py:quick --seeds 0,1 --set train.learning_rate=1e-3,2e-3

Each run is one of `python -m rrn` in a folder of its own, one at a time on each of `--devices`.
Ctrl-C or SIGTERM stops the runs, which save their states. The same command resumes them.
"""

import itertools
import json
import re
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from rrn.config_file import read_config, run_name, split_arguments
from rrn.data_prep.failures import SEED, Parser, escape_output, exit_status

PROGRAM = [sys.executable, "-m", "rrn"]
UNFIT = r"[^\w=,.+-]"  # for a folder's name: TensorFlow reads some, as [ and *, as patterns


def read_metrics(folder: Path, fields: dict) -> dict | None:
    """Reads a run's metrics; None if it is not finished, or was of another config."""
    if not (path := folder / "results.json").exists():
        return None
    try:
        results = json.loads(path.read_text())
        config = results.get("fields", {})  # config.json may be of a run that goes on
        same = all(config.get(name) == value for name, value in fields.items())
        return results["metrics"] if same else None
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise ValueError(f"{path}: damaged ({error!r}); delete it and repeat the command") from None


def split_values(text: str) -> list[str]:
    """Splits at the commas that are not within a value's brackets."""
    values, depth = [""], 0
    for character in text:
        depth += (character in "([{") - (character in ")]}")
        if character == "," and not depth:
            values.append("")
        else:
            values[-1] += character
    return values


def make_runs(runs: Sequence[tuple[Path, list[str]]], devices: Sequence[str]) -> list[str]:
    """Makes runs, (folder, flags), one on each of the devices at a time; says which have failed."""
    started, busy = [], {}
    try:
        for folder, flags in runs:
            while len(busy) == len(devices):
                time.sleep(0.5)
                busy = {number: run for number, run in busy.items() if run.poll() is None}
            free = next(number for number in range(len(devices)) if number not in busy)
            folder.mkdir(parents=True, exist_ok=True)
            print(folder, flush=True)
            flags = [*flags, f"--workdir={folder}", f"--devices={devices[free]}"]
            with (folder / "output.txt").open("ab") as to:
                command = [*PROGRAM, *flags]
                run = subprocess.Popen(command, stdout=to, stderr=to, start_new_session=True)
            busy[free] = run
            started.append((folder, run))
        return [f"{folder}: failed, see output.txt" for folder, run in started if run.wait()]
    finally:  # in the end, or after Ctrl-C, no run is left
        for _, run in started:
            run.terminate()
        for _, run in started:
            run.wait()


def lines(metrics: Sequence[dict]) -> Iterator[str]:
    """Says each metric's mean and standard deviation over runs."""
    for name in dict.fromkeys(itertools.chain(*metrics)):
        values = [of[name] for of in metrics if of.get(name) is not None]
        deviation = f" ± {statistics.stdev(values):.2g}" if len(values) > 1 else ""
        if values:
            yield f"  {name} {statistics.fmean(values):.4g}{deviation}"


def _seeds(text: str) -> list[int]:
    return list(dict.fromkeys(map(SEED, text.split(","))))


def sweep(arguments: Sequence[str]) -> None:
    """Trains every setting with every seed, and prints the results of each setting."""
    arguments, common = split_arguments(arguments)
    parser = Parser(prog="python -m rrn.sweep", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("config", help="the experiment, FILE or FILE:VARIANT")
    parser.add_argument("--seeds", type=_seeds, default=[0])
    parser.add_argument("--set", action="append", default=[], metavar="FIELD=VALUE,VALUE")
    parser.add_argument(
        "--devices", nargs="+", default=["auto"], help="for each of the runs side by side"
    )
    parser.add_argument("--workdir", type=Path, help="runs/sweep_CONFIG if not given")
    options = parser.parse_args(arguments)
    workdir = options.workdir or Path("runs") / f"sweep_{run_name(options.config)}"
    settings, runs = {}, []
    fields = [text.partition("=") for text in options.set]
    if "seed" in [field for field, *_ in (*common, *fields)]:
        raise ValueError("seed: give --seeds 0,1 instead")
    choices = [
        [(field, value) for value in dict.fromkeys(split_values(values))]
        for field, _, values in fields
    ]
    for setting, seed in itertools.product(itertools.product(*choices), options.seeds):
        name = re.sub(UNFIT, "_", ",".join(map("=".join, setting)))
        folder, changes = workdir / name / f"seed={seed}", [("seed", str(seed)), *common, *setting]
        fields = json.loads(json.dumps(read_config(options.config, changes).to_dict()))
        settings.setdefault(name or options.config, []).append((folder, fields))
        if not read_metrics(folder, fields):
            flags = [f"--config.{field}={value}" for field, value in changes]
            runs.append((folder, [f"--config={options.config}", *flags]))
    failed = "\n".join(make_runs(runs, options.devices))
    for name, of in settings.items():
        metrics = [found for run in of if (found := read_metrics(*run))]
        print(f"{name}, {len(metrics)} of {len(of)} runs", *lines(metrics), sep="\n")
    if failed:
        raise ValueError(failed)


if __name__ == "__main__":
    escape_output()
    for number in signal.SIGTERM, signal.SIGHUP:  # else the runs would be left
        if signal.getsignal(number) is not signal.SIG_IGN:  # as under nohup
            signal.signal(number, signal.default_int_handler)
    sys.exit(exit_status(lambda: sweep(sys.argv[1:])))
