"""Draws Pretty-CLEVR's scenes, and walks from object to nearest object."""

import numpy as np

OBJECTS = 8
LEAST_DISTANCE = 0.1
BLOCK = 4096  # scenes drawn at once


def make_scenes(count: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Draws scenes: "positions", "colours", "markers" and "order", as in the file's schema."""
    blocks, missing = [], count
    while missing > 0:
        positions = rng.random((BLOCK, OBJECTS, 2), dtype=np.float32)
        away = distances(positions)
        allowed = (away >= LEAST_DISTANCE).all(axis=(1, 2))
        blocks.append((positions[allowed], walks(away[allowed])))
        missing -= np.count_nonzero(allowed)
    positions, order = (np.concatenate(parts)[:count] for parts in zip(*blocks, strict=True))
    each_once = np.tile(np.arange(OBJECTS, dtype=np.uint8), (count, 1))
    return {
        "positions": positions,
        "colours": rng.permuted(each_once, axis=1),
        "markers": rng.permuted(each_once, axis=1),
        "order": order,
    }


def distances(positions: np.ndarray) -> np.ndarray:
    """Returns distances [scenes, 8, 8] of positions [scenes, 8, 2]; infinite to themselves."""
    x, y = np.moveaxis(positions.astype(np.float64), 2, 0)
    away = np.hypot(x[:, :, None] - x[:, None], y[:, :, None] - y[:, None])
    away[:, range(OBJECTS), range(OBJECTS)] = np.inf
    return away


def walks(distances: np.ndarray) -> np.ndarray:
    """Walks from every object to the nearest one not yet visited, through all objects.

    Entry [s, i, k], uint8, is the object of scene s that k jumps from object i lead to.
    """
    order = np.empty(distances.shape, np.uint8)
    order[:, :, 0] = np.arange(OBJECTS)
    left = np.broadcast_to(~np.eye(OBJECTS, dtype=bool), distances.shape).copy()
    for jump in range(1, OBJECTS):
        # [scenes, start, object]: how far each object is from the walk's last one.
        away = np.take_along_axis(distances, order[:, :, jump - 1, None], axis=1)
        nearest = np.where(left, away, np.inf).argmin(axis=2)
        order[:, :, jump] = nearest
        np.put_along_axis(left, nearest[:, :, None], False, axis=2)
    return order
