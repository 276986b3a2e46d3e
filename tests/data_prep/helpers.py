"""What the tests of several data sets use."""

from pathlib import Path

import numpy as np

from rrn.data_prep import hdf5

ROOT = Path(__file__).resolve().parents[2]


def contents(path: Path) -> tuple[dict[str, np.ndarray], dict[str, str | int]]:
    """Returns all datasets by their path in the file, and the attributes."""
    found = hdf5.read(path)
    return found.datasets, found.attributes
