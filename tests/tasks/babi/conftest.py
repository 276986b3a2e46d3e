"""The prepared data that bAbI's tests share."""

import pytest

from rrn.files.data import read_prepared


@pytest.fixture(scope="module")
def data(babi_h5):
    return read_prepared(babi_h5)


@pytest.fixture(scope="module")
def arrays(data):
    return data.arrays("test")
