"""What the tests of several data sets use."""

from pathlib import Path

import h5py
import numpy as np

ROOT = Path(__file__).resolve().parents[2]


def contents(path: Path) -> tuple[dict[str, np.ndarray], dict[str, str | int]]:
    """Returns all datasets by their path in the file, and the attributes."""
    datasets = {}

    def collect(name, item):
        if isinstance(item, h5py.Dataset):
            datasets[name] = item[:]

    with h5py.File(path) as file:
        file.visititems(collect)
        return datasets, dict(file.attrs)
