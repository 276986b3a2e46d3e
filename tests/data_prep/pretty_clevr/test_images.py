"""Pretty-CLEVR's images: colours, places, areas and directions of the markers."""

import numpy as np
import pytest

from rrn.data_prep.pretty_clevr.images import BACKGROUND, COLOURS, MARKERS, RADIUS, render
from rrn.data_prep.pretty_clevr.scenes import make_scenes
from tests.data_prep.helpers import contents
from tests.data_prep.pretty_clevr.helpers import COUNTS

RGB = np.array(list(COLOURS.values()))


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
        (positions,) = make_scenes(1, rng)["positions"]
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
