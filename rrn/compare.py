"""Compares runs on one page: their settings, results and curves, and how they were made.

    python -m rrn.compare runs/babi_quick runs/mine --out compare.html

The page loads nothing from elsewhere. A run that has not ended yet is shown with what it has.
"""

import argparse
import dataclasses
import importlib
import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rrn.data_prep.failures import Parser, escape_output, exit_status
from rrn.data_prep.writing import whole
from rrn.pages import Table, render
from rrn.training.identity import RUN, flatten
from rrn.training.workdir import Workdir

PROGRAM = "commit", "rrn", "tensorflow"


@dataclasses.dataclass(frozen=True)
class Run:
    """What a run's folder has.

    Attributes:
      name: the folder, as it was given.
      config: what config.json has.
      lines: those of metrics.jsonl.
      results: what results.json has; None if it is not there.
    """

    name: str
    config: Mapping[str, Any]
    lines: Sequence[Mapping[str, Any]]
    results: Mapping[str, Any] | None

    @property
    def status(self) -> str:
        """How many updates the run has made, and whether it has ended with an evaluation."""
        stages = self.config["train"]["stages"]
        planned = sum(stage["num_updates"] for stage in stages)
        done = max((line["update"] for line in self.lines), default=0)
        if self.results and done >= planned:
            return f"{done:,}, finished"
        last = [line.get("ended_early") for line in self.lines if line["update"] == done]
        if self.results and stages[-1]["name"] in last:
            return f"{done:,} of {planned:,}, ended early"
        return f"{done:,} of {planned:,}, unfinished"


def read_run(folder: str | Path) -> Run:
    """Reads the folder of a run.

    Raises:
      ValueError: it is none, or a file in it is damaged; the message names it.
    """
    workdir = Workdir(folder)
    if not workdir.path.is_dir():
        raise ValueError(f"{folder}: not a folder; expected that of a run, such as runs/babi_quick")
    if not (workdir / "config.json").exists():
        raise ValueError(f"{folder}: no run, as it has no config.json; expected a run's folder")
    config = _read(workdir / "config.json")
    results = _read(workdir / "results.json") if (workdir / "results.json").exists() else None
    run = Run(str(workdir.path), config, workdir.metrics(), results)
    try:
        _ = run.status, config["task"]
    except (LookupError, TypeError):
        raise ValueError(f"{workdir / 'config.json'}: not a run's config") from None
    return run


def _read(file):
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{file}: not JSON: {error}") from None
    if not isinstance(found, dict):
        raise ValueError(f"{file}: not what a run writes, which begins with a brace")
    return found


def make_page(runs: Sequence[Run]) -> str:
    """Makes the page, which holds everything that it shows.

    Raises:
      ValueError: a task that is not here, or results that are none; the message names the file.
    """
    importlib.import_module("rrn.fast_start")  # which imports TensorFlow, as these do
    from rrn.tasks import find_report
    from rrn.training.curves import make_charts

    reports = {}
    for run in runs:
        try:
            reports[run.name] = find_report(run.config["task"])
        except ValueError as error:
            raise ValueError(f"{Path(run.name, 'config.json')}: {error}") from None
    charts = make_charts({run.name: (run.lines, reports[run.name]) for run in runs})
    evaluated, numbers, made = zip(*(_evaluation(r, reports[r.name]) for r in runs), strict=True)
    return render(
        "compare.html",
        runs=runs,
        settings=_settings(runs),
        results=_results(runs, evaluated, numbers),
        charts=[dataclasses.asdict(chart) for chart in charts],
        made=made,
    )


def _settings(runs):
    """A row for each field that is not the same in all configs."""
    fields = [flatten({n: v for n, v in run.config.items() if n != RUN}) for run in runs]
    rows = []
    for name in dict.fromkeys(name for some in fields for name in some):
        values = [str(some.get(name, "absent")) for some in fields]
        if len(set(values)) > 1:
            rows.append((name, *values))
    return Table(("field", *(run.name for run in runs)), rows)


def _results(runs, evaluated, columns):
    """A row for each metric, in words and with its unit as in the charts."""
    rows = [("updates", *(run.status for run in runs)), ("examples", *evaluated)]
    for title in dict.fromkeys(title for column in columns for title in column):
        found = [column.get(title, {}) for column in columns]
        names = list(dict.fromkeys(name for numbers in found for name in numbers))
        for name in names:
            label = title if len(names) == 1 else f"{title}: {name}"
            rows.append((label, *(numbers.get(name, "") for numbers in found)))
    return Table(("", *(run.name for run in runs)), rows)


def _evaluation(run, report):
    """What results.json says: (which examples, {title: {name: number}}, sentences), all as texts.

    Without results, or with those of an earlier checkout, the sentences are about the program.
    """
    from rrn.training.curves import plots
    from rrn.training.provenance import in_words, weights_in_words

    program = run.config.get(RUN, {})
    said = [f"{name} {program[name]}." for name in PROGRAM if program.get(name)]
    if not run.results:
        return "", {}, said
    try:
        evaluated = "{examples:,} of {data}, {split}".format(**run.results)
        found = plots([{"update": 0, **run.results["metrics"]}], report)
        numbers = {
            title: {name: f"{value:.4g}" for name, ((_, value),) in curves.items()}
            for title, curves in found.items()
        }
        if "made" in run.results:
            made = run.results["made"]
            said = [weights_in_words(made), *in_words(made), made["lacking"] or ""]
        notes = run.results["notes"]
        return evaluated, numbers, [*said, f"Training data: {notes}" if notes else ""]
    except (LookupError, TypeError, ValueError, AttributeError):
        file = Path(run.name, "results.json")
        raise ValueError(f"{file}: not the results of a run") from None


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns the exit status."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # errors come as exceptions
    parser = Parser(prog="python -m rrn.compare", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("runs", nargs="+", metavar="RUN", help="the folder of a run")
    parser.add_argument("--out", default="compare.html", help="the page; %(default)s if not given")
    options = parser.parse_args(arguments)
    return exit_status(lambda: _compare(options.runs, options.out))


def _compare(folders, out):
    runs = [read_run(folder) for folder in folders]
    names = [run.name for run in runs]
    if twice := [name for name in names if names.count(name) > 1]:
        raise ValueError(f"{twice[0]}: given twice; expected different runs")
    page = make_page(runs)
    with whole(out) as temporary:
        temporary.write_text(page, encoding="utf-8", errors="backslashreplace")
    print(f"comparison: {out}")


if __name__ == "__main__":
    escape_output()
    sys.exit(main())
