"""Writes weights as a folder that can be uploaded as it is, for those who have no rrn, too.

    python -m rrn.models.hub pretrained/sudoku.h5 --out runs/hub/sudoku

The folder has the weights file, which `rrn.load` takes, and

    model.safetensors  each variable under its name; what the file says of its model as metadata
    config.json        the same, and what the model took from its data, such as its vocabulary
    README.md          the file's card, with the head that the Hugging Face Hub reads

It needs the library `safetensors`.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from rrn.data_prep.failures import Parser, escape_output, exit_status
from rrn.data_prep.writing import whole
from rrn.files.weights_file import Weights
from rrn.models.publish import card, metrics_of_all, read_run_weights

WEIGHTS = "model.safetensors"
USE = """
`rrn.load("{name}")` makes the model, and its `inputs()` says what `predict` takes. Without rrn,
`safetensors.numpy.load_file("model.safetensors")` has the arrays, and `config.json` the settings.
"""


def write_folder(weights: str | Path, folder: str | Path) -> None:
    """Writes the folder, see above, whole or not at all; an earlier one is replaced.

    Raises:
      ValueError: the weights file is missing, damaged or no run's, the folder holds something else,
        or safetensors is not installed.
    """
    try:
        from safetensors.numpy import save
    except ImportError:
        raise ValueError("safetensors is not installed: pip install 'rrn[hub]'") from None
    found, folder = read_run_weights(weights), Path(folder)
    if folder.exists() and not (folder / WEIGHTS).exists():
        raise ValueError(f"{folder}: is there and has no {WEIGHTS}; name another folder")
    constants = {name: array.tolist() for name, array in found.constants.items()}
    about = found.attributes
    texts = {n: v if isinstance(v, str) else json.dumps(v) for n, v in about.items()}
    with whole(folder) as temporary:
        temporary.mkdir(parents=True)
        (temporary / Path(weights).name).write_bytes(Path(weights).read_bytes())
        (temporary / WEIGHTS).write_bytes(save(found.arrays, {"format": "np", **texts}))
        config = json.dumps({**about, "constants": constants}, indent=1)
        (temporary / "config.json").write_text(config + "\n", encoding="utf-8")
        text = f"{_head(found)}\n#{card(found)[2:]}\n{USE.format(name=Path(weights).name)}"
        (temporary / "README.md").write_text(text, encoding="utf-8")


def _head(weights: Weights) -> str:
    """What the Hub reads of a card: YAML, whose texts are those of JSON."""
    about = weights.attributes
    task, data = json.dumps(about["task"]), about["data"]
    lines = ["---", "library_name: rrn"]
    if "licence" in about:
        lines.append(f"license: {json.dumps(about['licence'].lower())}")
    lines += ["tags:", "- recurrent-relational-network", "- graph-neural-network", f"- {task}"]
    lines += ["datasets:", f"- {json.dumps(data['schema'])}"]
    if "results" in about:
        results = about["results"]
        lines += [
            "model-index:",
            f"- name: {json.dumps(Path(weights.path).stem)}",
            "  results:",
            f"  - task: {{type: {task}}}",
            "    dataset:",
            f"      type: {json.dumps(data['schema'])}",
            f"      name: {json.dumps(data['file'])}",
            f"      split: {json.dumps(results['split'])}",
            "    metrics:",
            *(
                f"    - {{type: {json.dumps(name)}, value: {value:.6f}}}"
                for name, value in metrics_of_all(results).items()
            ),
        ]
    return "\n".join([*lines, "---"])


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns the exit status."""
    parser = Parser(prog="python -m rrn.models.hub", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("weights", help="a weights file of a run, or one of pretrained/")
    parser.add_argument("--out", dest="folder", required=True, help="the folder to write")
    options = vars(parser.parse_args(arguments))
    return exit_status(lambda: write_folder(**options))


if __name__ == "__main__":
    escape_output()
    sys.exit(main())
