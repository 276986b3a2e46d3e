"""Writes a run's weights for others: with all that makes the model again, its results and licence.

    python -m rrn.models.publish runs/mine/weights.h5 --out pretrained/mine.h5 --licence Apache-2.0

The results are those of `results.json` beside the weights; the file has everything else in it. No
weight changes.
The command prints the file's card for `pretrained/README.md`.
"""

from rrn.data_prep.interruption import interruption

if __name__ == "__main__":  # before the imports that take a second
    interruption.expect()
import argparse
import dataclasses
import hashlib
import json
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rrn.data_prep.failures import Parser, escape_output, exit_status, words_of
from rrn.files.weights_file import Weights, read_weights, write_weights


def publish(
    weights: str | Path,
    out: str | Path,
    results: str | Path | None = None,
    licence: str | None = None,
) -> Weights:
    """Writes the file `out`, see above, and reads it back.

    Raises:
      ValueError: a file is missing or damaged, or lacks what a run's file has; or the results are
        of other weights.
    """
    results = results or _beside(weights, "results.json")
    found = read_run_weights(weights)
    attributes = dict(found.attributes)
    if results:
        attributes["results"] = _read_results(results, found)
    if licence:
        attributes["licence"] = licence
    write_weights(dataclasses.replace(found, path=str(out), attributes=attributes))
    return read_weights(out)


def read_run_weights(path: str | Path) -> Weights:
    """Reads a weights file that says what a run's does: task, config, update and data.

    Raises:
      ValueError: the file is missing or damaged, or lacks some of these.
    """
    found = read_weights(path)
    if lacking := {"task", "config", "update", "data"} - found.attributes.keys():
        raise ValueError(f"{path}: lacks {', '.join(sorted(lacking))}, which a run's file has")
    return found


def metrics_of_all(results: Mapping[str, Any]) -> dict[str, float]:
    """Chooses a file's metrics of all examples, or all metrics where there are none of all."""
    metrics = results["metrics"]
    return {n: v for n, v in metrics.items() if not re.search(r"\d", n)} or metrics


def card(weights: Weights) -> str:
    """Writes a file's card in Markdown: its model, what it was trained on, what it reaches."""
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
        metrics = ", ".join(f"{n} {value:.6g}" for n, value in metrics_of_all(results).items())
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


def _read_results(path, weights):
    try:
        measured = json.loads(Path(path).read_text())
        results = {name: measured[name] for name in ("split", "examples", "metrics")}
        evaluated = measured["made"]["weights"]
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise ValueError(f"{path}: not the results of a run: {words_of(error)}") from None
    if evaluated != weights.sha256():
        raise ValueError(
            f"{path}: of other weights than {weights.path}, with the SHA-256 {evaluated}; "
            "expected results of these, which main.py --mode evaluate writes"
        )
    return results


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns the exit status."""
    parser = Parser(prog="python -m rrn.models.publish", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("weights", help="a weights file")
    parser.add_argument("--out", required=True, help="the file to write")
    parser.add_argument("--results", help="a results.json; the one beside the weights if not given")
    parser.add_argument("--licence", help="of the weights, such as Apache-2.0")
    options = vars(parser.parse_args(arguments))
    return exit_status(lambda: print(card(publish(**options))))


if __name__ == "__main__":
    escape_output()
    sys.exit(main())
