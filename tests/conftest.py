"""Fixtures that several rooms' tests share."""

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def babi_archive() -> Path:
    """The real bAbI archive; tests that need it are skipped where it is not."""
    name = "tasks_1-20_v1-2.tar.gz"
    for path in (ROOT / "data" / name, ROOT.parent / "shared" / "data" / "babi" / name):
        if path.exists():
            return path
    pytest.skip(f"data/{name} is not there")


@pytest.fixture(scope="session")
def babi_h5(babi_archive: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The real archive, prepared; the missing training file of task 3 is filled from `en`."""
    from data_prep.__main__ import main

    path = tmp_path_factory.mktemp("babi") / "babi.h5"
    source = str(babi_archive)
    assert main(["babi", "--source", source, "--supplement", "en", "--out", str(path)]) == 0
    return path
