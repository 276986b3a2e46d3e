"""What the package says of itself, and the texts that its wheel has in place of the checkout's."""

import re
import runpy
import subprocess
import sys

import pytest
import setuptools
import yaml

import rrn
from rrn.__main__ import with_installed_config
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


@pytest.fixture(scope="module")
def setup_py():
    """What setup.py defines, and what it gives setuptools' `setup`."""
    given = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        patch.setattr(setuptools, "setup", lambda **arguments: given.update(arguments))
        return runpy.run_path("setup.py"), given


def test_a_wheel_has_everything_within_rrn(setup_py):
    _, given = setup_py
    assert all(name == "rrn" or name.startswith("rrn.") for name in given["packages"])
    wanted = {"rrn.data_prep.babi.simulator", "rrn.configs", "rrn.tasks.babi", "rrn.distribute"}
    assert wanted <= set(given["packages"])
    folders = {path.parent for path in ROOT.glob("rrn/**/*.py")}
    assert len(folders) == sum(
        not name.startswith(("rrn.data_prep", "rrn.configs")) for name in given["packages"]
    )


def test_no_name_of_the_checkout_is_left_in_a_wheel(setup_py):
    names, _ = setup_py
    for path in (*ROOT.glob("rrn/**/*.py"), *ROOT.glob("data_prep/**/*.py"), ROOT / "main.py"):
        text = path.read_text(encoding="utf-8")
        for pattern, replacement in names["TEXTS"].items():
            text = re.sub(pattern, replacement, text, flags=re.MULTILINE)
        assert not re.search(r"^\s*(from|import) (data_prep|configs|main)\b", text, re.MULTILINE)
        assert "python -m data_prep" not in text and "python main.py" not in text
        assert not re.search(r"import_module\(f?\"(data_prep|configs)", text)


def test_configs_that_are_not_here_are_the_installed_ones(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    installed = f"{ROOT}/configs/sudoku.py"
    assert with_installed_config(["--config=configs/sudoku.py:test", "--devices=cpu"]) == [
        f"--config={installed}:test",
        "--devices=cpu",
    ]
    assert with_installed_config(["--config", "configs/sudoku.py"]) == ["--config", installed]
    default = f"--config={ROOT}/configs/babi.py"
    assert with_installed_config(["--mode=export"]) == [default, "--mode=export"]
    others = ["--config=configs/mine.py", "--config.train.learning_rate=1"]
    assert with_installed_config(others) == others
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs/sudoku.py").write_text("")
    assert with_installed_config(["--config=configs/sudoku.py"]) == ["--config=configs/sudoku.py"]


@pytest.mark.timeout(120)
def test_the_program_runs_in_another_folder(tmp_path):
    command = [sys.executable, "-m", "rrn", "--mode=export", "--weights=none.h5"]
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "PATH": "", "CUDA_VISIBLE_DEVICES": ""},
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 1 and done.stderr.startswith("error: ") and "none.h5" in done.stderr
    assert done.stderr.count("\n") == 1
