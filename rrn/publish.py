"""Writes a run's weights for others: with all that makes the model again, its results and licence.

    python -m rrn.publish runs/mine/weights.h5 --out pretrained/mine.h5 --licence Apache-2.0

The results are those of `results.json` beside the weights. A run's file has everything else in it.
One of an older version has weights alone: then the config is `config.json` beside them, or what
`--config` names, and the data set is the config's, or what `--data` names. No weight changes.
The command prints the file's card for `pretrained/README.md`.
"""

import argparse
import dataclasses
import hashlib
import importlib.util
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path

import h5py
from ml_collections import ConfigDict

from data_prep.failures import error_line
from rrn.data import read_prepared
from rrn.fields import Field, check_fields
from rrn.models import describe
from rrn.tasks import create_task, find_task
from rrn.weights import assign_weights, model_variables
from rrn.weights_file import Weights, read_weights, write_weights


def publish(
    weights: str | Path,
    out: str | Path,
    config: str | None = None,
    data: str | None = None,
    results: str | Path | None = None,
    licence: str | None = None,
) -> Weights:
    """Writes the file `out`; see above.

    Args:
      weights: a weights file.
      out: the file to write.
      config: of a file that has weights alone: a run's `config.json`, or FILE.py:VARIANT.
      data: of a file that has weights alone: the prepared file that it was trained on.
      results: a `results.json`.
      licence: that of the weights.

    Returns:
      What was written, as it is read back.

    Raises:
      ValueError: a file is missing or damaged, or the weights are not the config's.
    """
    results = results or _beside(weights, "results.json")
    try:
        found = read_weights(weights)
    except ValueError as error:
        if "it has no digests" not in str(error):
            raise
        found = _weights_alone(weights)
    if "task" not in found.attributes:
        found = _described(found, config or _beside(weights, "config.json"), data)
    attributes = dict(found.attributes)
    if lacking := {"config", "update", "data"} - attributes.keys():
        raise ValueError(f"{weights}: lacks {', '.join(sorted(lacking))}, which a run's file has")
    if results:
        attributes["results"] = _read_results(results)
    if licence:
        attributes["licence"] = licence
    write_weights(dataclasses.replace(found, path=str(out), attributes=attributes))
    return read_weights(out)


def card(weights: Weights) -> str:
    """Writes a weights file's card: its model, what it was trained on, what it reaches.

    Args:
      weights: the file's contents.

    Returns:
      Markdown.
    """
    about, data = weights.attributes, weights.attributes["data"]
    size = sum(array.size for array in weights.arrays.values())
    source = data.get("source") or "generated"
    lines = [
        f"## {Path(weights.path).name}",
        "",
        f"- Task `{about['task']}`, `{about['config']}`, update {about['update']:,}; "
        f"{size:,} parameters",
        f"- Trained on `{data['file']}` ({source}, seed {data['seed']}"
        + (f", SHA-256 of the source {data['sha256'][:16]}…" if data.get("sha256") else "")
        + ")",
    ]
    if data.get("notes"):
        lines.append(f"- Its data: {data['notes']}")
    if "results" in about:
        results = about["results"]
        reached = results["metrics"]  # of all examples, if there are figures of all
        reached = {n: v for n, v in reached.items() if not re.search(r"\d", n)} or reached
        metrics = ", ".join(f"{name} {value:.4g}" for name, value in reached.items())
        examples = f"{results['examples']:,} examples of the {results['split']} split"
        lines.append(f"- On {examples}: {metrics}")
    lines.append(f"- Licence: {about.get('licence', 'not stated')}")
    lines.append(f"- SHA-256 of the file: {_sha256(weights.path)}")
    return "\n".join(lines)


def _sha256(path):
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def _beside(weights, name):
    path = Path(weights).parent / name
    return str(path) if path.exists() else None


def _weights_alone(path):
    """A file of an older version, which has nothing by which it could be verified."""
    arrays = {}

    def collect(name, item):
        if isinstance(item, h5py.Dataset):
            arrays[name] = item[()]

    with h5py.File(path, "r") as file:
        file.visititems(collect)
        attributes = {name: getattr(v, "item", lambda v=v: v)() for name, v in file.attrs.items()}
    return Weights(str(path), arrays, {}, attributes)


def _described(found, config, data):
    """The weights with their task, model and data; checked to be those of such a model."""
    if config is None:
        raise ValueError(f"{found.path}: it has weights alone; --config names the run's config")
    config = _read_config(config)
    prepared = read_prepared(data or config.data.path)
    task = create_task(config, prepared)
    assign_weights(found, model_variables(task), task.training_only())
    attributes = {**found.attributes, **describe(config, prepared)}
    return dataclasses.replace(found, constants=task.constants, attributes=attributes)


def _read_results(path):
    try:
        measured = json.loads(Path(path).read_text())
        return {name: measured[name] for name in ("split", "examples", "metrics")}
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise ValueError(f"{path}: not the results of a run: {error!r}") from None


def _read_config(name):
    file, _, variant = name.partition(":")
    try:
        if file.endswith(".json"):
            config = ConfigDict(json.loads(Path(file).read_text()))
        else:
            spec = importlib.util.spec_from_file_location(Path(file).stem, file)
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            config = module.get_config(variant)
        check_fields(config.model, find_task(config.task).FIELDS, "model")
        Field(str).check("data.path", config.data.path)
    except Exception as error:  # a config file may raise anything
        raise ValueError(f"--config={name}: {type(error).__name__}: {error}") from error
    return config


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command.

    Args:
      arguments: the command line without the program's name; this process's if not given.

    Returns:
      The exit status.
    """
    parser = argparse.ArgumentParser(prog="python -m rrn.publish", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("weights", help="a weights file")
    parser.add_argument("--out", required=True, help="the file to write")
    parser.add_argument("--config", help="FILE.py:VARIANT or config.json, of weights alone")
    parser.add_argument("--data", help="the prepared file, of weights alone")
    parser.add_argument("--results", help="a results.json; the one beside the weights if not given")
    parser.add_argument("--licence", help="of the weights, such as Apache-2.0")
    try:
        print(card(publish(**vars(parser.parse_args(arguments)))))
    except Exception as error:
        if (line := error_line(error)) is None:
            raise
        print(line, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
