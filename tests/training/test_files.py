"""The files that a run begins with: each is read, hashed, decompressed and validated once."""

import builtins
import collections
import dataclasses
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


@pytest.fixture(scope="module")
def counts():
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
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(io, "open", opened)
        patch.setattr(builtins, "open", opened)
        patch.setattr(hashlib, "sha256", Hash)
        patch.setattr(h5py.File, "__init__", file)
        patch.setattr(h5py.Dataset, "__getitem__", item)
        patch.setattr(check, "verify_contents", verify)
        yield counts


def taken(counts, what):
    """Name -> how often that was done."""
    return {name: count for (kind, name), count in counts.items() if kind == what}


@pytest.fixture(scope="module")
def trained(small_babi_h5, counts, tmp_path_factory):
    """(the request of a run that has ended, what it has counted)."""
    config = make_small(load_config("babi.py", "test"), small_babi_h5)
    config = replace(config, train={"num_updates": 1}, model={"num_steps": 1})
    request = Request(config, "babi", tmp_path_factory.mktemp("trained"), devices="cpu")
    counts.clear()
    run(request)
    return request, counts.copy()


@pytest.mark.slow
def test_every_file_is_read_hashed_decompressed_and_validated_once(trained, counts, tmp_path):
    request, of_training = trained
    data, weights = request.config.data.path, request.workdir / "weights.h5"
    files = {"babi.h5": 1, "weights.h5": 1}  # which the run has written
    assert taken(of_training, "open") == files
    assert taken(of_training, "validate") == {"babi.h5": 1}
    hashed = Path(data).stat().st_size - 512
    assert taken(of_training, "hash")[hashed] == 1
    names = {name for name in taken(of_training, "read") if name.startswith(("/train", "/test"))}
    assert len(names) > 10 and set(taken(of_training, "read").values()) == {1}

    given = shutil.copy(weights, tmp_path / "given.h5")
    config = replace(request.config, evaluate={"path": str(shutil.copy(data, tmp_path / "b.h5"))})
    counts.clear()
    run(Request(config, "babi", tmp_path / "b", devices="cpu", weights=given))
    assert taken(counts, "open") == files | {"b.h5": 1, "given.h5": 1}
    assert taken(counts, "validate") == {"babi.h5": 1, "b.h5": 1}
    assert taken(counts, "hash")[hashed] == 2
    assert set(taken(counts, "read").values()) == {2}  # of two prepared files, and of two weights


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["evaluate", "evaluate given", "variables", "export"])
def test_whatever_is_asked_for_every_file_is_read_once(mode, trained, counts):
    request, _ = trained
    mode, *given = mode.split()
    weights = request.workdir / "weights.h5" if given else None
    counts.clear()
    run(dataclasses.replace(request, mode=mode, weights=weights))
    files = {"evaluate": ["babi.h5", "weights.h5"], "variables": ["babi.h5"]}
    files = dict.fromkeys(files.get(mode, ["weights.h5"]), 1)
    assert taken(counts, "open") == files
    of_values = mode == "evaluate"  # the results say of which weights they are
    assert sum(taken(counts, "hash").values()) == len(files) + of_values
    assert set(taken(counts, "read").values()) == {1}
    assert taken(counts, "validate") == {name: 1 for name in files if name == "babi.h5"}
