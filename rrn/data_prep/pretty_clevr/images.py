"""Renders Pretty-CLEVR's scenes, anti-aliased, many at once and without a plotting library.

A marker is a signed distance function: negative inside, in units of the marker's radius. A pixel's
coverage is taken from the distance at its centre, so that a marker's edge is sharp to a fraction of
a pixel wherever its centre falls.

Colours, markers and the margin are the authors'. Their markers have a radius of about 0.04. Here
they are larger, so that they can be told apart in images of 64 pixels, too.
"""

import numpy as np

SMALLEST, LARGEST = 48, 1024  # pixels; in smaller images the markers look alike
MARGIN = 0.1  # around the unit square, as in the authors' images
RADIUS = 0.05  # of the circle around a marker; objects are 0.1 apart, so none hides another

COLOURS = {
    "blue": (0, 0, 255),
    "green": (0, 128, 0),
    "red": (255, 0, 0),
    "cyan": (0, 255, 255),
    "magenta": (255, 0, 255),
    "yellow": (255, 255, 0),
    "black": (0, 0, 0),
    "gray": (128, 128, 128),
}
BACKGROUND = 255


def _triangle(x, y):
    """A triangle that points to -y. That is up, because rows are numbered downwards."""
    slant = np.sqrt(0.75)
    return np.maximum(y, slant * np.abs(x) - 0.5 * y) - 0.5


def _plus(x, y):
    x, y = np.abs(x), np.abs(y)
    width = 0.3  # half of a bar's width
    length = np.sqrt(1 - width**2)
    return np.maximum(np.minimum(x, y) - width, np.maximum(x, y) - length)


MARKERS = {
    "circle": lambda x, y: np.hypot(x, y) - 1,
    "triangle_down": lambda x, y: _triangle(x, -y),
    "triangle_up": _triangle,
    "triangle_left": lambda x, y: _triangle(y, x),
    "triangle_right": lambda x, y: _triangle(y, -x),
    "square": lambda x, y: np.maximum(np.abs(x), np.abs(y)) - np.sqrt(0.5),
    "plus": _plus,
    "cross": lambda x, y: _plus((x + y) * np.sqrt(0.5), (x - y) * np.sqrt(0.5)),
}


def render(
    positions: np.ndarray, colours: np.ndarray, markers: np.ndarray, size: int
) -> np.ndarray:
    """Renders scenes, [scenes, size, size, 3] uint8: red, green and blue.

    Args:
      positions: [scenes, 8, 2] floats, x and y in [0, 1).
      colours: [scenes, 8] indices in `COLOURS`.
      markers: [scenes, 8] indices in `MARKERS`.
    """
    images = np.full((len(positions), size, size, 3), BACKGROUND, np.uint8)
    scale = size / (1 + 2 * MARGIN)  # pixels
    radius = RADIUS * scale
    reach = int(np.ceil(radius + 1))  # pixels from a marker's centre to its farthest pixel
    window = np.arange(-reach, reach + 1)
    scene = np.arange(len(positions))
    rgb = np.array(list(COLOURS.values()), np.float32)
    for marker, distance in enumerate(MARKERS.values()):
        index = (markers == marker).argmax(axis=1)  # the object with this marker
        centre = (positions[scene, index] + MARGIN) * scale
        pixels = centre.astype(np.intp)[:, :, None] + window  # [scenes, x and y, window]
        x, y = np.moveaxis((pixels + 0.5 - centre[:, :, None]) / radius, 1, 0)
        inside = 0.5 - radius * distance(x[:, None, :], y[:, :, None])
        coverage = np.clip(inside, 0, 1)[..., None]
        patch = scene[:, None, None], pixels[:, 1, :, None], pixels[:, 0, None, :]
        under = images[patch]
        over = rgb[colours[scene, index], None, None]
        images[patch] = np.rint(under + coverage * (over - under)).astype(np.uint8)
    return images
