"""Prints the lowest versions that pyproject.toml declares, of the package and of its tests."""

import re
from pathlib import Path


def lowest_versions() -> list[str]:
    """`name==version` for each `name>=version`; ruff's rules change, so that any ruff will do."""
    text = (Path(__file__).resolve().parents[1] / "pyproject.toml").read_text(encoding="utf-8")
    declared = re.findall(r'^  "([\w-]+)>=([\d.]+)', text, re.MULTILINE)
    return [f"{name}=={version}" for name, version in declared if name != "ruff"]


if __name__ == "__main__":
    print(*lowest_versions())
