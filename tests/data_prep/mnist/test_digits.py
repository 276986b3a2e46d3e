"""Digits rendered in fonts."""

import numpy as np
import pytest

from rrn.data_prep.mnist import digits
from rrn.data_prep.mnist.prepare import render


def test_digits_look_like_their_labels():
    """The nearest of 3,000 digits by pixels mostly has the same label; ink is about MNIST's."""
    rng = np.random.default_rng(0)
    images, labels = render(3300, "test", rng)
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
    monkeypatch.setattr(digits, "_points", lambda *_: points)
    labels, fonts = np.array([2, 5, 8]), np.array([0, 13, 7])
    images = digits.draw(labels, fonts, Least())
    fine = digits.FINE
    glyphs = digits._glyphs().reshape(14, 10, fine, fine)
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


def test_distortions_move_points_as_far_as_they_say(monkeypatch):
    grid = np.arange(28) - 13.5
    straight = np.stack(np.meshgrid(grid, grid, indexing="ij"))[:, None]
    limits = {"ROTATION": 0.0, "SHEAR": 0.0, "STRETCH": 0.0, "SHIFT": 0.0, "BEND": 0.0}

    def points(**changed):
        for name, value in {**limits, **changed}.items():
            monkeypatch.setattr(digits, name, value)
        return digits._points(500, np.random.default_rng(0))

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
