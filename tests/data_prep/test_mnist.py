"""The MNIST data set: published files and damaged ones, and digits rendered in fonts."""

import gzip
import re
import struct

import h5py
import numpy as np
import pytest

from data_prep import mnist, mnist_digits
from data_prep.__main__ import main
from data_prep.mnist_files import IDX_FILES

COUNTS = {"train": 40, "test": 12}
SMALL = ("--valid", "10")


def prepare(source, out, *options):
    return main(["mnist", "--source", str(source), "--out", str(out), *SMALL, *options])


def prepare_rendered(out, *options):
    return main(["mnist", "--rendered", "--out", str(out), *options])


def contents(path):
    """Returns all datasets by their path in the file, and the attributes."""
    with h5py.File(path) as file:
        names = [f"{split}/{name}" for split, group in file.items() for name in group]
        return {name: file[name][:] for name in names}, dict(file.attrs)


def idx(array):
    """The bytes of an IDX file."""
    return struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape) + array.tobytes()


@pytest.fixture
def digits():
    """{"train", "test"}: random images and labels."""
    rng = np.random.default_rng(0)
    return {
        split: (
            rng.integers(256, size=(count, 28, 28), dtype=np.uint8),
            rng.integers(10, size=count, dtype=np.uint8),
        )
        for split, count in COUNTS.items()
    }


@pytest.fixture
def folder(digits, tmp_path):
    """IDX files, two of them compressed."""
    folder = tmp_path / "mnist"
    folder.mkdir()
    for split, (images_name, labels_name) in IDX_FILES.items():
        images, labels = digits[split]
        (folder / images_name).write_bytes(idx(images))
        (folder / f"{labels_name}.gz").write_bytes(gzip.compress(idx(labels)))
    return folder


# Published files.


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


def test_the_seed_draws_the_validation_digits(folder, tmp_path):
    for name, seed in (("a", "1"), ("b", "1"), ("c", "2")):
        assert prepare(folder, tmp_path / name, "--seed", seed) == 0
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    a, c = (contents(tmp_path / name)[0]["valid/image"] for name in "ac")
    assert not np.array_equal(a, c)


IMAGES, LABELS = IDX_FILES["train"]


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        (IMAGES, lambda b: b[:-1], "31,375 bytes; expected 31,376 by its header; it is cut short"),
        (IMAGES, lambda b: b + b"0", "31,377 bytes; expected 31,376 by its header"),
        (IMAGES, lambda b: b[:10], "10 bytes; expected 16 by its header"),
        (IMAGES, lambda b: b"", "starts with nothing; expected the bytes 00 00 08 03"),
        (IMAGES, lambda b: b"\0\0\x08\x01" + b[4:], "starts with 00 00 08 01; expected the bytes"),
        (IMAGES, lambda b: idx(np.zeros((40, 28, 27), np.uint8)), "40 x 28 x 27 uint8; expected N"),
        (IMAGES, lambda b: idx(np.zeros((0, 28, 28), np.uint8)), "empty; expected at least one"),
        (f"{LABELS}.gz", lambda b: b[:-9], "not a whole .gz file ("),
        (f"{LABELS}.gz", lambda b: b"<html>", "not a whole .gz file (Not a gzipped file"),
        (
            f"{LABELS}.gz",
            lambda b: gzip.compress(idx(np.zeros(39, np.uint8))),
            "39 labels for the 40 images of ",
        ),
        (
            f"{LABELS}.gz",
            lambda b: gzip.compress(idx(np.arange(40, dtype=np.uint8) % 11)),
            "label 10 is 10; expected 0 to 9",
        ),
    ],
)
def test_damaged_idx_files(folder, tmp_path, capsys, name, change, message):
    file = folder / name
    file.write_bytes(change(file.read_bytes()))
    assert prepare(folder, tmp_path / "m.h5") == 2
    error = capsys.readouterr().err
    assert error.startswith(f"error: {file}: {message}") and error.count("\n") == 1
    assert not (tmp_path / "m.h5").exists()


def test_a_missing_idx_file(folder, tmp_path, capsys):
    (folder / IMAGES).unlink()
    assert prepare(folder, tmp_path / "m.h5") == 2
    assert capsys.readouterr().err.startswith(f"error: {folder / IMAGES}: no such file, nor with")


def test_wrong_npz_files(tmp_path, capsys):
    images, labels = np.zeros((3, 28, 28), np.uint8), np.zeros(3, np.uint8)
    good = {"x_train": images, "y_train": labels, "x_test": images, "y_test": labels}
    np.savez(tmp_path / "less.npz", **{name: good[name] for name in ("x_train", "y_train")})
    np.savez(tmp_path / "float.npz", **{**good, "x_test": images / 255})
    np.savez(tmp_path / "pickle.npz", **{**good, "y_test": labels.astype(object)})
    np.save(tmp_path / "array.npy", images)
    np.savez(tmp_path / "good.npz", **good)
    whole = (tmp_path / "good.npz").read_bytes()
    (tmp_path / "cut.npz").write_bytes(whole[:-30])
    (tmp_path / "page.npz").write_text("<html>")
    (tmp_path / "empty.npz").write_bytes(b"")
    messages = {
        "less.npz": ": x_test is not a file in the archive; expected the arrays x_train, y_train,",
        "float.npz": ", x_test: 3 x 28 x 28 float64; expected N x 28 x 28 uint8",
        "pickle.npz": ": not a whole .npz file (Object arrays cannot be loaded",
        "array.npy": ": not a whole .npz file (",
        "cut.npz": ": not a whole .npz file (",
        "page.npz": ": not a whole .npz file (",
        "empty.npz": ": not a whole .npz file (",
    }
    for name, message in messages.items():
        assert prepare(tmp_path / name, tmp_path / "m.h5") == 2
        error = capsys.readouterr().err
        assert error.startswith(f"error: {tmp_path / name}{message}") and error.count("\n") == 1
    assert prepare(tmp_path / "none.npz", tmp_path / "m.h5") == 2
    assert "No such file" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--seed", "-1"), "--seed -1: at least 0 is needed"),
        (("--valid", "0"), "--valid 0: at least 1 is needed"),
        (("--valid", "40"), "--valid 40: leaves none of the 40 training digits for training"),
        (("--counts", "30,10"), "--counts: only digits that are --rendered"),
        (("--counts", "30"), "'30'; expected two numbers, like 60000,10000"),
        (("--counts", "30,0"), "'30,0'; expected two numbers, like 60000,10000"),
    ],
)
def test_wrong_options(folder, tmp_path, capsys, options, message):
    try:
        status = prepare(folder, tmp_path / "m.h5", *options)
    except SystemExit as stopped:  # by argparse
        status = stopped.code
    assert status == 2 and message in capsys.readouterr().err
    assert not (tmp_path / "m.h5").exists()


# Rendered digits.


def test_rendered_data_set(tmp_path, monkeypatch, capsys):
    used = []

    def draw(labels, fonts, rng):
        used.append(fonts)
        return mnist_digits.draw(labels, fonts, rng)

    monkeypatch.setattr(mnist, "draw", draw)
    for name, seed in (("a", "1"), ("b", "1"), ("c", "2")):
        options = ("--counts", "1200,300", "--valid", "200", "--seed", seed)
        assert prepare_rendered(tmp_path / name, *options) == 0
    a, b, c = ((tmp_path / name).read_bytes() for name in "abc")
    assert a == b != c
    datasets, attributes = contents(tmp_path / "a")
    notes = "digits rendered in 14 fonts, not MNIST"
    assert attributes == {
        "schema": "mnist",
        "version": 1,
        "source": "rendered",
        "sha256": "",
        "notes": notes,
        "seed": 1,
    }
    assert notes in capsys.readouterr().out
    shapes = {name: array.shape for name, array in datasets.items()}
    for split, count in (("train", 1000), ("valid", 200), ("test", 300)):
        assert shapes.pop(f"{split}/image") == (count, 28, 28)
        assert shapes.pop(f"{split}/label") == (count,)
    assert not shapes and all(array.dtype == np.uint8 for array in datasets.values())
    of_training = np.append(datasets["train/label"], datasets["valid/label"])
    for labels in (of_training, datasets["test/label"]):
        assert (np.bincount(labels) == len(labels) // 10).all()
        assert 0.04 < np.mean(labels[1:] == labels[:-1]) < 0.17  # in no order
    assert not np.array_equal(contents(tmp_path / "c")[0]["test/image"], datasets["test/image"])
    everywhere = np.concatenate([datasets[f"{split}/image"] for split in mnist.SPLITS])
    assert len(np.unique(everywhere, axis=0)) == 1500
    # 4,500 digits in 14 fonts: 321 each, standard deviation 17.
    times = np.bincount(np.concatenate(used))
    assert len(times) == 14 and times.min() > 230 and times.max() < 410


def test_digits_look_like_their_labels():
    """The nearest of 3,000 digits by pixels mostly has the same label; ink is about MNIST's."""
    rng = np.random.default_rng(0)
    images, labels = mnist.render(3300, "test", rng)
    vectors = images.reshape(len(images), -1) / np.float32(255)
    known, asked = vectors[:3000], vectors[3000:]
    distances = (known**2).sum(axis=1) - 2 * asked @ known.T
    right = np.mean(labels[:3000][distances.argmin(axis=1)] == labels[3000:])
    assert 0.85 < right < 0.98
    assert 25 < images.mean() < 45  # 33.3 in MNIST
    ink = np.sort(images.reshape(len(images), -1), axis=1)
    assert (ink[:, -20:].mean(axis=1) > 80).all() and (ink[:, :300] == 0).all()
    border = np.concatenate([images[:, [0, -1]].ravel(), images[:, :, [0, -1]].ravel()])
    assert (border > 128).mean() < 0.01  # hardly anything is cut off


def test_a_digit_is_sampled_between_its_pixels(monkeypatch):
    class Least:
        def uniform(self, low, high, shape):
            return np.full(shape, low)

    points = np.random.default_rng(0).uniform(-20, 20, (2, 3, 28, 28)).astype(np.float32)
    monkeypatch.setattr(mnist_digits, "_points", lambda *_: points)
    labels, fonts = np.array([2, 5, 8]), np.array([0, 13, 7])
    images = mnist_digits.draw(labels, fonts, Least())
    fine = mnist_digits.FINE
    glyphs = mnist_digits._glyphs().reshape(14, 10, fine, fine)
    for n in range(3):
        padded = np.pad(glyphs[fonts[n], labels[n]], fine)  # paper all around
        for i, j in np.ndindex(28, 28):
            y, x = points[:, n, i, j].astype(float) * 3 + (fine - 1) / 2 + fine
            ink = 0
            for row in (int(y), int(y) + 1):
                for column in (int(x), int(x) + 1):
                    ink += padded[row, column] * (1 - abs(y - row)) * (1 - abs(x - column))
            # No threshold, the least contrast.
            assert images[n, i, j] == pytest.approx(255 * min(1.2 * ink, 1), abs=0.6)


def test_fonts_differ(monkeypatch):
    for limit in ("ROTATION", "SHEAR", "STRETCH", "SHIFT", "BEND"):
        monkeypatch.setattr(mnist_digits, limit, 0.0)
    fonts = np.repeat(np.arange(len(mnist_digits.FONTS)), 10)
    labels = np.tile(np.arange(10), len(mnist_digits.FONTS))
    images = mnist_digits.draw(labels, fonts, np.random.default_rng(0)) > 64
    apart = (images[:, None] != images).sum(axis=(2, 3)).reshape(14, 10, 14, 10)
    fonts_apart = np.einsum("fdgd->fg", apart) + 1000 * np.eye(14)
    digits_apart = np.einsum("fdfe->fde", apart) + 1000 * np.eye(10)
    assert fonts_apart.min() > 150 and digits_apart.min() > 25  # pixels, of 10 digits and of one
    # Undistorted, every digit is 20 pixels high, give or take its edges, and in the middle.
    rows, columns = images.any(axis=2), images.any(axis=1)
    assert abs(rows.sum(axis=1) - 20).max() <= 3
    for filled in (rows, columns):
        middle = (filled.argmax(axis=1) + 27 - filled[:, ::-1].argmax(axis=1)) / 2
        assert abs(middle - 13.5).max() <= 2


def test_distortions_move_points_as_far_as_they_say(monkeypatch):
    grid = np.arange(28) - 13.5
    straight = np.stack(np.meshgrid(grid, grid, indexing="ij"))[:, None]
    limits = {"ROTATION": 0.0, "SHEAR": 0.0, "STRETCH": 0.0, "SHIFT": 0.0, "BEND": 0.0}

    def points(**changed):
        for name, value in {**limits, **changed}.items():
            monkeypatch.setattr(mnist_digits, name, value)
        return mnist_digits._points(500, np.random.default_rng(0))

    np.testing.assert_allclose(points(), np.broadcast_to(straight, (2, 500, 28, 28)), atol=1e-5)
    rotated = points(ROTATION=0.3)
    radii = [np.hypot(*at) for at in (rotated, straight)]
    np.testing.assert_allclose(*np.broadcast_arrays(*radii), rtol=1e-5)
    angle = np.arctan2(*rotated) - np.arctan2(*straight)
    angle = (angle + np.pi) % (2 * np.pi) - np.pi
    np.testing.assert_allclose(angle, np.broadcast_to(angle[:, :1, :1], angle.shape), atol=1e-5)
    assert 0.29 < angle.max() <= 0.3 and -0.3 <= angle.min() < -0.29
    bent = points(BEND=2.0) - straight
    assert 1.9 < abs(bent).max() <= 2
    # Linear between 4 points: 27 pixels / 3 = 9 from one to the next.
    for axis, piece in ((3, bent[..., :10]), (2, bent[:, :, :10])):
        np.testing.assert_allclose(np.diff(piece, 2, axis=axis), 0, atol=1e-5)
        assert abs(np.diff(bent, 2, axis=axis)).max() > 0.3
    shifted = points(SHIFT=2.0) - straight
    assert np.ptp(shifted, axis=(2, 3)).max() < 1e-5 and 1.98 < abs(shifted).max() <= 2
