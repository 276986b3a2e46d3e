"""Writes a run's weights for others: with all that makes the model again, its results and licence.

    python -m rrn.models.publish runs/mine/weights.h5 --out pretrained/mine.h5 --licence Apache-2.0

The results are those of `results.json` beside the weights. No weight changes. The command prints
the file's card for `pretrained/README.md`.
"""

import argparse
import dataclasses
import hashlib
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from rrn.data_prep.failures import Parser, escape_output, exit_status, words_of
from rrn.files.weights import Weights, read_weights, write_weights


def publish(weights: str | Path, out: str, licence: str | None = None) -> Weights:
    """Writes the file `out`, see above, and returns what it holds."""
    found = read_weights(weights)
    if lacking := {"task", "config", "update", "data"} - found.attributes.keys():
        raise ValueError(f"{weights}: lacks {', '.join(sorted(lacking))}, which a run's file has")
    attributes = dict(found.attributes)
    path = Path(weights).with_name("results.json")
    if path.exists():
        try:
            measured = json.loads(path.read_text())
            attributes["results"] = {n: measured[n] for n in ("split", "examples", "metrics")}
            evaluated = measured["made"].get("weights")
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise ValueError(f"{path}: not the results of a run: {words_of(error)}") from None
        if evaluated not in (None, found.sha256()):
            raise ValueError(
                f"{path}: of other weights than {weights}; "
                "main.py --mode=evaluate writes results of these"
            )
    if licence:
        attributes["licence"] = licence
    published = dataclasses.replace(found, path=out, attributes=attributes)
    write_weights(published)
    return published


def card(weights: Weights) -> str:
    """Writes a file's card in Markdown: its model, training data and results."""
    about, data = weights.attributes, weights.attributes["data"]
    size = sum(array.size for array in weights.arrays.values())
    source = f"{data.get('source') or 'generated'}, seed {data['seed']}"
    if data.get("sha256"):
        source += f", SHA-256 of the source {data['sha256'][:16]}…"
    lines = [
        f"## {Path(weights.path).name}\n",
        f"- Task `{about['task']}`, `{about['config']}`, update {about['update']:,}; "
        f"{size:,} parameters",
        f"- Trained on `{data['file']}` ({source})",
    ]
    if data.get("notes"):
        lines.append(f"- Its data: {data['notes']}")
    if results := about.get("results"):
        metrics = results["metrics"]
        # Those of all examples; a number in a name is that of a group.
        metrics = {name: v for name, v in metrics.items() if not re.search(r"\d", name)} or metrics
        examples = f"{results['examples']:,} examples of the {results['split']} split"
        reached = ", ".join(f"{name} {value:.6g}" for name, value in metrics.items())
        lines.append(f"- On {examples}: {reached}")
    lines.append(f"- Licence: {about.get('licence', 'not stated')}")
    digest = hashlib.sha256(Path(weights.path).read_bytes()).hexdigest()
    return "\n".join([*lines, f"- SHA-256 of the file: {digest}"])


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns the exit status."""
    parser = Parser(prog="python -m rrn.models.publish", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("weights", help="a weights file")
    parser.add_argument("--out", required=True, help="the file to write")
    parser.add_argument("--licence", help="of the weights, such as Apache-2.0")
    options = vars(parser.parse_args(arguments))
    return exit_status(lambda: print(card(publish(**options))))


if __name__ == "__main__":
    escape_output()
    sys.exit(main())
