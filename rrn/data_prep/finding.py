"""What belongs to a package by being there: data sets here, and tasks in `rrn/tasks/`.

Nothing is listed. A module is found by a function that it defines, such as a task's `create_task`,
and what others share defines no such function. Texts are searched, so that nothing is imported.
"""

import re
from pathlib import Path


def find(package: Path, function: str, within: str) -> dict[str, str]:
    """Finds the modules of a package that define a function.

    Args:
      within: the module of a folder that defines it.

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


def making(schema: str | None, out: str) -> str:
    """Says which command makes a file of a schema: the first one in its module's docstring."""
    package = Path(__file__).parent
    module = find(package, "add_arguments", "prepare").get(schema or "")
    text = module and (package / f"{module.replace('.', '/')}.py").read_text(encoding="utf-8")
    command = re.search(r"^ *(python -m data_prep .*) --out \S+$", text or "", re.MULTILINE)
    if not command:
        return "`python -m data_prep --help` lists what makes such files"
    return f"`{command[1]} --out {out}` makes it"
