"""Data sets are added by being there, and what others share is none."""

import shutil
import subprocess
import sys

import pytest

from rrn.data_prep.__main__ import COMMANDS
from rrn.data_prep.check import SCHEMAS
from rrn.data_prep.finding import find, making
from tests.data_prep.helpers import ROOT

CHECK = """from rrn.data_prep.layout import check_layout


def check(datasets):
    return [check_layout(datasets, {"{split}/letter": ("uint8", ("N",))})]
"""
PREPARE = """from pathlib import Path

import numpy as np

from rrn.data_prep import hdf5


def add_arguments(parser):
    parser.add_argument("--out", type=Path)
    parser.add_argument("--letters", type=int)


def run(options):
    letters = np.arange(options.letters, dtype=np.uint8)
    datasets = {f"{split}/letter": letters for split in ("train", "valid", "test")}
    attributes = {"schema": options.command, "version": 1, "notes": "", "seed": 0}
    hdf5.write(options.out, datasets, attributes)
"""
DOCSTRING = '"""Letters: one of each."""'
SHARED = '''"""What data sets share: no `run`, no `add_arguments`, no `check` of its own."""

from rrn.data_prep import layout


def check_letters(datasets):
    check = layout.check_layout
    return check(datasets, {})
'''


def test_those_that_there_are():
    assert list(SCHEMAS) == ["ages", "babi", "mnist", "pretty_clevr", "sudoku"]
    assert list(COMMANDS) == ["ages", "babi", "check", *list(SCHEMAS)[2:]]


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


@pytest.mark.timeout(60)
def test_a_new_data_set_is_a_command_with_a_validator(tmp_path):
    """As a file and as a folder, beside a new module that data sets share."""
    folder = tmp_path / "rrn/data_prep"
    shutil.copytree(ROOT / "rrn", folder.parent, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "letters.py").write_text(f"{DOCSTRING}\n\n{CHECK}\n\n{PREPARE}")
    (folder / "runes").mkdir()
    (folder / "runes/__init__.py").touch()
    (folder / "runes/prepare.py").write_text(f"{DOCSTRING}\n\n{PREPARE}")
    (folder / "runes/schema.py").write_text(CHECK)
    (folder / "shapes_of_letters.py").write_text(SHARED)
    (folder / "scripts").mkdir()
    (folder / "scripts/__init__.py").write_text(SHARED)

    def data_prep(*arguments):
        command = [sys.executable, "-m", "rrn.data_prep", *arguments]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)

    said = data_prep("--help").stdout
    assert "letters" in said and "runes" in said
    assert "shapes_of_letters" not in said and "scripts" not in said
    for name in "letters", "runes":
        assert data_prep(name, "--letters", "26", "--out", f"{name}.h5").returncode == 0
        checked = data_prep("check", f"{name}.h5")
        assert f"schema '{name}', version 1" in checked.stdout
        assert "3 datasets of the schema's dtypes" in checked.stdout


@pytest.mark.parametrize("schema", SCHEMAS)
def test_the_command_that_makes_a_file_is_one(schema):
    command, _, said = making(schema, "new.h5").removeprefix("`").partition("`")
    python, _, module, *arguments = command.split()
    assert (python, module, said) == ("python", "data_prep", " makes it")
    assert arguments[0] == schema and arguments[-2:] == ["--out", "new.h5"]
    assert "python -m data_prep --help" in making("unknown", "new.h5")
