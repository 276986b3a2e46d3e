"""Writes docs/guide/config.md: every field of a config, from the classes that declare them.

python docs/config_reference.py
"""

import ast
import inspect
import re
import sys
from pathlib import Path
from typing import get_args

import rrn.config
from rrn.settings import Settings
from rrn.tasks import find_task, task_names

PAGE = Path(__file__).parent / "guide/config.md"
HEAD = """# All settings

    python main.py --config configs/babi.py:quick --config.train.batch_size=256 --workdir runs/256

changes a field. `python docs/config_reference.py` writes this page from
[`rrn/config.py`](../../rrn/config.py) and the tasks' `network.py`, where each field is declared.
`Number` and `CountOrZero` are 0 to 10⁹, `Count` is 1 to 10⁹, `Probability` 0 to 1. `Literal` lists
the values. The words behind a class choose it: `--config.variables.policy=balanced`.

| | field | type | default | |
|---|---|---|---|---|
"""


def fields(kind: type[Settings]) -> list[tuple[str, str, str, str]]:
    """(name, type, default, comment) of the fields that a class declares itself."""
    source = inspect.getsource(kind)
    lines, found = source.splitlines(), []
    for node in ast.parse(source).body[0].body:
        if not (isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)):
            continue
        if "ClassVar" in (annotation := ast.unparse(node.annotation)):
            continue
        above = []
        for line in reversed(lines[: node.lineno - 1]):
            if not line.strip().startswith("#"):
                break
            above.insert(0, line.strip("# "))
        after = lines[node.end_lineno - 1][node.end_col_offset :].strip(" #")
        default = ast.unparse(node.value) if node.value else "must be given"
        default = re.sub(r"^Field\((.*?)\)$", r"\1", default)
        found.append((node.target.id, annotation, default, " ".join([*above, after]).strip()))
    return found


def rows(title: str, kind: type[Settings]) -> list[str]:
    """The table's rows of a class: its first sentence, then its fields."""
    first = (kind.__doc__ or "").splitlines()[0]
    own = [row for row in fields(kind) if row[0] != "kind"]
    if "kind" in kind.model_fields:
        words = get_args(kind.model_fields["kind"].annotation)
        title = ", ".join([title, *(f"`{word}`" for word in words)])
    return [
        f"| {title} | | | | {first} |",
        *(f"| | `{n}` | {cell(t)} | {cell(d)} | {c.replace('|', '/')} |" for n, t, d, c in own),
    ]


def cell(text: str) -> str:
    """Code within a table, without what only pydantic reads."""
    text = re.sub(r"Annotated\[(.*?), (?:BY_KIND|LIST_TOO)[^]]*\]", r"\1", text)
    return text if text == "must be given" else f"`{text.replace('|', ' or ')}`"


def page() -> str:
    """The whole page."""
    classes = [
        kind
        for kind in vars(rrn.config).values()
        if inspect.isclass(kind) and issubclass(kind, Settings) and kind.__module__ == "rrn.config"
    ]
    classes.sort(key=lambda kind: inspect.getsourcelines(kind)[1])
    lines = [row for kind in classes for row in rows(f"**{kind.__name__}**", kind)]
    for name in task_names():
        model = find_task(name).Model
        lines += rows(f"**`model` of {name}**", model)
        if options := [*model.LOSS_OPTIONS.model_fields, *model.BATCH_OPTIONS.model_fields]:
            names = ", ".join(f"`{option}`" for option in options)
            lines.append(f"| **`options` of its stages** | | | | {names} |")
    return HEAD + "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    sys.stdout.write(f"{PAGE.name} written\n")
