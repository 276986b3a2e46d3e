"""From a template and values to a page."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import jinja2
import markupsafe
import numpy as np

from rrn.pages.content import SIDE

# A template is beside the module that renders it, in any package of rrn/.
_ENVIRONMENT = jinja2.Environment(
    loader=jinja2.FileSystemLoader(Path(__file__).parents[1]),
    autoescape=True,
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


def render(template: str, **values: Any) -> str:
    """Fills in a template.

    Args:
      template: its path within the package `rrn`, such as "training/page.html".
      **values: what the template calls by name. Text is escaped.
    """
    return _ENVIRONMENT.get_template(template).render(values)


def as_json(examples: Any) -> markupsafe.Markup:
    """Writes examples as the player's script reads them: numbers have three decimals."""
    plain = [_rounded(dataclasses.asdict(example)) for example in examples]
    text = json.dumps(plain, separators=(",", ":"))
    return markupsafe.Markup(text.replace("<", "\\u003c"))  # "<" begins no tag in a script


def _rounded(value):
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [_rounded(item) for item in value]
    return value if isinstance(value, str) else round(float(value), 3)


_ENVIRONMENT.filters["as_json"], _ENVIRONMENT.globals["SIDE"] = as_json, SIDE
