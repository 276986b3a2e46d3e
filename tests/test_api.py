"""The API pages, and the docstrings that they are made of where ruff's `D` rules do not look."""

import importlib
import inspect
import pkgutil
import subprocess
import sys

import pytest
import yaml

import rrn
from tests.helpers import ROOT

# Modules by their names, but for programs, which declare flags when they are imported.
MODULES = [module.name for module in pkgutil.walk_packages(rrn.__path__, "rrn.")]
MODULES = [name for name in MODULES if name.rpartition(".")[2] not in ("__main__", "main")]
PACKAGES = sorted(path.parent for path in (ROOT / "rrn").rglob("__init__.py"))
INNER = "rrn.pages"  # which no user imports
# What is added by being there: no docstring lists it.
FOUND = {"data_prep": ("check", "schema"), "tasks": ("create_task", "task")}


def test_every_public_room_has_a_page():
    nav = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"]
    (pages,) = [part["API"] for part in nav if isinstance(part, dict) and "API" in part]
    pages = {name: path for page in pages for name, path in page.items()}
    assert all(path == f"api/{name}.md" for name, path in pages.items())
    rooms = {f"rrn.{path.name}" for path in PACKAGES if path.parent == ROOT / "rrn"} - {INNER}
    assert pages.keys() == {"rrn", "rrn.config", "rrn.settings", "rrn.keras", *rooms}


@pytest.mark.slow
def test_the_site_is_built_without_a_warning(tmp_path):
    pytest.importorskip("mkdocs")
    pytest.importorskip("mkdocstrings")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", tmp_path]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    assert "edge_keep_probability" in (tmp_path / "api/rrn.nn/index.html").read_text()


@pytest.mark.parametrize("name", MODULES)
def test_a_method_or_that_of_a_base_class_is_described(name):
    module = importlib.import_module(name)
    kinds = property, classmethod, staticmethod
    for kind in vars(module).values():
        if inspect.isclass(kind) and kind.__module__ == name and kind.__name__[0] != "_":
            for method, part in vars(kind).items():
                if method[0] != "_" and (inspect.isfunction(part) or isinstance(part, kinds)):
                    assert inspect.getdoc(getattr(kind, method)), f"{kind.__name__}.{method}"
