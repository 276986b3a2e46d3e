"""Ctrl-C while a command loads its modules."""

import os
import subprocess
import sys

import pytest

from tests.helpers import ROOT
from tests.program import hear_signals

BLANK = "." * 81


@pytest.mark.parametrize(
    "command, module",
    [
        (["main.py"], "absl"),
        (["main.py", "--mode=export", "--weights=pretrained/babi.h5"], "tensorflow"),
        (["-m", "rrn"], "absl"),
        (["-m", "data_prep", "ages"], "numpy"),
        (["-m", "rrn.models.publish", "weights.h5", "--out=x"], "h5py"),
        (["-m", "rrn.tasks.sudoku", BLANK], "numpy"),
        (["-m", "rrn.tasks.sudoku", BLANK], "tensorflow"),
    ],
)
def test_ctrl_c_ends_the_command_with_a_line(command, module, tmp_path):
    """The module itself does not let an exception pass."""
    (tmp_path / f"{module}.py").write_text(
        "import os, signal\n"
        "try:\n    os.kill(os.getpid(), signal.SIGINT)\n    print('goes on')\n"
        "except BaseException:\n    pass\n"
    )
    done = subprocess.run(
        [sys.executable, *command],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{tmp_path}:{ROOT}"},
        capture_output=True,
        text=True,
        preexec_fn=hear_signals,
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "error: interrupted\n")
