"""MNIST's published files, and damaged ones."""

import os
import re

import numpy as np
import pytest

from rrn.data_prep.mnist.files import IDX_FILES
from tests.data_prep.helpers import contents
from tests.data_prep.mnist.helpers import idx, prepare


def test_idx_files_and_npz_give_the_same_data_set(digits, folder, tmp_path, capsys):
    npz = tmp_path / "mnist.npz"
    (x, y), (x_test, y_test) = digits["train"], digits["test"]
    np.savez_compressed(npz, x_train=x, y_train=y, x_test=x_test, y_test=y_test)
    assert prepare(folder, tmp_path / "a") == prepare(npz, tmp_path / "b") == 0
    assert re.search(r"train +30 digits\nvalid +10 digits\n", capsys.readouterr().out)
    (a, folder_attributes), (b, npz_attributes) = (contents(tmp_path / name) for name in "ab")
    assert all(np.array_equal(a[name], b[name]) for name in a) and a.keys() == b.keys()
    expected = {"schema": "mnist", "version": 1, "notes": "", "seed": 0}
    assert folder_attributes == {**expected, "source": "mnist", "sha256": ""}
    assert npz_attributes.pop("source") == "mnist.npz" and len(npz_attributes.pop("sha256")) == 64
    assert npz_attributes == expected

    assert all(array.dtype == np.uint8 for array in a.values())
    np.testing.assert_array_equal(a["test/image"], x_test)
    np.testing.assert_array_equal(a["test/label"], y_test)
    # Validation and training are the training file's digits, in its order.
    label_of = {image.tobytes(): label for image, label in zip(x, y, strict=True)}
    places = {image.tobytes(): place for place, image in enumerate(x)}
    found = []
    for split, count in (("train", 30), ("valid", 10)):
        images, labels = a[f"{split}/image"], a[f"{split}/label"]
        assert len(images) == count
        assert [label_of[image.tobytes()] for image in images] == labels.tolist()
        here = [places[image.tobytes()] for image in images]
        assert here == sorted(here) and here != list(range(here[0], here[0] + count))
        found += here
    assert sorted(found) == list(range(40))


IMAGES, LABELS = IDX_FILES["train"]


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        (IMAGES, lambda b: b[:-1], "31,375 bytes; expected 31,376 by its header"),
        (IMAGES, lambda b: b[:10], "10 bytes; expected 16 by its header"),
        (IMAGES, lambda b: b"", "starts with nothing; expected the bytes 00 00 08 03"),
        (IMAGES, lambda b: b"\0\0\x08\x01" + b[4:], "starts with 00 00 08 01; expected the bytes"),
        (f"{LABELS}.gz", lambda b: b[:-9], "not a whole .gz file ("),
        (f"{LABELS}.gz", lambda b: b"<html>", "not a whole .gz file (Not a gzipped file"),
    ],
)
def test_damaged_idx_files(folder, tmp_path, capsys, name, change, message):
    file = folder / name
    file.write_bytes(change(file.read_bytes()))
    assert prepare(folder, tmp_path / "m.h5") == 1
    error = capsys.readouterr().err
    assert error.startswith(f"error: {file}") and error.count("\n") == 1
    assert error.removeprefix(f"error: {file}").lstrip(": ").startswith(message)
    assert not (tmp_path / "m.h5").exists()


@pytest.mark.parametrize(
    ("name", "array", "message"),
    [
        (IMAGES, np.ones((40, 28, 27)), "train/image: its shape is (30, 28, 27)"),
        (LABELS, np.zeros(39), "train: labels [39] for images [40, 28, 28]"),
        (LABELS, np.zeros((40, 1)), "starts with 00 00 08 02"),
    ],
)
def test_wrong_contents_are_named(folder, tmp_path, capsys, name, array, message):
    (folder / name).write_bytes(idx(array.astype(np.uint8)))
    assert prepare(folder, tmp_path / "m.h5") == 1
    error = capsys.readouterr().err
    assert message in error and "mnist" in error and error.count("\n") == 1
    assert not (tmp_path / "m.h5").exists()


def test_missing_files(folder, tmp_path, capsys):
    (folder / IMAGES).unlink()
    assert prepare(folder, tmp_path / "m.h5") == 1
    assert capsys.readouterr().err.startswith(
        f"error: {folder / IMAGES}.gz: no such file, nor without"
    )
    os.mkfifo(tmp_path / "pipe")
    for name, said in {"none.npz": "no such file or folder", "pipe": "a device or a pipe"}.items():
        assert prepare(tmp_path / name, tmp_path / "m.h5") == 1
        assert capsys.readouterr().err.startswith(f"error: {tmp_path / name}: {said}")


def test_wrong_npz_files(tmp_path, capsys):
    images, labels = np.zeros((3, 28, 28), np.uint8), np.zeros(3, np.uint8)
    good = {"x_train": images, "y_train": labels, "x_test": images, "y_test": labels}
    np.savez(tmp_path / "less.npz", **{name: good[name] for name in ("x_train", "y_train")})
    np.savez(tmp_path / "pickle.npz", **{**good, "y_test": labels.astype(object)})
    np.savez(tmp_path / "good.npz", **good)
    (tmp_path / "cut.npz").write_bytes((tmp_path / "good.npz").read_bytes()[:-30])
    messages = {
        "less.npz": ": x_test is not a file in the archive; expected mnist.npz",
        "pickle.npz": ": Object arrays cannot be loaded",
        "cut.npz": ": File is not a zip file",
    }
    for name, message in messages.items():
        assert prepare(tmp_path / name, tmp_path / "m.h5") == 1
        error = capsys.readouterr().err
        assert error.startswith(f"error: {tmp_path / name}{message}") and error.count("\n") == 1
