"""Files are written whole or not at all."""

import time

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


# All values are in the file, each in one place.


def test_values_in_another_file_are_named(written, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    with h5py.File(elsewhere, "w") as file:
        file["numbers"] = np.arange(3)
    layout = h5py.VirtualLayout((3,), int)
    layout[:] = h5py.VirtualSource(str(elsewhere), "numbers", (3,))[:]
    changes = {
        "virtual": lambda file: file.create_virtual_dataset("new", layout),
        "external": lambda file: file.create_dataset(
            "new", [3], "u1", external=[(str(elsewhere), 0, h5py.h5f.UNLIMITED)]
        ),
    }
    assert_refused(written, changes, "new: its values are in another file")


def test_links_and_second_names_are_named(written, tmp_path):
    changes = {
        "external": lambda file: file.__setitem__("new", h5py.ExternalLink("a.h5", "/a")),
        "soft": lambda file: file.__setitem__("new", h5py.SoftLink("/numbers")),
    }
    assert_refused(written, changes, "new: a link to elsewhere")
    changes = {
        "array": lambda file: file.__setitem__("other", file["numbers"]),
        "circle": lambda file: file.__setitem__("other", file["/"]),
    }
    assert_refused(written, changes, r"\w+: has a second name")


def test_names_that_cannot_be_shown_are_shown_otherwise(written):
    changes = {
        name: lambda file, name=name: file.create_dataset(name, data=[1])
        for name in (b"new\n\x1b[31m", b"new\xff")
    }
    assert_refused(written, changes, r"b?'new\\.*': expected a name that can be shown")


def test_what_no_schema_has_is_named(written):
    changes = {
        "empty group": lambda file: file.create_group("new"),
        "type": lambda file: file.__setitem__("new", np.dtype("f4")),
    }
    assert_refused(written, changes, "new: neither a data set nor a group that has any")
    filters = {"lzf": lambda file: file.create_dataset("new", data=[1], compression="lzf")}
    assert_refused(written, filters, "new: stored with other filters than gzip and shuffle")
    empty = {"empty": lambda file: file.__setitem__("new", h5py.Empty("f4"))}
    assert_refused(written, empty, "new: has no shape")


def test_groups_without_end_are_refused_at_once(written, monkeypatch):
    deep = {"deep": lambda file: file.create_dataset("a/" * 3000 + "b", data=[1])}
    start = time.process_time()
    assert_refused(written, deep, "[a/]+: more than 16 groups within each other")
    assert time.process_time() - start < 10  # a minute, if they were all visited
    monkeypatch.setattr(hdf5, "MOST", 50)
    wide = {"wide": lambda file: [file.create_dataset(f"w/{i}", data=1) for i in range(50)]}
    assert_refused(written, wide, "more than 50 groups and data sets")


def test_declared_sizes_are_compared_with_what_is_there(written):
    def half_written(file):
        file.create_dataset("new", [1 << 14], "i4", chunks=(1 << 12,), compression="gzip")[:1] = 1

    changes = {
        "8 TB": lambda file: file.create_dataset("new", [1 << 40], "i8"),
        "8 TB in chunks": lambda file: file.create_dataset(
            "new", [1 << 40], "i8", chunks=(1 << 20,), compression="gzip"
        ),
        "three of four chunks are not there": half_written,
    }
    assert_refused(written, changes, "new: .*; a part is missing")


def assert_refused(path, changes, message):
    """Though the digest is right, in prepared files and in weights files."""
    good = path.read_bytes()
    for change in changes.values():
        with h5py.File(path, "a") as file:
            change(file)
        seal(path)
        with pytest.raises(DataError, match=rf"file\.h5: {message}"):
            hdf5.read(path)
        with h5py.File(path) as file, pytest.raises(DataError, match=message):
            hdf5.plain_datasets(path, file)
        path.write_bytes(good)


def test_what_is_verified_is_what_is_read(written, monkeypatch):
    """Though another file comes to its place meanwhile."""
    digest, verify = hdf5.read(written).digest, hdf5._verify

    def replaced(path, content):
        path.write_bytes(b"another file")
        return verify(path, content)

    monkeypatch.setattr(hdf5, "_verify", replaced)
    contents = hdf5.read(written)
    assert contents.digest == digest and contents.attributes["schema"] == "s"
    np.testing.assert_array_equal(contents.datasets["numbers"], np.arange(5000))
