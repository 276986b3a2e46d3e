"""Systems without the modules that only POSIX has, as Windows: a stand-in for one."""

import subprocess
import sys

import pytest

from rrn.data_prep.failures import NO_FCNTL
from tests.helpers import ROOT

POSIX_ONLY = ["fcntl", "grp", "pwd", "resource", "termios"]
WITHOUT_THEM = f"""
import runpy, signal, sys

sys.modules.update(dict.fromkeys({POSIX_ONLY}))  # import of these raises ImportError now
del signal.SIGHUP
"""


def run(code, *arguments):
    command = [sys.executable, "-c", WITHOUT_THEM + code, *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


@pytest.mark.parametrize(
    "arguments",
    [
        ["rrn", "--config=configs/ages.py", "--workdir={folder}"],
        ["rrn", "--mode=evaluate", "--workdir={folder}"],
        ["rrn.data_prep", "sudoku", "--generate=10", "--out={folder}"],
        ["rrn.models.publish", "pretrained/ages.h5", "--out={folder}"],
        ["rrn.models.hub", "pretrained/ages.h5", "--out={folder}"],
        ["rrn.compare", "runs/one", "--out={folder}"],
        ["rrn.sweep", "--config=configs/ages.py", "--workdir={folder}"],
        ["rrn.tasks.sudoku.application", "." * 81],
    ],
    ids=["train", "evaluate", "data_prep", "publish", "hub", "compare", "sweep", "sudoku"],
)
def test_programs_say_where_they_run(arguments, tmp_path):
    words = [word.format(folder=tmp_path / "new") for word in arguments]
    code = "sys.argv = sys.argv[1:]\nrunpy.run_module(sys.argv[0], run_name='__main__')"
    done = run(code, *words)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", f"error: {NO_FCNTL}\n")
    assert "WSL2" in NO_FCNTL and not list(tmp_path.iterdir())


def test_the_package_can_be_imported_and_reads_files():
    code = (
        "import rrn, rrn.doctor, rrn.training.start\n"
        "from rrn.files.weights_file import read_weights\n"
        "print(len(read_weights('pretrained/ages.h5').attributes) > 0)\n"
    )
    done = run(code)
    assert (done.returncode, done.stdout) == (0, "True\n"), done.stderr
