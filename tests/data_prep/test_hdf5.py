"""Files are written whole or not at all."""

import h5py
import numpy as np
import pytest

from data_prep import hdf5


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
