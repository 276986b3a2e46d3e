"""Pretty-CLEVR's fixtures."""

import pytest

from rrn.data_prep.pretty_clevr import prepare as pretty_clevr
from tests.data_prep.pretty_clevr.helpers import COUNTS, prepare


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """A file with images of 64 x 64 pixels, more than are rendered at once."""
    path = tmp_path_factory.mktemp("pretty_clevr") / "p.h5"
    assert prepare(path, "300,20,30", "--images", "64") == 0
    assert COUNTS["train"] > pretty_clevr.IMAGE_BLOCK
    return path
