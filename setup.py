"""Where a wheel has what a checkout has beside rrn/.

`data_prep`, `configs` and `main` are names as general as they can be, and would be in other
packages' way. So a wheel has them within rrn, as rrn.data_prep, rrn.configs and rrn.main, with
every import and every command in their texts changed alike. It also has the weights that
`rrn.solve_sudoku` needs. All else about the package is in pyproject.toml.
"""

import re
import shutil
import sys
from pathlib import Path

from setuptools import find_packages, setup
from setuptools.command.build_py import build_py

MOVED = "data_prep", "configs"  # packages
COPIED = {"main.py": "rrn/main.py", "pretrained/sudoku.h5": "rrn/pretrained/sudoku.h5"}
TEXTS = {
    rf"^(\s*(?:from|import)) ({'|'.join(MOVED)})\b": r"\1 rrn.\2",
    r"\bpython -m data_prep\b": "python -m rrn.data_prep",
    r"\bpython main\.py\b": "rrn",
}


class BuildPy(build_py):
    """Copies what is beside rrn/, and changes the names."""

    def run(self):
        super().run()
        if self.editable_mode:
            return
        for source, target in COPIED.items():
            target = Path(self.build_lib, target)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)
        for path in Path(self.build_lib).rglob("*.py"):
            text = path.read_text(encoding="utf-8")
            for pattern, replacement in TEXTS.items():
                text = re.sub(pattern, replacement, text, flags=re.MULTILINE)
            path.write_text(text, encoding="utf-8")


packages = find_packages(include=["rrn", "rrn.*"])
moved = find_packages(include=[f"{name}{rest}" for name in MOVED for rest in ("", ".*")])
if "editable_wheel" in sys.argv:  # names are those of the checkout
    setup(packages=packages + moved, cmdclass={"build_py": BuildPy})
else:
    setup(
        packages=packages + [f"rrn.{name}" for name in moved],
        package_dir={f"rrn.{name}": name for name in MOVED},
        cmdclass={"build_py": BuildPy},
    )
