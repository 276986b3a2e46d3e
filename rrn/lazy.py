"""Packages that import their modules when a name of them is first used.

TensorFlow takes seconds to import. A package whose names wait can be imported at once, and so can
those of its modules that need no TensorFlow: flags and configs are checked before it has loaded.
"""

import importlib
import sys
from collections.abc import Callable, Sequence
from typing import Any


def lazy_names(package: str, names: Sequence[str], modules: Sequence[str]) -> Callable[[str], Any]:
    """Makes the `__getattr__` of a package, from a name to what a module has under that name.

    Args:
      package: the package's `__name__`.
      names: its `__all__`. None of them may be the name of one of its modules.
      modules: its modules that have these names, and that may be used as its attributes, too. They
        are searched in this order, so that what needs no TensorFlow comes first.
    """

    def find(name):
        if name in modules:
            return importlib.import_module(f"{package}.{name}")
        for module in modules if name in names else ():
            if hasattr(found := importlib.import_module(f"{package}.{module}"), name):
                setattr(sys.modules[package], name, getattr(found, name))
                return getattr(found, name)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return find
