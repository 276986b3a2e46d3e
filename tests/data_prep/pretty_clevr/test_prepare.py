"""Pretty-CLEVR's file: what it holds, and that its seed makes it."""

import re

import h5py
import numpy as np

from rrn.data_prep.pretty_clevr.images import COLOURS, MARKERS
from tests.data_prep.helpers import contents
from tests.data_prep.pretty_clevr.helpers import COUNTS, prepare


def test_data_set(prepared, tmp_path, capsys):
    datasets, attributes = contents(prepared)
    assert attributes == {"schema": "pretty_clevr", "version": 1, "notes": "", "seed": 0}
    assert datasets["colour_names"].tolist() == list(COLOURS)
    assert datasets["marker_names"].tolist() == list(MARKERS)
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
