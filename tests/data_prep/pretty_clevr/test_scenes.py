"""Pretty-CLEVR's scenes: their distribution, and a plain walk as the oracle."""

import numpy as np
import pytest

from rrn.data_prep.pretty_clevr.scenes import make_scenes, walks


@pytest.fixture(scope="module")
def scenes():
    return make_scenes(40_000, np.random.default_rng(0))


def plain_distances(positions):
    """[objects, objects] of one scene; infinite on the diagonal."""
    apart = positions[:, None].astype(float) - positions
    return np.sqrt((apart**2).sum(axis=2)) + np.diag([np.inf] * len(positions))


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


def test_of_two_equally_near_objects_the_lower_index_is_next():
    line = np.array([3, 0, 1, 2, 4, 5, 6, 7])  # object 0 is between 3 and 4
    (order,) = walks(abs(line[:, None] - line)[None])
    assert order[0].tolist() == [0, 3, 2, 1, 4, 5, 6, 7]
