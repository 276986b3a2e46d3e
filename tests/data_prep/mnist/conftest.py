"""MNIST's fixtures: a small data set in the published form."""

import gzip

import numpy as np
import pytest

from rrn.data_prep.mnist.files import IDX_FILES
from tests.data_prep.mnist.helpers import COUNTS, idx


@pytest.fixture
def digits():
    """{"train", "test"}: random images and labels."""
    rng = np.random.default_rng(0)
    return {
        split: (
            rng.integers(256, size=(count, 28, 28), dtype=np.uint8),
            rng.integers(10, size=count, dtype=np.uint8),
        )
        for split, count in COUNTS.items()
    }


@pytest.fixture
def folder(digits, tmp_path):
    """IDX files, two of them compressed."""
    folder = tmp_path / "mnist"
    folder.mkdir()
    for split, (images_name, labels_name) in IDX_FILES.items():
        images, labels = digits[split]
        (folder / images_name).write_bytes(idx(images))
        (folder / f"{labels_name}.gz").write_bytes(gzip.compress(idx(labels)))
    return folder
