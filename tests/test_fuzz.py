"""A short part of `python -m tests.fuzz`, the same at every run; and it finds what is wrong."""

import pytest
from hypothesis.strategies import just

from tests.fuzz import attempts, trainings
from tests.fuzz.attempts import Change, Kind, attempt
from tests.fuzz.campaign import KINDS, campaign, draw
from tests.fuzz.damage import damages


@pytest.mark.slow
def test_wrong_inputs_end_in_one_line_or_change_nothing():
    """Of all kinds but whole trainings, which take longer."""
    names = [name for name in KINDS if name not in trainings.KINDS]
    counts = campaign(seed=0, minutes=4, count=15, names=names)
    for name in names:
        of = counts[name]
        assert not of.keys() & set(attempts.BAD), f"{name}: {of}"
        assert of[attempts.ERROR] > 2, f"{name}: {of}"


def test_the_same_seed_draws_the_same_changes():
    words = [[change.words for change in draw(damages(), seed, 20)] for seed in ("1", "1", "2")]
    assert words[0] == words[1] != words[2] and len(set(words[0])) > 10


def test_what_is_wrong_is_counted(tmp_path):
    """A reader without a checksum, one that fails in its own way, and one that changes a file."""
    path = tmp_path / "input.txt"
    path.write_bytes(b"right")

    def outcome(read, **fields):
        change = Change(lambda path: path.write_bytes(b"wrong"), **fields)
        kind = Kind("input.txt", None, read, just(change))
        found, _ = attempt(kind, tmp_path, b"right", change)
        assert path.read_bytes() == b"right"
        return found

    def fail(error):
        raise error

    assert outcome(lambda path: path.read_bytes()) == attempts.SILENT
    assert outcome(lambda path: path.read_bytes(), wrong=False) == attempts.OTHER
    assert outcome(lambda path: b"right") == attempts.SAME
    assert outcome(lambda path: fail(KeyError("x"))) == attempts.TRACEBACK
    assert outcome(lambda path: fail(ValueError("one\ntwo"))) == attempts.TRACEBACK
    assert outcome(lambda path: fail(ValueError("wrong"))) == attempts.UNNAMED
    assert outcome(lambda path: fail(ValueError(f"{path}: wrong\n  more"))) == attempts.ERROR
    assert outcome(lambda path: fail(ValueError("--a: wrong")), names=("--a",)) == attempts.ERROR
    assert outcome(lambda path: fail(TimeoutError())) == attempts.HANG
    assert outcome(lambda path: (tmp_path / "other").touch()) == attempts.CHANGED
