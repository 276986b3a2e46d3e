"""What the tests of several data sets use."""

import re
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]

# A started process counts its parent's memory as its own in wait4's figures. Linux tells its own.
needs_proc = pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="Linux tells the memory there"
)
PROGRAM = """
import sys, time
from rrn.data_prep.__main__ import main
status = main(sys.argv[1:])
print(time.process_time())
print(open("/proc/self/status").read())
sys.exit(status)
"""


def contents(path: Path) -> tuple[dict[str, np.ndarray], dict[str, str | int]]:
    """Returns all datasets by their path in the file, and the attributes."""
    datasets = {}

    def collect(name, item):
        if isinstance(item, h5py.Dataset):
            datasets[name] = item[:]

    with h5py.File(path) as file:
        file.visititems(collect)
        return datasets, dict(file.attrs)


def measured(*arguments: str) -> tuple[str, float, int]:
    """Runs a command of data_prep; returns what it prints, its CPU seconds and most kibibytes."""
    command = [sys.executable, "-c", PROGRAM, *arguments]
    printed = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT).stdout
    seconds = float(re.search(r"^[\d.]+$", printed, re.MULTILINE)[0])
    return printed, seconds, int(re.search(r"VmHWM:\s+(\d+) kB", printed)[1])
