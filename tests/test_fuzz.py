"""A few inputs of each kind of `python -m tests.fuzz`, and that it finds what is wrong."""

import random

import pytest

from tests import fuzz


@pytest.mark.slow
def test_damaged_inputs_end_in_one_line_or_change_nothing():
    counts = fuzz.campaign(seed=0, minutes=4, names=list(fuzz.KINDS), count=2)
    for name, of in counts.items():
        assert not of.keys() & set(fuzz.BAD) and of.total() >= 2, f"{name}: {of}"


@pytest.mark.parametrize(
    ("read", "outcome"),
    [
        (lambda path, out: out.write_bytes(b"made") * 0, fuzz.SILENT),
        (lambda path, out: 0, fuzz.SAME),
        (lambda path, out: {}["x"], fuzz.WRONG),
        (lambda path, out: exit("error: wrong"), fuzz.WRONG),
        (lambda path, out: path.with_name("other").write_text("") * 0, fuzz.CHANGED),
    ],
)
def test_what_is_wrong_is_counted(tmp_path, read, outcome):
    (tmp_path / "input").write_bytes(b"right")
    kind = fuzz.Kind("input", None, read)
    assert fuzz.attempt(kind, tmp_path, None, random.Random(0))[0] == outcome
    assert (tmp_path / "input").read_bytes() == b"right"
