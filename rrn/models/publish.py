"""Writes a run's weights for others: with all that makes the model again, its results and licence.

    python -m rrn.models.publish runs/mine/weights.h5 --out pretrained/mine.h5 --licence Apache-2.0

The results and the commit are those of `results.json` beside the weights, the seed is that of
`config.json`. No weight changes. The command prints the file's row for the table in
`pretrained/README.md`.
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
            attributes["commit"] = measured["made"]["commit"] or ""  # None: not of a checkout
            attributes["seed"] = json.loads(path.with_name("config.json").read_text())["seed"]
        except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
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
    """Writes a file's row of the table in `pretrained/README.md`: model, training data, result."""
    about, data = weights.attributes, weights.attributes["data"]
    commit, dirty, _ = about.get("commit", "").partition("-dirty")
    result = ""
    measured = about.get("results", {})
    if metrics := measured.get("metrics"):
        # One of all examples; a number after a slash is that of a group.
        whole = (name for name in metrics if not re.search(r"/.*\d", name))
        name = next(whole, next(iter(metrics)))
        result = f"{name} {metrics[name]:.6g} ({measured['examples']:,} {measured['split']})"
    cells = [
        f"`{Path(weights.path).name}`",
        f"`{about['config']}`",
        str(about.get("seed", "")),
        commit[:7] + dirty,
        f"{about['update']:,}",
        f"{sum(array.size for array in weights.arrays.values()):,}",
        f"`{data['file']}` ({data.get('source') or 'generated'}, seed {data.get('seed', '?')})",
        data.get("notes", ""),
        result,
        about.get("licence", "not stated"),
        hashlib.sha256(Path(weights.path).read_bytes()).hexdigest(),
    ]
    return f"| {' | '.join(cells)} |"


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
