"""Evaluation: the results of a run's weights, or of others, on a split; results.json, report.html.

A cluster's evaluator follows the chief instead: it validates each new checkpoint.
"""

import dataclasses
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import tensorflow as tf

from rrn.config import replace
from rrn.distribute.cluster import PROBE_SECONDS, has_ended, wait_for
from rrn.distribute.variables import list_variables
from rrn.files.weights import assign_weights
from rrn.files.weights_file import Weights, read_weights
from rrn.models import naming, saved_model, saved_task
from rrn.pages import Table
from rrn.tasks.report import Report, Results
from rrn.training.checkpoints import restore_variables, written_by
from rrn.training.curves import draw_curves
from rrn.training.evaluation import Evaluator
from rrn.training.files import Files
from rrn.training.identity import RUN, digest, flatten
from rrn.training.machines import make_machines
from rrn.training.page import make_page
from rrn.training.provenance import Made, provenance
from rrn.training.request import Request
from rrn.training.setup import Setup, set_up
from rrn.training.workdir import Workdir


def evaluate(request: Request, files: Files) -> None:
    """Evaluates the run's best weights and those of its stages, or the weights that are given.

    Raises:
      ValueError: data or weights do not fit.
    """
    machines, weights = make_machines(request), files.weights
    assert weights is not None  # see `read_files`
    if of_run := request.weights is None:
        setup = set_up(request, files, machines)
    else:
        with naming(weights.path):
            setup = set_up(with_saved_model(request, weights), files, machines)
    evaluate_weights(setup, weights, of_run)


def with_saved_model(request: Request, weights: Weights) -> Request:
    """Takes the model of a weights file, and the name of its config, in place of the config's.

    A request with weights alone leaves the model as it is.

    Raises:
      ValueError: the file is of another task, or a field of the model is none of the file's.
    """
    request = dataclasses.replace(request, name=weights.attributes.get("config", request.name))
    if "task" not in weights.attributes:
        return request
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
      of_run: whether they are the run's own. Then those of its stages are evaluated, too, and the
        figures show how it came to them.

    Raises:
      ValueError: data or weights do not fit, or another run has written what is to be the run's.
    """
    lines = []
    if of_run:
        setup.check_own(weights)
        lines = setup.workdir.metrics(setup.identity)  # an error comes before the work
    config, stages = setup.request.config.evaluate, setup.stages
    evaluator = setup.evaluator(setup.evaluation_arrays(), config.examples)
    by_stage = _results_by_stage(setup, evaluator) if of_run and config.by_stage else {}
    if by_stage and _ended_with(setup, weights):
        results = by_stage[stages[-1]]
    else:
        assign_weights(weights, setup.variables)
        results, _ = evaluator.results()
    assert setup.evaluation_data is not None  # the evaluator's examples are of it
    results = dataclasses.replace(results, by_stage=by_stage, data=setup.evaluation_data.attributes)
    made = provenance(setup, weights, lines)
    written = _write_results(setup, evaluator, results, made)
    curves = {"curves": draw_curves(lines)} if lines else {}
    paths = setup.workdir.save_figures({**setup.report.figures(results), **curves})
    for path in paths:
        print(f"figure: {path}")
    page = _make_page(setup, evaluator, written, results, paths)
    print(f"report: {setup.workdir.write_text('report.html', page)}")


def _results_by_stage(setup: Setup, evaluator: Evaluator) -> dict[str, Results]:
    """Stage's name -> the task's results with the weights at its end, if it has ended."""
    results = {}
    for stage in setup.stages:
        if (path := setup.stage_weights(stage)).exists():
            weights = read_weights(path)
            setup.check_own(weights)
            assign_weights(weights, setup.variables)
            results[stage], _ = evaluator.results()
    return results


def _ended_with(setup: Setup, weights: Weights) -> bool:
    """Whether the run's last stage has ended, and with these weights: it may have gone on since."""
    path = setup.stage_weights(setup.stages[-1])
    return path.exists() and read_weights(path).sha256() == weights.sha256()


def _write_results(
    setup: Setup, evaluator: Evaluator, results: Results, made: Made
) -> dict[str, Any]:
    """Prints the results; returns what is written of them in results.json."""
    name, data, split = setup.request.name, setup.data, setup.request.config.evaluate.split
    assert setup.evaluation_data is not None  # the evaluator's examples are of it
    evaluated, examples = setup.evaluation_data.path, len(evaluator.examples)
    by_stage = {stage: ended.metrics for stage, ended in results.by_stage.items()}
    sizes = {setup.report.group_name(g): size for g, size in results.group_sizes.items()}
    notes = data.attributes["notes"]  # of the training data
    tested_on = f"{split} split of {evaluated}, {examples:,} examples"
    of_file = (results.data.get(name, "") for name in ("source", "notes"))
    tested_on = "; ".join([tested_on, *filter(None, of_file)])
    written = {
        "config": name,
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
    setup.workdir.path.mkdir(parents=True, exist_ok=True)
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


def _group_table(report: Report, results: Results) -> Table:
    """How many examples of each group were evaluated, and their error where groups have one."""
    rows = [
        (report.group_name(group), f"{size:,}")
        + ((f"{results.group_errors[group]:.1f}",) if results.group_errors else ())
        for group, size in results.group_sizes.items()
    ]
    columns = report.group, "examples", report.error
    return Table(columns[: len(rows[0])] if rows else columns, rows)


def follow(request: Request, files: Files) -> None:
    """Evaluates each new checkpoint on the validation split until the cluster's chief ends.

    Raises:
      ConnectionError: the chief did not come in time.
      ValueError: a checkpoint is of another run.
    """
    setup = set_up(request, files, make_machines(request))
    config, valid = request.config.train, setup.arrays(setup.data, "valid")
    evaluator = setup.evaluator(valid, config.validation_examples)
    assert request.cluster is not None  # whose evaluator this process is
    ((_, _, chief),) = chiefs = request.cluster.processes("chief")
    wait_for(chiefs, request.startup_timeout)
    for num_done, path in _new_checkpoints(setup.workdir, chief):
        try:
            setup.workdir.check_part(path, written_by(path), setup.identity)
            restore_variables(path, setup.variables, bool(config.ema_decay))
        except tf.errors.NotFoundError:  # the chief has replaced it since
            continue
        results, loss = evaluator.results()
        line = {"update": num_done, RUN: digest(setup.identity), "split": "valid"}
        line |= {"mean_loss": loss, "validation_error": results.error, **results.metrics}
        setup.workdir.append("validation.jsonl", line)
        print(f"update {num_done}  validation: mean_loss {loss:.4f}", flush=True)


def _new_checkpoints(workdir: Workdir, chief: str):
    """Yields (update, path) of each checkpoint that the chief writes, until it has ended."""
    seen, ended = None, False
    while not ended:
        ended = has_ended(chief)  # before the look: the last checkpoint is not missed
        path = tf.train.latest_checkpoint(str(workdir / "checkpoints" / "last"))
        if path in (None, seen) or path.endswith("ckpt-0"):
            time.sleep(PROBE_SECONDS)
            continue
        seen = path
        yield int(path.rsplit("-", 1)[1]), path
