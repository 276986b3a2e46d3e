"""The age arithmetic data set: every tree once, split by the seed."""

import math
import re

import numpy as np
import pytest

from rrn.data_prep.__main__ import main
from tests.data_prep.helpers import contents

COUNTS = {"train": 225_930, "valid": 10_000, "test": 26_214}


def prepare(out, *options):
    return main(["ages", "--out", str(out), *options])


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    path = tmp_path_factory.mktemp("ages") / "a.h5"
    assert prepare(path) == 0
    return contents(path)


def edge_sets(edges):
    """[trees] a number for each set of edges: bit 8 i + j is edge i, j."""
    edges = edges.astype(np.uint64)
    return (np.uint64(1) << (8 * edges[:, :, 0] + edges[:, :, 1])).sum(axis=1)


def test_every_tree_once(prepared):
    datasets, attributes = prepared
    assert attributes == {"schema": "ages", "version": 1, "notes": "", "seed": 0}
    assert {name: (array.shape, array.dtype) for name, array in datasets.items()} == {
        f"{split}/{name}": ((count, *shape), np.uint8)
        for split, count in COUNTS.items()
        for name, shape in (("edges", (7, 2)), ("distance", (8, 8)))
    }
    edges, distance = (
        np.concatenate([datasets[f"{split}/{name}"] for split in COUNTS])
        for name in ("edges", "distance")
    )
    assert len(edges) == 8**6 and len(np.unique(edge_sets(edges))) == 8**6
    assert (edges[:, :, 0] < edges[:, :, 1]).all() and edges.max() == 7
    # As many pairs at each distance d as there are: ordered paths of d + 1 of 8 people, times the
    # (d + 1) 8^(6 - d) ways to hang the others on.
    ways = [math.perm(8, d + 1) * (d + 1) * 8 ** (7 - d) // 8 for d in range(8)]
    assert np.bincount(distance.ravel()).tolist() == ways
    trees = np.arange(8**6)[:, None]
    assert (distance[trees, edges[:, :, 0], edges[:, :, 1]] == 1).all()
    np.testing.assert_array_equal(distance, distance.swapaxes(1, 2))


def test_splits_are_drawn_by_the_seed(prepared, tmp_path, capsys):
    datasets, _ = prepared
    for split, count in COUNTS.items():
        # A person has 7 * 2 / 8 edges on average: the deviation over 10,000 trees is 0.01.
        of_person = np.bincount(datasets[f"{split}/edges"].ravel()) / count
        assert abs(of_person - 1.75).max() < 0.04
        first_half = np.bincount(datasets[f"{split}/edges"][: count // 2].ravel()) / (count // 2)
        assert abs(first_half - 1.75).max() < 0.06
    assert prepare(tmp_path / "a", "--seed", "1", "--valid", "20000") == 0
    assert re.search(r"valid +20,000 trees\ntest +26,214 trees", capsys.readouterr().out)
    other, _ = contents(tmp_path / "a")
    tests = [set(edge_sets(data["test/edges"]).tolist()) for data in (datasets, other)]
    # A tenth of a tenth in common: 2,621, standard deviation 46.
    assert 2_300 < len(tests[0] & tests[1]) < 2_900
    assert prepare(tmp_path / "b", "--seed", "1", "--valid", "20000") == 0
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
