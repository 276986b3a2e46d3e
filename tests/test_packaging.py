"""What the package says of itself, and what its wheel holds."""

import itertools
import re
import runpy
import subprocess
import sys

import pytest
import setuptools
import yaml
from packaging.requirements import Requirement

import rrn
from rrn.config_file import find_file
from tests.helpers import ROOT
from tests.lowest import lowest_versions


def test_all_files_name_the_same_version():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["version"] == rrn.__version__
    assert f"\n## {rrn.__version__}\n" in (ROOT / "CHANGELOG.md").read_text()


def test_every_dependency_has_a_lowest_version():
    text = (ROOT / "pyproject.toml").read_text()
    declared = re.findall(r'^  "([a-z][\w-]*)[^a-z"]*",', text, re.MULTILINE)
    lowest = [version.partition("==")[0] for version in lowest_versions()]
    assert {"tensorflow", "numpy", "h5py", "pytest"} <= set(lowest)
    assert sorted(declared) == sorted([*lowest, "ruff"])


def test_the_lock_has_every_dependency_in_a_version_that_is_allowed():
    """For each Python, on both processors that TensorFlow has wheels for, with digests."""
    text = (ROOT / "requirements.lock").read_text()
    entries = re.findall(
        r"^(\S+==.*?) \\\n((?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)", text, re.MULTILINE
    )
    assert len(entries) == len(re.findall("==[0-9]", re.sub("#.*|;.*", "", text)))
    locked = [Requirement(entry) for entry, _ in entries]
    declared = (ROOT / "pyproject.toml").read_text()
    needed = re.findall(r'^  "([\w-]+(?:\[\w+\])?>=[^"]+)"', declared, re.MULTILINE)
    needed = list(map(Requirement, needed))
    assert len(needed) > 15
    pythons = re.findall(r":: (3\.\d+)\"", declared)
    for python, machine in itertools.product(pythons, ["x86_64", "aarch64"]):
        where = {"python_version": python, "python_full_version": f"{python}.0"}
        where |= {"sys_platform": "linux", "platform_machine": machine}
        here = [r for r in locked if r.marker is None or r.marker.evaluate(where)]
        versions = {r.name: str(r.specifier).removeprefix("==") for r in here}
        assert len(versions) == len(here)
        for requirement in needed:
            assert requirement.specifier.contains(versions[requirement.name]), (python, requirement)


@pytest.mark.parametrize("command", ["bdist_wheel", "editable_wheel"])
def test_a_wheel_has_everything_within_rrn_and_a_checkout_has_it_where_it_is(command, monkeypatch):
    given = {}
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(setuptools, "setup", lambda **arguments: given.update(arguments))
    monkeypatch.setattr(sys, "argv", ["setup.py", command])
    runpy.run_path("setup.py")
    folders = {path.parent.relative_to(ROOT) for path in ROOT.glob("rrn/**/*.py")}
    packages = {".".join(folder.parts) for folder in folders}
    if command == "bdist_wheel":
        places = given["package_dir"]
        assert packages | set(places) == set(given["packages"])
        assert all(name.startswith("rrn.") and (ROOT / places[name]).is_dir() for name in places)
    else:
        assert packages == set(given["packages"]) and "package_dir" not in given


def test_nothing_within_rrn_imports_what_is_beside_it():
    names = r"(data_prep|configs|main)(\.\w+)*"
    beside = re.compile(rf"^\s*(from {names} import |import {names}$)", re.MULTILINE)
    for path in ROOT.glob("rrn/**/*.py"):
        assert not beside.search(path.read_text(encoding="utf-8")), path


def test_the_projects_configs_are_found_from_any_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert find_file("configs/sudoku.py") == f"{ROOT}/configs/sudoku.py"
    assert find_file("configs/mine.py") is None and find_file("sudoku.py") is None
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs/sudoku.py").write_text("")
    assert find_file("configs/sudoku.py") == "configs/sudoku.py"


@pytest.mark.timeout(120)
def test_the_program_runs_in_another_folder_with_a_config_of_its_own(tmp_path):
    """The folder has a package `configs` of its own, too."""
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs" / "__init__.py").touch()
    (tmp_path / "own.py").write_text(
        "from configs import babi\nfrom rrn.config import replace\n\n"
        "def get_config():\n"
        "    return replace(babi.get_config(), evaluate={'split': 'valid'})\n"
    )
    command = [sys.executable, ROOT / "main.py", "--config=own.py", "--config.train.batch_size=2"]
    done = subprocess.run(
        [*command, "--mode=export", "--weights=none.h5"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(tmp_path), "PATH": "", "CUDA_VISIBLE_DEVICES": ""},
        capture_output=True,
        text=True,
        timeout=100,
    )
    lines = done.stderr.splitlines()  # TensorFlow's own come first
    assert done.returncode == 1 and lines[-1].startswith("error: none.h5: "), done.stderr
    assert done.stderr.count("error: ") == 1 and "Traceback" not in done.stderr
