"""The files that a run begins with: each is read, hashed, decompressed and validated once."""

import builtins
import collections
import hashlib
import io
import shutil
from pathlib import Path

import h5py
import pytest

from rrn.config import replace
from rrn.data_prep import check
from rrn.training import Request, run
from tests.helpers import load_config, make_small


@pytest.fixture
def counts(monkeypatch):
    """What was done how often since it was cleared: ("open" or "hash", file), ("read", array)..."""
    counts, hashes, read_file = collections.Counter(), hashlib.sha256, io.open

    def opened(path, mode="r", *args, **kwargs):
        if str(path).endswith(".h5") and mode == "rb":
            counts["open", Path(path).name] += 1
        return read_file(path, mode, *args, **kwargs)

    class Hash:
        def __init__(self, content=b""):
            self.hash, self.size = hashes(), 0
            self.update(content)

        def update(self, content):
            self.hash.update(content)
            self.size += len(content)

        def hexdigest(self):
            counts["hash", self.size] += 1
            return self.hash.hexdigest()

    def file(self, name, mode="r", *args, **kwargs):
        assert mode != "r" or isinstance(name, (io.BytesIO, h5py.h5f.FileID))  # no path
        make_file(self, name, mode, *args, **kwargs)

    def item(self, *args, **kwargs):
        counts["read", self.name] += 1
        return get_item(self, *args, **kwargs)

    def verify(contents):
        counts["validate", Path(contents.path).name] += 1
        return validate(contents)

    make_file, get_item = h5py.File.__init__, h5py.Dataset.__getitem__
    validate = check.verify_contents
    monkeypatch.setattr(io, "open", opened)
    monkeypatch.setattr(builtins, "open", opened)
    monkeypatch.setattr(hashlib, "sha256", Hash)
    monkeypatch.setattr(h5py.File, "__init__", file)
    monkeypatch.setattr(h5py.Dataset, "__getitem__", item)
    monkeypatch.setattr(check, "verify_contents", verify)
    return counts


def taken(counts, what):
    """Name -> how often that was done."""
    return {name: count for (kind, name), count in counts.items() if kind == what}


@pytest.mark.slow
def test_every_file_is_read_hashed_decompressed_and_validated_once(small_babi_h5, counts, tmp_path):
    config = make_small(load_config("babi.py", "test"), small_babi_h5)
    config = replace(config, train={"num_updates": 2})
    run(Request(config, "babi", tmp_path / "a", devices="cpu"))
    data = config.data.path
    assert taken(counts, "open") == {"babi.h5": 1, "weights.h5": 1}  # which the run has written
    assert taken(counts, "validate") == {"babi.h5": 1}
    hashed = Path(data).stat().st_size - 512
    assert taken(counts, "hash")[hashed] == 1
    names = {name for name in taken(counts, "read") if name.startswith(("/train", "/test"))}
    assert len(names) > 10 and set(taken(counts, "read").values()) == {1}

    given = shutil.copy(tmp_path / "a/weights.h5", tmp_path / "given.h5")
    config = replace(config, evaluate={"path": str(shutil.copy(data, tmp_path / "b.h5"))})
    counts.clear()
    run(Request(config, "babi", tmp_path / "b", devices="cpu", weights=given))
    files = "babi.h5", "b.h5", "given.h5", "weights.h5"
    assert taken(counts, "open") == dict.fromkeys(files, 1)
    assert taken(counts, "validate") == {"babi.h5": 1, "b.h5": 1}
    assert taken(counts, "hash")[hashed] == 2
    assert set(taken(counts, "read").values()) == {2}  # of two prepared files, and of two weights


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["evaluate", "evaluate given", "variables", "export"])
def test_whatever_is_asked_for_every_file_is_read_once(mode, small_babi_h5, counts, tmp_path):
    config = make_small(load_config("babi.py", "test"), small_babi_h5)
    config = replace(config, train={"num_updates": 1})
    run(Request(config, "babi", tmp_path, devices="cpu"))
    counts.clear()
    mode, *given = mode.split()
    weights = tmp_path / "weights.h5" if given else None
    run(Request(config, "babi", tmp_path, mode=mode, devices="cpu", weights=weights))
    files = {"evaluate": ["babi.h5", "weights.h5"], "variables": ["babi.h5"]}
    files = dict.fromkeys(files.get(mode, ["weights.h5"]), 1)
    assert taken(counts, "open") == files
    assert sum(taken(counts, "hash").values()) == len(files)
    assert set(taken(counts, "read").values()) == {1}
    assert taken(counts, "validate") == {name: 1 for name in files if name == "babi.h5"}
