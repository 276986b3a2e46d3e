"""What is exported has types, and a docstring with its arguments, results and errors.

Exported is what has no underscore before its name, in a package that users import. A method that
takes the place of one of a base class may leave the words to that. The sentence "Returns ..." at
the beginning of a docstring takes the place of a section.
"""

import ast
import re
from pathlib import Path

import pytest

from rrn.data_prep.finding import find

ROOT = Path(__file__).resolve().parents[1]
FILES = sorted(path for room in ("rrn", "data_prep") for path in (ROOT / room).rglob("*.py"))
SIMULATOR = ROOT / "data_prep" / "babi" / "simulator"  # its events and questions are one signature

WRONG = '''"""Wrong docstrings."""

class Layer:
    """A layer."""

    def __init__(self, size: int):
        """Makes it."""

    def __call__(self, x):
        """Applies the layer.

        Args:
          x: rows.
        """
        return x

def half(x: float, y: float) -> float:
    """Computes a half.

    Args:
      x: a number.

    Returns:
      Its half.
    """
    if x < 0:
        raise ValueError(f"x: {x}")
    return x / 2

def third(x: float) -> float:
    return x / 3
'''


def parse(path):
    return ast.parse(path.read_text())


@pytest.fixture(scope="module")
def classes():
    """Class's name -> its definition, of all that is exported."""
    nodes = [node for path in FILES for node in ast.walk(parse(path))]
    return {node.name: node for node in nodes if isinstance(node, ast.ClassDef)}


def exported(tree):
    """(the class that it is in, if it is in one, the definition) of what a module exports."""
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith("_"):
            yield None, node
            for part in node.body if isinstance(node, ast.ClassDef) else ():
                public = isinstance(part, ast.FunctionDef) and not part.name.startswith("_")
                if public or getattr(part, "name", None) in ("__init__", "__call__"):
                    yield node, part


def is_inherited(owner, name, classes):
    """Whether a base class of `owner` has a method of this name."""
    for base in owner.bases if owner else ():
        base = classes.get(ast.unparse(base).rpartition(".")[2])
        if base and (any(getattr(part, "name", None) == name for part in base.body)):
            return True
        if base and is_inherited(base, name, classes):
            return True
    return False


def arguments_of(function):
    parts = function.args
    arguments = [*parts.posonlyargs, *parts.args, *parts.kwonlyargs, parts.vararg, parts.kwarg]
    return [a for a in arguments if a and a.arg not in ("self", "cls")]


def problems_of_class(node, text):
    fields = any("dataclass" in ast.unparse(decorator) for decorator in node.decorator_list)
    fields |= any(ast.unparse(base) == "NamedTuple" for base in node.bases)
    if fields and "Attributes:" not in text:
        yield "no Attributes"
    for part in node.body:
        if isinstance(part, ast.FunctionDef) and part.name == "__init__":
            if ast.get_docstring(part):
                yield "the constructor's arguments are not in the class's docstring"
            if arguments_of(part) and "Args:" not in text:
                yield "no Args"


def problems_of_function(node, text):
    _, _, listed = text.partition("Args:")
    for argument in arguments_of(node):
        if not re.search(rf"\b{argument.arg}\b", listed):
            yield f"{argument.arg} is not among Args"
    returns = ast.unparse(node.returns) if node.returns else "None"
    is_property = any("property" in ast.unparse(decorator) for decorator in node.decorator_list)
    said = re.search(r"^(Returns|Yields):", text, re.MULTILINE) or text.startswith("Returns ")
    if returns not in ("None", "Iterator[None]") and not (is_property or said):
        yield "no Returns"
    raised = [part.exc for part in ast.walk(node) if isinstance(part, ast.Raise)]
    raised = [ast.unparse(error.func) for error in raised if isinstance(error, ast.Call)]
    for error in sorted({*raised} - {"NotImplementedError", "AttributeError"}):
        if error[0].isupper() and f"{error}:" not in text.partition("Raises:")[2]:
            yield f"{error} is not among Raises"


def problems(path, tree, classes):
    """What is wrong with a module's docstrings and types, a line each."""
    if not ast.get_docstring(tree):
        yield f"{path}: no docstring"
    for owner, node in exported(tree):
        name = f"{path}:{node.lineno}: {node.name}"
        text = ast.get_docstring(node) or ""
        if isinstance(node, ast.ClassDef):
            found = problems_of_class(node, text) if text else ["no docstring"]
            yield from (f"{name}: {problem}" for problem in found)
            continue
        if untyped := [a.arg for a in arguments_of(node) if a.annotation is None]:
            yield f"{name}: no types: {', '.join(untyped)}"
        if node.name == "__init__":
            continue
        if node.returns is None:
            yield f"{name}: no type of the result"
        inherits = is_inherited(owner, node.name, classes) or SIMULATOR in path.parents
        if not inherits:
            found = problems_of_function(node, text) if text else ["no docstring"]
            yield from (f"{name}: {problem}" for problem in found)


@pytest.mark.parametrize("room", ["rrn", "data_prep"])
def test_what_is_exported_is_described(room, classes):
    files = [path for path in FILES if ROOT / room in path.parents]
    assert len(files) > 30
    found = [problem for path in files for problem in problems(path, parse(path), classes)]
    assert not found, "\n".join(found)


def test_sections_are_indented_by_two_everywhere():
    heading = re.compile(r"^( *)(Args|Returns|Yields|Raises|Attributes):\n( *)\S", re.MULTILINE)
    rooms = "rrn", "data_prep", "configs", "benchmarks", "tests", "docs"
    found = [
        f"{path}: {match[0]!r}"
        for room in rooms
        for path in (ROOT / room).rglob("*.py")
        for match in heading.finditer(path.read_text())
        if len(match[3]) != len(match[1]) + 2
    ]
    assert not found, "\n".join(found)


PACKAGES = [path.parent for path in FILES if path.name == "__init__.py"]


# What is added by being there: no docstring lists it.
FOUND = {ROOT / "data_prep": ("check", "schema"), ROOT / "rrn" / "tasks": ("create_task", "task")}


@pytest.mark.parametrize("package", PACKAGES, ids=lambda path: path.name)
def test_a_package_has_a_line_for_each_of_its_modules(package):
    found = find(package, *FOUND[package]) if package in FOUND else {}
    text = ast.get_docstring(parse(package / "__init__.py"))
    modules = [path.stem for path in package.glob("*.py") if path.stem != "__init__"]
    modules += [path.parent.name for path in package.glob("*/__init__.py")]
    modules = [name for name in modules if name not in found]
    listed = [name for name in modules if re.search(rf"^ *{name}\b", text, re.MULTILINE)]
    assert sorted(modules) == sorted(listed)


def test_problems_are_found(classes):
    found = [line.partition(": ")[2] for line in problems(Path("m.py"), ast.parse(WRONG), classes)]
    assert found == [
        "Layer: the constructor's arguments are not in the class's docstring",
        "Layer: no Args",
        "__call__: no types: x",
        "__call__: no type of the result",
        "half: y is not among Args",
        "half: ValueError is not among Raises",
        "third: no docstring",
    ]
