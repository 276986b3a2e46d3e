"""From a template and values to a page."""

import functools
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from rrn.pages.content import SIDE, Example

TEMPLATES = Path(__file__).parents[1]  # rrn/: a template is beside the module that renders it


def render(template: str, **values: Any) -> str:
    """Fills in a template.

    Args:
      template: its path within the package `rrn`, such as "training/page.html".
      **values: what the template calls by name. Text is escaped.
    """
    return _environment().get_template(template).render(values)


def as_json(examples: Sequence[Example]) -> str:
    """Writes examples as the pages' script reads them: JSON with three digits after the point."""
    return json.dumps(_rounded([asdict(example) for example in examples]), separators=(",", ":"))


@functools.cache
def _environment():
    import jinja2  # only pages need it
    import markupsafe  # jinja2's own

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["SIDE"] = SIDE
    # "<" can begin no tag within a script.
    environment.filters["as_json"] = lambda examples: markupsafe.Markup(
        as_json(examples).replace("<", "\\u003c")
    )
    return environment


def _rounded(value):
    """`value` with plain numbers of three digits after the point, whatever their type was."""
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [_rounded(item) for item in value]
    if isinstance(value, str):
        return value
    rounded = round(float(value), 3)
    return int(rounded) if rounded.is_integer() else rounded
