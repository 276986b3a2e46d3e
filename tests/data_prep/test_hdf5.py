"""Files are written whole or not at all, and what is damaged is not read."""

import hashlib

import h5py
import numpy as np
import pytest

from rrn.data_prep import DataError, hdf5


@pytest.fixture
def written(tmp_path):
    path = tmp_path / "new" / "file.h5"
    datasets = {
        "words": np.array(["a", "é"], object),
        "group/numbers": np.arange(5000, dtype=np.int32).reshape(2, -1),
        "group/none": np.zeros(0, np.int32),
        "group/one": np.float32(3),
        "images": np.zeros([2, 4, 4, 3], np.uint8),
    }
    hdf5.write(path, datasets, {"schema": "test", "version": 1, "notes": ""})
    return path


def test_what_was_written_is_read(written):
    contents = hdf5.read(written)
    assert contents.path == str(written)
    assert contents.digest == hashlib.sha256(written.read_bytes()[512:]).hexdigest()
    assert contents.attributes == {"schema": "test", "version": 1, "notes": ""}
    assert contents.datasets["words"].tolist() == ["a", "é"]
    np.testing.assert_array_equal(
        contents.datasets["group/numbers"],
        np.arange(5000, dtype=np.int32).reshape(2, -1),
        strict=True,
    )
    assert contents.datasets["group/none"].shape == (0,) and contents.datasets["group/one"] == 3
    assert [file.name for file in written.parent.iterdir()] == ["file.h5"]


def test_others_read_it_with_h5py(written):
    with h5py.File(written) as file:
        assert dict(file.attrs) == {"schema": "test", "version": 1, "notes": ""}
        assert file["words"].asstr()[:].tolist() == ["a", "é"]
        assert file["group/numbers"].compression == "gzip" and file["group/numbers"].shuffle
        assert file["images"].chunks == (1, 4, 4, 3)


def test_any_changed_byte_is_noticed(written):
    good = written.read_bytes()
    end = good.index(b"\n")  # nothing is between it and byte 512
    for place in [*range(end), *range(512, len(good), 37), len(good) - 1]:
        changed = bytearray(good)
        changed[place] ^= 1 << place % 8
        written.write_bytes(changed)
        with pytest.raises(DataError, match=r"file\.h5: (damaged|it does not begin)"):
            hdf5.read(written)
    for damaged in good[:-1], good[: len(good) // 2], good[:100], b"", b"{}\n", good + b"\0":
        written.write_bytes(damaged)
        with pytest.raises(DataError, match=r"file\.h5: (damaged|it does not begin)"):
            hdf5.read(written)


def test_what_another_program_makes_is_refused(written):
    with h5py.File(written, "w") as file:
        file["numbers"] = np.arange(3)
    with pytest.raises(DataError, match=r"file\.h5: .* another program wrote it"):
        hdf5.read(written)


def test_what_is_no_file_is_named(tmp_path):
    with pytest.raises(DataError, match=r"nothing\.h5: no such file; `make data` makes it"):
        hdf5.read(tmp_path / "nothing.h5", "`make data` makes it")
    for path in tmp_path, "/dev/zero":  # which has no end
        with pytest.raises(DataError, match=f"{path}: not a file; "):
            hdf5.read(path)
