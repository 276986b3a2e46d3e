"""Sudoku's fixtures: made puzzles."""

from pathlib import Path

import numpy as np
import pytest

from rrn.data_prep.sudoku.generator import generate
from tests.data_prep.sudoku.helpers import lines


@pytest.fixture(scope="session")
def generated() -> tuple[np.ndarray, np.ndarray]:
    """60 puzzles with 22 to 34 givens, and their solutions."""
    (batch,) = generate(60, np.random.default_rng(0))
    return batch


@pytest.fixture
def clues(generated, tmp_path) -> Path:
    path = tmp_path / "clues.txt"
    path.write_text(lines(generated[0]))
    return path
