"""The Pretty-CLEVR data set: a plain walk as the oracle, the scenes' distribution, the images."""

import re

import h5py
import numpy as np
import pytest

from data_prep import pretty_clevr
from data_prep.__main__ import main
from data_prep.pretty_clevr_images import BACKGROUND, COLOURS, MARKERS, RADIUS, render

COUNTS = {"train": 300, "valid": 20, "test": 30}
RGB = np.array(list(COLOURS.values()))


def prepare(out, scenes="300,20,30", *options):
    return main(["pretty_clevr", "--scenes", scenes, "--out", str(out), *options])


def contents(path):
    """Returns all datasets by their path in the file, and the attributes."""
    datasets = {}

    def collect(name, item):
        if isinstance(item, h5py.Dataset):
            datasets[name] = item[:]

    with h5py.File(path) as file:
        file.visititems(collect)
        return datasets, dict(file.attrs)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """A file with images of 64 x 64 pixels, more than are rendered at once."""
    path = tmp_path_factory.mktemp("pretty_clevr") / "p.h5"
    assert prepare(path, "300,20,30", "--images", "64") == 0
    assert COUNTS["train"] > pretty_clevr.IMAGE_BLOCK
    return path


@pytest.fixture(scope="module")
def scenes():
    return pretty_clevr.make_scenes(40_000, np.random.default_rng(0))


def plain_distances(positions):
    """[objects, objects] of one scene; infinite on the diagonal."""
    apart = positions[:, None].astype(float) - positions
    return np.sqrt((apart**2).sum(axis=2)) + np.diag([np.inf] * len(positions))


# The file.


def test_data_set(prepared, tmp_path, capsys):
    datasets, attributes = contents(prepared)
    assert attributes == {"schema": "pretty_clevr", "version": 1, "notes": "", "seed": 0}
    assert [name.decode() for name in datasets["colour_names"]] == list(COLOURS)
    assert [name.decode() for name in datasets["marker_names"]] == list(MARKERS)
    for split, count in COUNTS.items():
        specs = {
            "positions": ((count, 8, 2), np.float32),
            "colours": ((count, 8), np.uint8),
            "markers": ((count, 8), np.uint8),
            "order": ((count, 8, 8), np.uint8),
            "images": ((count, 64, 64, 3), np.uint8),
        }
        found = {n.split("/")[1]: d for n, d in datasets.items() if n.startswith(f"{split}/")}
        assert {name: (data.shape, data.dtype) for name, data in found.items()} == specs
    assert len(datasets) == 2 + 3 * 5
    with h5py.File(prepared) as file:
        assert file["train/images"].chunks == (1, 64, 64, 3)
    capsys.readouterr()
    assert prepare(tmp_path / "p.h5") == 0
    assert re.search(r"^train +300 +38,400\n", capsys.readouterr().out, re.MULTILINE)
    without, _ = contents(tmp_path / "p.h5")  # the same scenes without images
    assert datasets.keys() - without.keys() == {f"{split}/images" for split in COUNTS}
    assert all(np.array_equal(without[name], datasets[name]) for name in without)


def test_same_seed_same_bytes_and_a_splits_size_changes_no_other_split(tmp_path):
    for name, scenes, seed in (("a", "9,5,6", 1), ("b", "9,5,6", 1), ("c", "8,5,6", 1)):
        assert prepare(tmp_path / name, scenes, "--seed", str(seed), "--images", "48") == 0
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    a, c = (contents(tmp_path / name)[0] for name in "ac")
    assert all(np.array_equal(a[n], c[n]) for n in a if not n.startswith("train/"))
    assert prepare(tmp_path / "d", "9,5,6", "--seed", "2") == 0
    d, _ = contents(tmp_path / "d")
    firsts = [data[f"{split}/positions"][0] for data in (a, d) for split in COUNTS]
    assert len({first.tobytes() for first in firsts}) == 6


def test_a_run_that_fails_keeps_the_old_file(tmp_path, monkeypatch):
    (tmp_path / "p.h5").write_bytes(b"old")

    def fail(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(pretty_clevr, "render", fail)
    with pytest.raises(KeyboardInterrupt):
        prepare(tmp_path / "p.h5", "3,3,3", "--images", "64")
    assert (tmp_path / "p.h5").read_bytes() == b"old"
    assert [file.name for file in tmp_path.iterdir()] == ["p.h5"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--seed", "-1"), "--seed -1: at least 0 is needed"),
        (("--images", "47"), "--images 47: at least 48 pixels are needed"),
        (("--scenes", "10,10"), "'10,10'; expected three numbers, like 100000,1000,1000"),
        (("--scenes", "10,0,10"), "'10,0,10'; expected three numbers, like 100000,1000,1000"),
        (("--scenes", "10,-1,x"), "'10,-1,x'; expected three numbers, like 100000,1000,1000"),
    ],
)
def test_wrong_options(tmp_path, capsys, options, message):
    try:
        status = prepare(tmp_path / "p.h5", "3,3,3", *options)
    except SystemExit as stopped:  # by argparse
        status = stopped.code
    assert status == 2 and message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


# Scenes.


def test_scenes_are_allowed(scenes):
    positions = scenes["positions"]
    assert positions.min() >= 0 and positions.max() < 1
    assert min(plain_distances(scene).min() for scene in positions[:5000]) >= 0.1
    for name in ("colours", "markers"):
        assert (np.sort(scenes[name], axis=1) == np.arange(8)).all()
        # Every colour and marker on every object: 1/8 of the scenes, standard deviation 0.0017.
        share = np.mean(scenes[name][:, :, None] == np.arange(8), axis=0)
        assert abs(share - 1 / 8).max() < 0.008
    together = np.mean(scenes["colours"] == scenes["markers"])
    assert abs(together - 1 / 8) < 0.004


def test_all_allowed_scenes_are_equally_likely(scenes):
    # Allowed scenes have 0.2073 of their coordinates within 0.1 of a side; with objects placed one
    # after the other it would be 0.2042. The standard deviation here is 0.0005.
    near_side = np.mean(abs(scenes["positions"] - 0.5) > 0.4)
    assert near_side == pytest.approx(0.2073, abs=0.0016)


def test_answers_are_those_of_a_plain_walk(prepared):
    datasets, _ = contents(prepared)
    for scene in range(30):
        positions, colours, markers, order = (
            datasets[f"test/{name}"][scene] for name in ("positions", "colours", "markers", "order")
        )
        distances = plain_distances(positions)
        for anchors, answers in ((colours, markers), (markers, colours)):
            for anchor in range(8):
                at = list(anchors).index(anchor)
                left = set(range(8)) - {at}
                for jumps in range(8):
                    (start,) = np.flatnonzero(anchors == anchor)
                    assert answers[order[start, jumps]] == answers[at]
                    if left:
                        at = min(left, key=lambda other: distances[at, other])
                        left.remove(at)


def test_of_two_equally_near_objects_the_lower_index_is_next():
    line = np.array([3, 0, 1, 2, 4, 5, 6, 7])  # object 0 is between 3 and 4
    (order,) = pretty_clevr.walks(abs(line[:, None] - line)[None])
    assert order[0].tolist() == [0, 3, 2, 1, 4, 5, 6, 7]


# Images.


@pytest.mark.parametrize("size", [64, 128])
def test_objects_are_where_they_should_be(prepared, size):
    datasets, _ = contents(prepared)
    for split in COUNTS:
        positions, colours, markers = (
            datasets[f"{split}/{name}"] for name in ("positions", "colours", "markers")
        )
        images = datasets[f"{split}/images"]
        if size != 64:
            images = render(positions, colours, markers, size)
        x, y = np.moveaxis((positions + 0.1) / 1.2 * size, 2, 0).astype(int)
        centres = images[np.arange(len(images))[:, None], y, x].astype(int)
        off = abs(centres[:, :, None] - RGB).sum(axis=3)
        assert (off.argmin(axis=2) == colours).all() and off.min(axis=2).max() < 160
        assert (images == BACKGROUND).all(axis=3).mean() > 0.85


def test_every_marker_has_its_area_place_and_direction():
    size, colour, rng = 256, list(COLOURS).index("black"), np.random.default_rng(0)
    radius = RADIUS / 1.2 * size
    bar = 0.3 * np.sqrt(1 - 0.3**2)
    areas = {"circle": np.pi, "square": 2, "plus": 8 * bar - 0.36, "cross": 8 * bar - 0.36}
    directions = {
        "triangle_up": (0, -1),
        "triangle_down": (0, 1),
        "triangle_left": (-1, 0),
        "triangle_right": (1, 0),
    }
    # Only the object with this marker is black.
    colours = np.where(np.arange(8) == 0, colour, list(COLOURS).index("yellow"))
    grid = np.arange(size) + 0.5
    for marker, name in enumerate(MARKERS):
        (positions,) = pretty_clevr.make_scenes(1, rng)["positions"]
        markers = (np.arange(8) + marker) % 8
        (image,) = render(positions[None], colours[None], markers[None], size)
        dark = 1 - image[:, :, 0] / 255  # red: in yellow as in the background
        area = areas.get(name, 0.75 * np.sqrt(3)) * radius**2
        assert dark.sum() == pytest.approx(area, rel=0.02)
        centre = (positions[0] + 0.1) / 1.2 * size
        for axis in (0, 1):
            at = grid - centre[axis]
            along = dark.sum(axis=axis)
            assert at @ along / area == pytest.approx(0, abs=0.1)
            # A triangle of radius 1 has corners at 1, -1/2, -1/2 along the way to its tip: the mean
            # of their cubes is 1/4, and that of the triangle's points a tenth of it.
            skewness = at**3 @ along / area / radius**3
            expected = directions.get(name, (0, 0))[axis] / 40
            assert skewness == pytest.approx(expected, abs=0.003)
