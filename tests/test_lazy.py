"""Packages whose names wait until they are used."""

import importlib
import subprocess
import sys

import pytest

from rrn.lazy import lazy_names
from tests.helpers import ROOT

PACKAGES = [
    *("rrn", "rrn.distribute", "rrn.tasks", "rrn.training"),
    *(f"rrn.tasks.{file.parent.name}" for file in (ROOT / "rrn/tasks").glob("*/__init__.py")),
]


@pytest.mark.parametrize("package", PACKAGES)
def test_every_name_of_a_package_is_there(package):
    module = importlib.import_module(package)
    for name in module.__all__:
        assert getattr(getattr(module, name), "__name__", name) == name
    with pytest.raises(AttributeError, match=f"^module '{package}' has no attribute 'nonsense'$"):
        _ = module.nonsense


def test_packages_come_without_tensorflow():
    """Whose import takes seconds."""
    code = f"import sys, {', '.join(PACKAGES)}; assert 'tensorflow' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_tensorflow_comes_without_keras_until_that_is_used():
    """Nor matplotlib, which Keras imports. What is found where is TensorFlow's own doing."""
    code = (
        "import os, sys, rrn.fast_start, rrn.training.train as _, tensorflow as tf\n"
        "assert not {'keras', 'matplotlib'} & sys.modules.keys()\n"
        "assert not [name for name in os.environ if 'KERAS' in name]\n"
        "from tensorflow.keras.layers import Dense\n"
        "import keras\n"
        "assert tf.keras.layers.Dense is Dense is keras.layers.Dense\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_modules_are_searched_in_order_and_are_there_themselves():
    find = lazy_names("rrn", ["prefix_tree"], ["lazy", "nn.sentences"])
    assert find("prefix_tree") is importlib.import_module("rrn.nn.sentences").prefix_tree
    assert find("lazy") is sys.modules["rrn.lazy"]
