"""Data sets are added by being there, and what others share is none."""

from rrn.data_prep.__main__ import COMMANDS
from rrn.data_prep.finding import find


def test_those_that_there_are():
    assert list(COMMANDS) == ["ages", "babi", "mnist", "pretty_clevr", "sudoku"]


def test_a_module_is_found_by_what_it_defines(tmp_path):
    texts = {
        "plain.py": "def make(): pass",
        "named.py": "class Made: pass\n\nmake = Made",
        "folder/part.py": "def make(x):\n    return x",
        "folder/other.py": "",
        "shared.py": "def maker(): pass\n\ndef other():\n    make = 1\n    return make",
        "shared_folder/__init__.py": "def make(): pass",
        "shared_folder/other.py": "def make(): pass",
        "_private.py": "def make(): pass",
        "__init__.py": "def make(): pass",
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    found = {"folder": "folder.part", "named": "named", "plain": "plain"}
    assert find(tmp_path, "make", "part") == found
