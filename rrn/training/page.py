"""The page of a run or an evaluation: its results, examples, figures, config and variables."""

import base64
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rrn.pages import Example, Table, render
from rrn.training.provenance import in_words


def make_page(
    results: Mapping[str, Any],
    table: Table | str,
    examples: Sequence[Example],
    figures: Sequence[Path],
    config: Mapping[str, Any],
    variables: Sequence[Mapping[str, Any]],
) -> str:
    """Makes an HTML page that holds everything it shows, and loads nothing.

    Args:
      results: what results.json has.
      figures: PNG files; a file's name is its caption.
      config: the fields and their values, such as {"train.l2": 0.1}.
      variables: what variables.json has.
    """
    pictures = [
        (path.stem.replace("_", " "), base64.b64encode(path.read_bytes()).decode())
        for path in figures
    ]
    return render(
        "training/page.html",
        name=results["config"],
        results=results,
        made=in_words(results["made"]),
        table=table,
        examples=examples,
        figures=pictures,
        config=config,
        variables=variables,
    )
