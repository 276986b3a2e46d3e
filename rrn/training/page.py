"""The page of a run or an evaluation: results, examples, figures, config and variables."""

import base64
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rrn.pages import Example, Table, render


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
      groups: how many examples of each group were evaluated; no rows where there are no groups.
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
        results=results,
        made=[
            f"{name} {', '.join(value) if isinstance(value, list) else value}"
            for name, value in results["made"].items()
            if value and name != "weights"
        ],
        table=table,
        groups=groups,
        examples=examples,
        figures=pictures,
        config=Table(("field", "value"), [(name, str(value)) for name, value in config.items()]),
        variables=_table_of(variables),
    )


def _table_of(variables):
    rows = [
        (v["name"], "x".join(map(str, v["shape"])), f"{v['bytes']:,}", v["device"])
        for v in variables
    ]
    total = f"{len(rows)} variables, {sum(v['bytes'] for v in variables):,} bytes"
    return Table(("name", "shape", "bytes", "device"), rows, [total])
