"""A short part of `python -m tests.fuzz`, the same at every run; and it finds what is wrong."""

import random

from tests import fuzz


def test_damaged_inputs_end_in_one_line_or_change_nothing():
    counts = fuzz.campaign(seed=0, minutes=1, cases=15)
    assert counts.keys() == fuzz.KINDS.keys()
    for name, of in counts.items():
        assert not of.keys() & set(fuzz.BAD), f"{name}: {of}"
        assert of[fuzz.ERROR] > 5


def test_what_is_wrong_is_counted(tmp_path):
    """A reader without a checksum, one that fails in its own way, and one that changes a file."""

    def outcomes(read, text=False):
        path = tmp_path / "input.txt"
        path.write_bytes(bytes(range(200)))
        kind = fuzz.Kind("input.txt", None, read, text)
        rngs = map(random.Random, range(30))
        return {fuzz.attempt(kind, tmp_path, bytes(range(200)), rng)[0] for rng in rngs}

    def fail(error):
        raise error

    assert outcomes(lambda path: path.read_bytes()) == {fuzz.SILENT}
    assert outcomes(lambda path: path.read_bytes(), text=True) == {fuzz.OTHER}
    assert outcomes(lambda path: bytes(range(200))) == {fuzz.SAME}
    assert outcomes(lambda path: fail(KeyError("x"))) == {fuzz.TRACEBACK}
    assert outcomes(lambda path: fail(ValueError("one\ntwo"))) == {fuzz.TRACEBACK}
    assert outcomes(lambda path: fail(ValueError("wrong"))) == {fuzz.UNNAMED}
    assert outcomes(lambda path: fail(ValueError(f"{path}: wrong"))) == {fuzz.ERROR}
    assert outcomes(lambda path: fail(TimeoutError())) == {fuzz.HANG}
    other = tmp_path / "other"
    assert outcomes(lambda path: other.open("a").write("x")) == {fuzz.CHANGED}
