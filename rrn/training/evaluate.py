"""Evaluation: results of a run's weights, or of others, on a split; results.json, report.html."""

import base64
import dataclasses
import datetime
import importlib.metadata
import platform
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import tensorflow as tf

from rrn import __version__
from rrn.config import replace
from rrn.distribute.variables import list_variables
from rrn.files.data import read_prepared
from rrn.files.weights import Weights, assign_weights, read_weights
from rrn.hardware import describe_gpus, describe_processor
from rrn.models import naming, saved_data, saved_model, saved_task
from rrn.pages import Example, Table, render
from rrn.tasks.report import Report, Results
from rrn.training.curves import draw_curves
from rrn.training.evaluation import Evaluator
from rrn.training.machines import make_machines
from rrn.training.request import Request
from rrn.training.setup import Setup, read_data, set_up
from rrn.training.workdir import Workdir, flatten


def evaluate(request: Request) -> None:
    """Evaluates the run's best weights and those of its stages, or the weights that are given.

    Raises:
      ValueError: data or weights do not fit, or weights are given and the folder holds a run.
    """
    workdir = Workdir(request.workdir)
    if request.weights is None:
        weights, data = read_weights(workdir / "weights.h5"), read_data(request)
        workdir.check({"data_sha256": data[0].digest, **request.fields})
        setup = set_up(request, make_machines(request), *data)
    else:
        if (workdir / "config.json").exists():
            raise ValueError(f"{workdir.path} holds a run; for --weights give another --workdir")
        weights = read_weights(request.weights)
        given = with_saved_model(request, weights)
        data = saved_data(weights), read_prepared(given.config.evaluate.path)
        machines = make_machines(given)
        with naming(weights.path):
            setup = set_up(given, machines, *data)
    evaluate_weights(setup, weights, of_run=request.weights is None)


def with_saved_model(request: Request, weights: Weights) -> Request:
    """Takes the model of a weights file, and the name of its config, instead of the config's.

    Raises:
      ValueError: the file is of another task, or a field of the model is none of the file's.
    """
    request = dataclasses.replace(request, name=weights.attributes.get("config", request.name))
    if (task := saved_task(weights)) != request.config.task:
        raise ValueError(
            f"{weights.path}: its task is {task}, the config's {request.config.task}; "
            f"--config names one of the file's task"
        )
    config = request.config
    model = saved_model(weights, request.model_fields)
    path = config.evaluate.path or config.data.path
    config = replace(config, model=model, evaluate={"path": path})
    return dataclasses.replace(request, config=config)


def evaluate_weights(setup: Setup, weights: Weights, of_run: bool) -> None:
    """Evaluates weights as `config.evaluate` says, and writes and prints the results.

    Args:
      of_run: whether they are the run's own. Then those of its stages are evaluated, too, and a
        figure shows the metrics over the updates.

    Raises:
      ValueError: data or weights do not fit, or metrics.jsonl is damaged.
    """
    setup.workdir.path.mkdir(parents=True, exist_ok=True)  # errors come before the work
    lines = setup.workdir.metrics() if of_run else []
    config = setup.request.config.evaluate
    evaluator = setup.evaluator(setup.evaluation_arrays(), config.examples)
    by_stage = _results_by_stage(setup, evaluator) if of_run and config.by_stage else {}
    if by_stage and _ended_with(setup, weights):
        results = by_stage[setup.stages[-1]]
    else:
        assign_weights(weights, setup.variables)
        results, _ = evaluator.results()
    data = setup.evaluation_data.attributes
    results = dataclasses.replace(results, by_stage=by_stage, data=data)
    written = _write_results(setup, evaluator, results, _made(setup, weights, lines))
    curves = {"curves": draw_curves(lines)} if lines else {}
    paths = setup.workdir.save_figures({**setup.report.figures(results), **curves})
    for path in paths:
        print(f"figure: {path}")
    page = _make_page(setup, evaluator, written, results, paths)
    print(f"report: {setup.workdir.write_text('report.html', page)}")


def _results_by_stage(setup: Setup, evaluator: Evaluator) -> dict[str, Results]:
    """Results with the weights at the end of each stage that has ended, of several."""
    results = {}
    for stage in setup.stages:
        if (path := setup.stage_weights(stage)).exists():
            weights = read_weights(path)
            assign_weights(weights, setup.variables)
            results[stage], _ = evaluator.results()
    return results


def _ended_with(setup: Setup, weights: Weights) -> bool:
    """Whether the run's last stage has ended, and with these weights, not with later ones."""
    path = setup.stage_weights(setup.stages[-1])
    return path.exists() and read_weights(path).sha256() == weights.sha256()


def _made(setup: Setup, weights: Weights, lines: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Says when, from which update, on what and by which program results are made.

    "minutes" are those of training, without interruptions.
    """
    now = datetime.datetime.now(datetime.timezone.utc)
    return {
        "date": now.isoformat(timespec="seconds"),
        "update": weights.attributes.get("update"),
        "weights": weights.sha256(),
        **({"minutes": round(lines[-1]["seconds"] / 60, 2)} if lines else {}),
        "devices": list(setup.machines.evaluation_devices),
        "processor": describe_processor(),
        "gpus": describe_gpus(),
        "commit": _commit(),
        "rrn": __version__,
        "tensorflow": importlib.metadata.version("tensorflow"),
        "python": platform.python_version(),
    }


def _commit() -> str | None:
    """Finds the checkout's commit; None without one, or where git fails, which is printed."""
    root = Path(__file__).parents[2]
    if not (root / ".git").exists():  # installed, perhaps within another checkout
        return None
    command = ["git", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    try:
        done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
        return done.stdout.strip()
    except (OSError, subprocess.CalledProcessError) as error:
        said = getattr(error, "stderr", None) or str(error)
        print(f"results.json will not have the commit: {said.splitlines()[0]}")
        return None


def _write_results(
    setup: Setup, evaluator: Evaluator, results: Results, made: Mapping[str, Any]
) -> dict[str, Any]:
    """Prints the results; returns what is written of them in results.json."""
    name, data, split = setup.request.name, setup.data, setup.request.config.evaluate.split
    evaluated, examples = setup.evaluation_data.path, len(evaluator.examples)
    by_stage = {stage: ended.metrics for stage, ended in results.by_stage.items()}
    sizes = {setup.report.group_name(g): size for g, size in results.group_sizes.items()}
    notes = data.attributes.get("notes", "")  # of the training data
    tested_on = f"{split} split of {evaluated}, {examples:,} examples"
    of_file = (results.data.get(name, "") for name in ("source", "notes"))
    tested_on = "; ".join([tested_on, *filter(None, of_file)])
    written = {
        "config": name,
        "fields": setup.request.fields,
        "data": evaluated,
        "split": split,
        "examples": examples,
        "tested_on": tested_on,
        "metrics": results.metrics,
        "by_step": results.by_step,
        **({"by_stage": by_stage} if by_stage else {}),
        **({"examples_by_group": sizes} if sizes else {}),
        "notes": notes,
        "made": made,
    }
    setup.workdir.write_json("results.json", written)
    print(f"{name}, {tested_on}")
    print(setup.report.table(results))
    if notes:
        print(f"trained on {data.attributes.get('file', data.path)}: {notes}")
    return written


def _make_page(
    setup: Setup,
    evaluator: Evaluator,
    written: Mapping[str, Any],
    results: Results,
    figures: Sequence[Path],
) -> str:
    """report.html, with examples as the weights now make them."""
    report, seed = setup.report, setup.request.config.seed
    with tf.device(setup.machines.evaluation_devices[0]):
        examples = report.examples(evaluator.arrays, evaluator.examples, seed)
    config = flatten({n: v for n, v in setup.request.fields.items() if n != "config"})
    variables = list_variables(setup.variables, {}, {})
    tables = report.table(results), _group_table(report, results)
    return make_page(written, *tables, examples, figures, config, variables)


def make_page(
    results: Mapping[str, Any],
    table: Table | str,
    groups: Table,
    examples: Sequence[Example],
    figures: Sequence[Path],
    config: Mapping[str, Any],
    variables: Sequence[Mapping[str, Any]],
) -> str:
    """Makes an HTML page that holds everything it shows, and loads nothing.

    Args:
      results: what results.json has.
      groups: how many examples of each group were evaluated; no rows without groups.
      figures: PNG files; a file's name is its caption.
      config: the fields and their values, such as {"train.l2": 0.1}.
      variables: what variables.json has.
    """
    rows = [
        (v["name"], "x".join(map(str, v["shape"])), f"{v['bytes']:,}", v["device"])
        for v in variables
    ]
    total = f"{len(rows)} variables, {sum(v['bytes'] for v in variables):,} bytes"
    return render(
        "training/page.html",
        results=results,
        made=[
            f"{name} {', '.join(value) if isinstance(value, list) else value}"
            for name, value in results["made"].items()
            if value and name != "weights"
        ],
        table=table,
        groups=groups,
        examples=examples,
        figures=[
            (path.stem.replace("_", " "), base64.b64encode(path.read_bytes()).decode())
            for path in figures
        ],
        config=Table(("field", "value"), [(name, str(value)) for name, value in config.items()]),
        variables=Table(("name", "shape", "bytes", "device"), rows, [total]),
    )


def _group_table(report: Report, results: Results) -> Table:
    """How many examples of each group were evaluated, and their error where groups have one."""
    rows = [
        (report.group_name(group), f"{size:,}")
        + ((f"{results.group_errors[group]:.1f}",) if results.group_errors else ())
        for group, size in results.group_sizes.items()
    ]
    columns = report.group, "examples", report.error
    return Table(columns[: len(rows[0])] if rows else columns, rows)
