"""Pages to look at in a browser, each one file that needs no network.

A page's own template is beside the module that makes the page.
"""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2
import markupsafe
import numpy as np

# An SVG element: its name, its attributes, and the text in it.
Mark = tuple[str, Mapping[str, float | str], str]

SIDE = 900  # units of the sides of a drawing, a square; y goes downwards


@dataclasses.dataclass(frozen=True)
class Table:
    """A table whose `str` is plain text; the first column has the rows' names."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()

    def __str__(self) -> str:
        names, *columns = zip(self.columns, *self.rows, strict=True)
        width = max(map(len, names))
        lines = [name.ljust(width) for name in names]
        for column in columns:
            width = max(map(len, column)) + 2
            lines = [line + cell.rjust(width) for line, cell in zip(lines, column, strict=True)]
        return "\n".join([*map(str.rstrip, lines), *self.notes])


@dataclasses.dataclass(frozen=True)
class Step:
    """What the network makes of an example at one step."""

    answers: Sequence[tuple[str, float]] = ()  # with probabilities, the likeliest first
    strengths: Sequence[float] = ()  # of the messages that each of the example's lines sends
    marks: Sequence[Mark] = ()  # on top of the example's own drawing
    note: str = ""


@dataclasses.dataclass(frozen=True)
class Example:
    """An example and its steps."""

    title: str
    steps: Sequence[Step]
    question: str = ""
    right: str = ""  # the right answer, in the words of `Step.answers`
    right_probabilities: Sequence[float] = ()  # at every step
    lines: Sequence[str] = ()  # what the network reads, a line for each node
    drawing: Sequence[Mark] = ()  # at every step


def render(template: str, **values: Any) -> str:
    """Fills in a template, such as "training/page.html" in the package `rrn`; text is escaped."""
    return _ENVIRONMENT.get_template(template).render(values)


def as_json(examples: Sequence[Example]) -> markupsafe.Markup:
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


_ENVIRONMENT = jinja2.Environment(
    loader=jinja2.FileSystemLoader(Path(__file__).parents[1]),
    autoescape=True,
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_ENVIRONMENT.filters["as_json"], _ENVIRONMENT.globals["SIDE"] = as_json, SIDE
