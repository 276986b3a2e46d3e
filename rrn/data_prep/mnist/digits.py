"""Renders digits like MNIST's in fonts, each distorted at random, many at once.

Every digit of every font is rendered once, at three times the size. An image then samples it at
points that are moved by a random affine map and a smooth random displacement.
"""

from functools import cache
from pathlib import Path

import matplotlib
import numpy as np
from PIL import Image, ImageDraw, ImageFilter, ImageFont

SIZE = 28  # pixels
BOX = 20  # height of a digit before it is distorted, in pixels, as in MNIST
FINE = 3 * SIZE  # width and height of the rendered digits, in pixels
BLUR = 0.4  # standard deviation in pixels; blurred, no thin stroke falls between the samples

# All come with matplotlib, and all digits of a font have the same height.
FONTS = (
    "DejaVuSans",
    "DejaVuSans-Bold",
    "DejaVuSans-Oblique",
    "DejaVuSerif",
    "DejaVuSerif-Bold",
    "DejaVuSerif-Italic",
    "STIXGeneral",
    "STIXGeneralBol",
    "STIXGeneralBolIta",
    "STIXGeneralItalic",
    "cmb10",
    "cmr10",
    "cmss10",
    "cmtt10",
)

# The distortions. Each is drawn uniformly between minus and plus its limit.
ROTATION = np.pi / 12
SHEAR = 0.25
STRETCH = 0.15  # logarithm of the width and of the height
SHIFT = 2.0  # pixels
BEND, BEND_POINTS = 1.5, 4  # pixels; drawn on a grid of 4 x 4 points, linear in between


def draw(labels: np.ndarray, fonts: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draws [digits, 28, 28] uint8, 0 for paper and 255 for ink.

    Labels are [digits] integers 0 to 9, and fonts [digits] indices in `FONTS`.
    """
    y, x = _points(len(labels), rng) * (FINE / SIZE) + (FINE - 1) / 2
    # A point beyond the border has the border's colour, which is paper.
    y, x = np.clip(y, 0, FINE - 1.001), np.clip(x, 0, FINE - 1.001)
    row, column = y.astype(np.int32), x.astype(np.int32)
    y, x = y - row, x - column
    glyphs = _glyphs()
    first = (fonts * 10 + labels).astype(np.int32)[:, None, None] * FINE**2 + row * FINE + column
    above = glyphs[first] * (1 - x) + glyphs[first + 1] * x
    below = glyphs[first + FINE] * (1 - x) + glyphs[first + FINE + 1] * x
    ink = above * (1 - y) + below * y
    # There is ink where the blurred digit is darker than `threshold`, which makes strokes wide or
    # narrow; `contrast` makes their edges sharp or soft.
    threshold = rng.uniform(0, 0.35, (len(labels), 1, 1)).astype(np.float32)
    contrast = rng.uniform(1.2, 2.5, (len(labels), 1, 1)).astype(np.float32)
    return np.rint(255 * np.clip((ink - threshold) * contrast, 0, 1)).astype(np.uint8)


def _points(count: int, rng: np.random.Generator) -> np.ndarray:
    """Returns where images sample the digits, [2, count, 28, 28]: y and x from the centre."""

    def uniform(limit, *shape):
        return rng.uniform(-limit, limit, (*shape, count, 1, 1)).astype(np.float32)

    grid = np.arange(SIZE, dtype=np.float32) - (SIZE - 1) / 2
    angle, shear = uniform(ROTATION), uniform(SHEAR)
    y, x = np.exp(uniform(STRETCH, 2)) * np.stack(np.meshgrid(grid, grid, indexing="ij"))[:, None]
    x = x + shear * y
    y, x = np.cos(angle) * y + np.sin(angle) * x, np.cos(angle) * x - np.sin(angle) * y
    bend = rng.uniform(-BEND, BEND, (2, count, BEND_POINTS, BEND_POINTS)).astype(np.float32)
    points = np.linspace(0, SIZE - 1, BEND_POINTS)
    weights = np.stack([np.interp(np.arange(SIZE), points, one) for one in np.eye(BEND_POINTS)])
    weights = weights.astype(np.float32)  # [4, 28]: the weight of each point at each pixel
    return np.stack([y, x]) + uniform(SHIFT, 2) + weights.T @ bend @ weights


@cache
def _glyphs() -> np.ndarray:
    """Returns all digits of all fonts, one after the other: float32, 0 for paper and 1 for ink."""
    folder = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
    glyphs = [_glyph(folder / f"{font}.ttf", digit) for font in FONTS for digit in "0123456789"]
    return np.stack(glyphs).ravel()


def _glyph(path: Path, digit: str) -> np.ndarray:
    """Returns a digit in the middle of its image, [FINE, FINE] float32."""
    _, top, _, bottom = ImageFont.truetype(path, 10 * FINE).getbbox("0")
    font = ImageFont.truetype(path, 10 * FINE * (BOX / SIZE * FINE) / (bottom - top))
    left, top, right, bottom = font.getbbox(digit)
    picture = Image.new("L", (FINE, FINE))
    place = (FINE - left - right) / 2, (FINE - top - bottom) / 2
    ImageDraw.Draw(picture).text(place, digit, fill=255, font=font)
    blurred = picture.filter(ImageFilter.GaussianBlur(BLUR * FINE / SIZE))
    return np.asarray(blurred, np.float32) / 255
