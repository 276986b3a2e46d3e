"""Files are written whole or not at all."""

import h5py
import numpy as np
import pytest

from rrn.data_prep import DataError, hdf5
from tests.data_prep.helpers import seal


def test_write(tmp_path):
    path = tmp_path / "new" / "file.h5"
    datasets = {
        "words": np.array(["a", "é"], object),
        "group/numbers": np.arange(6, dtype=np.uint8).reshape(2, 3),
        "group/none": np.zeros(0, np.int32),
    }
    hdf5.write(path, datasets, {"schema": "test", "version": 1, "notes": ""})
    with h5py.File(path) as file:
        assert dict(file.attrs) == {"schema": "test", "version": 1, "notes": ""}
        assert file["words"].asstr()[:].tolist() == ["a", "é"]
        numbers = file["group/numbers"]
        assert numbers.dtype == np.uint8 and numbers[:].tolist() == [[0, 1, 2], [3, 4, 5]]
        assert numbers.compression == "gzip" and numbers.shuffle
        assert file["group/none"].shape == (0,) and file["group/none"].dtype == np.int32
    assert [file.name for file in path.parent.iterdir()] == ["file.h5"]


@pytest.mark.parametrize("failure", [OSError, KeyboardInterrupt])
def test_a_failing_write_keeps_the_old_file(tmp_path, monkeypatch, failure):
    path = tmp_path / "file.h5"
    path.write_bytes(b"old")

    def fail(*_, **__):
        raise failure

    monkeypatch.setattr(h5py.File, "create_dataset", fail)
    with pytest.raises(failure):
        hdf5.write(path, {"numbers": np.zeros(3)}, {})
    monkeypatch.undo()
    with pytest.raises(failure), hdf5.create(path, {"numbers": np.zeros(3)}, {}):
        raise failure
    assert path.read_bytes() == b"old"
    assert [file.name for file in tmp_path.iterdir()] == ["file.h5"]


@pytest.fixture
def written(tmp_path):
    path = tmp_path / "file.h5"
    words = np.array(["a", "b"], object)
    hdf5.write(path, {"numbers": np.arange(5000), "words": words}, {"schema": "s", "version": 1})
    return path


def test_what_was_written_is_read(written):
    contents = hdf5.read(written)
    assert contents.path == str(written) and contents.size == written.stat().st_size
    assert contents.digest in written.read_text("latin-1").splitlines()[0]
    assert contents.attributes == {"schema": "s", "version": 1}
    assert contents.datasets["words"].tolist() == ["a", "b"]
    np.testing.assert_array_equal(contents.datasets["numbers"], np.arange(5000))


def test_any_changed_byte_is_noticed(written):
    good = written.read_bytes()
    places = [*range(0, 130), *range(500, len(good), 37), len(good) - 1]
    for place in places:
        changed = bytearray(good)
        changed[place] ^= 1 << place % 8
        written.write_bytes(changed)
        with pytest.raises(DataError, match=r"file\.h5: (damaged|not a file)"):
            hdf5.read(written)
    for damaged in good[:-1], good[: len(good) // 2], good[:100], b"", good + b"\0":
        written.write_bytes(damaged)
        with pytest.raises(DataError, match=r"file\.h5: (damaged|not a file)"):
            hdf5.read(written)


@pytest.mark.parametrize("wrong", ["scalar", "bytes", "attributes"])
def test_what_this_program_would_not_write_is_named(written, wrong):
    """Though the digest is right."""
    with h5py.File(written, "a") as file:
        if wrong == "attributes":
            file.attrs["schema"] = np.arange(3)
        else:
            file[wrong] = 3 if wrong == "scalar" else np.array([b"\xff"])
    seal(written)
    with pytest.raises(DataError, match=rf"file\.h5: {wrong}: not as this program writes it: "):
        hdf5.read(written)


def test_a_file_that_others_change_or_make_is_refused(written):
    with h5py.File(written, "a") as file:
        file["numbers"][7] = 8
    with pytest.raises(DataError, match=r"file\.h5: damaged, or changed after .* prepare it again"):
        hdf5.read(written)
    with h5py.File(written, "w") as file:
        file["numbers"] = np.arange(3)
    with pytest.raises(DataError, match=r"file\.h5: .* did not yet write a digest; prepare it"):
        hdf5.read(written)
    with pytest.raises(DataError, match=r"nothing\.h5: no such file"):
        hdf5.read(written.with_name("nothing.h5"))
    with pytest.raises(DataError, match="Is a directory"):
        hdf5.read(written.parent)
