"""The packages of a wheel; all else is in pyproject.toml.

`configs` and `pretrained` are names as general as they can be, and would be in other packages' way.
So a wheel has them within rrn.
"""

import sys

from setuptools import find_packages, setup

BESIDE = {"rrn.configs": "configs", "rrn.pretrained": "pretrained"}

packages = find_packages(include=["rrn", "rrn.*"])
if "editable_wheel" in sys.argv:  # a checkout has them where they are
    setup(packages=packages)
else:
    setup(packages=[*packages, *BESIDE], package_dir=BESIDE)
