"""Holes in images: where they are, what is around them, and how well they are filled."""

import tensorflow as tf

from rrn.variables.random import ExampleRandom
from rrn.variables.sharded import known_size


def draw_holes(random: ExampleRandom, size: int, smallest: int, largest: int) -> tf.Tensor:
    """Draws rectangles (top, left, height, width), `[examples, 4]`, int32.

    Sides are uniform in smallest..largest pixels, and so are positions in images of `size` by
    `size`.
    """
    draws = random.uniform([4])
    sides = smallest + tf.cast(draws[:, 2:] * (largest - smallest + 1), tf.int32)
    positions = tf.cast(size - sides + 1, tf.float32)
    return tf.concat([tf.cast(draws[:, :2] * positions, tf.int32), sides], axis=1)


def hole_mask(hole: tf.Tensor, size: int) -> tf.Tensor:
    """Marks the holes of `draw_holes`: 1 within them, else 0, `[examples, size, size, 1]`."""
    pixel = tf.range(size)
    start, end = hole[:, :2, None], (hole[:, :2] + hole[:, 2:])[:, :, None]
    inside = tf.cast((start <= pixel) & (pixel < end), tf.float32)
    return inside[:, 0, :, None, None] * inside[:, 1, None, :, None]


def cut_patches(images: tf.Tensor, hole: tf.Tensor, patch_size: int) -> tf.Tensor:
    """Cuts `[examples, patch_size, patch_size, channels]` around the holes, within the images."""
    size = known_size(images, 1)
    start = hole[:, :2] + (hole[:, 2:] - patch_size) // 2
    pixels = tf.clip_by_value(start, 0, size - patch_size)[:, :, None] + tf.range(patch_size)
    rows = tf.gather(images, pixels[:, 0], axis=1, batch_dims=1)
    return tf.gather(rows, pixels[:, 1], axis=2, batch_dims=1)


def nearest_visible(images: tf.Tensor, hole: tf.Tensor) -> tf.Tensor:
    """Fills each pixel of a hole with the nearest one outside: straight up, down, left or right.

    Where two are equally near, the first in this order counts. Pixels outside the hole have any
    values.
    """
    size = known_size(images, 1)
    pixel = tf.range(size)
    start, end = hole[:, :2, None], (hole[:, :2] + hole[:, 2:])[:, :, None]
    # For rows and for columns `[examples, 2, size]`: how far it is over the start and the end.
    before = tf.where(start > 0, pixel - start + 1, 2 * size)
    after = tf.where(end < size, end - pixel, 2 * size)
    rows, columns = tf.meshgrid(pixel, pixel, indexing="ij")
    ways = [  # (distance, row and column of the pixel there), each [examples, size, size]
        (before[:, 0, :, None], start[:, 0, :, None] - 1, columns),
        (after[:, 0, :, None], end[:, 0, :, None], columns),
        (before[:, 1, None], rows, start[:, 1, None] - 1),
        (after[:, 1, None], rows, end[:, 1, None]),
    ]
    shape = [tf.shape(images)[0], size, size]
    ways = [[tf.broadcast_to(part, shape) for part in way] for way in ways]
    distance, *best = ways[0]
    for other, *indices in ways[1:]:
        nearer = other < distance
        distance = tf.where(nearer, other, distance)
        best = [tf.where(nearer, new, old) for new, old in zip(indices, best, strict=True)]
    return tf.gather_nd(images, tf.stack(best, axis=-1), batch_dims=1)


def mean_over_hole(images: tf.Tensor, hole: tf.Tensor) -> list[tf.Tensor]:
    """Computes the means `[examples]` of |x| and of x² over holes' pixels and channels."""
    inside = images * hole_mask(hole, known_size(images, 1))
    count = tf.cast(hole[:, 2] * hole[:, 3] * known_size(images, 3), tf.float32)
    return [tf.reduce_sum(v, [1, 2, 3]) / count for v in (tf.abs(inside), inside**2)]
