"""What belongs to a package by being there: data sets here, and tasks in `rrn/tasks/`.

Nothing is listed. A module is found by a function that it defines, such as a task's `create_task`,
and what others share defines no such function. Texts are searched, so that nothing is imported.
"""

import re
from pathlib import Path


def find(package: Path, function: str, within: str) -> dict[str, str]:
    """Finds the modules of a package that define a function.

    Args:
      within: the module that defines it where there is a folder in place of a file.

    Returns:
      The name of each file or folder -> its module, relative to the package: `ages` for a file,
      `ages.task` for a folder with `within` "task"; sorted.
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
