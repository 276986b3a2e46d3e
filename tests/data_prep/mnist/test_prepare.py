"""The MNIST data set: how it is split, and the digits that take its place."""

import numpy as np
import pytest

from rrn.data_prep.layout import SPLITS
from rrn.data_prep.mnist import digits as mnist_digits
from rrn.data_prep.mnist import prepare as mnist
from tests.data_prep.helpers import contents
from tests.data_prep.mnist.helpers import prepare, prepare_rendered


def test_the_seed_draws_the_validation_digits(folder, tmp_path):
    for name, seed in (("a", "1"), ("b", "1"), ("c", "2")):
        assert prepare(folder, tmp_path / name, "--seed", seed) == 0
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    a, c = (contents(tmp_path / name)[0]["valid/image"] for name in "ac")
    assert not np.array_equal(a, c)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--valid", "40"), "--valid 40: leaves none of the 40 training digits for training"),
        (("--counts", "30,10"), "--counts: only digits that are --rendered"),
    ],
)
def test_wrong_options(folder, tmp_path, capsys, options, message):
    assert prepare(folder, tmp_path / "m.h5", *options) == 1
    assert message in capsys.readouterr().err and not (tmp_path / "m.h5").exists()


def test_rendered_data_set(tmp_path, monkeypatch, capsys):
    used = []

    def draw(labels, fonts, rng):
        used.append(fonts)
        return mnist_digits.draw(labels, fonts, rng)

    monkeypatch.setattr(mnist, "draw", draw)
    for name, seed in (("a", "1"), ("b", "1"), ("c", "2")):
        options = ("--counts", "1200,300", "--valid", "200", "--seed", seed)
        assert prepare_rendered(tmp_path / name, *options) == 0
    a, b, c = ((tmp_path / name).read_bytes() for name in "abc")
    assert a == b != c
    datasets, attributes = contents(tmp_path / "a")
    notes = "digits rendered in 14 fonts, not MNIST"
    expected = {"schema": "mnist", "version": 1, "source": "rendered", "sha256": ""}
    assert attributes == {**expected, "notes": notes, "seed": 1}
    assert notes in capsys.readouterr().out
    shapes = {name: array.shape for name, array in datasets.items()}
    for split, count in (("train", 1000), ("valid", 200), ("test", 300)):
        assert shapes.pop(f"{split}/image") == (count, 28, 28)
        assert shapes.pop(f"{split}/label") == (count,)
    assert not shapes and all(array.dtype == np.uint8 for array in datasets.values())
    of_training = np.append(datasets["train/label"], datasets["valid/label"])
    for labels in (of_training, datasets["test/label"]):
        assert (np.bincount(labels) == len(labels) // 10).all()
        assert 0.04 < np.mean(labels[1:] == labels[:-1]) < 0.17  # in no order
    assert not np.array_equal(contents(tmp_path / "c")[0]["test/image"], datasets["test/image"])
    everywhere = np.concatenate([datasets[f"{split}/image"] for split in SPLITS])
    assert len(np.unique(everywhere, axis=0)) == 1500
    # 4,500 digits in 14 fonts: 321 each, standard deviation 17.
    times = np.bincount(np.concatenate(used))
    assert len(times) == 14 and times.min() > 230 and times.max() < 410
