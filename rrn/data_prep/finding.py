"""Finds the data sets here, and the tasks in `rrn/tasks/`, by a function that each defines.

Texts are searched, so that nothing is imported.
"""

import re
from pathlib import Path


def find(package: Path, function: str, within: str) -> dict[str, str]:
    """Finds the modules of a package that define a function, sorted.

    Returns:
      The name of each file, or folder with a file `within`, -> its module, relative to the package:
      `ages`, or `ages.task` with `within` "task".
    """
    files = {path.stem: path for path in package.glob("[!_]*.py")}
    folders = {f"{path.parent.name}.{within}": path for path in package.glob(f"*/{within}.py")}
    defines = re.compile(rf"^(def {function}\(|{function} =)", re.MULTILINE)
    found = [
        module
        for module, path in {**files, **folders}.items()
        if defines.search(path.read_text(encoding="utf-8"))
    ]
    return {module.partition(".")[0]: module for module in sorted(found)}
