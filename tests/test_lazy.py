"""Packages whose names wait until they are used."""

import importlib
import sys

import pytest

from rrn.lazy import lazy_names

PACKAGES = ["rrn", "rrn.distribute", "rrn.training"]


@pytest.mark.parametrize("package", PACKAGES)
def test_every_name_of_a_package_is_there(package):
    module = importlib.import_module(package)
    for name in module.__all__:
        assert getattr(getattr(module, name), "__name__", name) == name
    with pytest.raises(AttributeError, match=f"^module '{package}' has no attribute 'nonsense'$"):
        _ = module.nonsense


def test_modules_are_searched_in_order_and_are_there_themselves():
    find = lazy_names("rrn", ["prefix_tree"], ["lazy", "nn.sentences"])
    assert find("prefix_tree") is importlib.import_module("rrn.nn.sentences").prefix_tree
    assert find("lazy") is sys.modules["rrn.lazy"]
