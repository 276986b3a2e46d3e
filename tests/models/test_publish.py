"""Publishing weights: the results must be of these weights, and no weight changes."""

import json

import numpy as np
import pytest

from rrn.files.weights_file import Weights, read_weights, write_weights
from rrn.models.publish import card, main, publish

ATTRIBUTES = {"task": "ages", "config": "configs/ages.py", "update": 7}
ATTRIBUTES |= {"data": {"file": "ages.h5", "seed": 0}}
RESULTS = {"split": "test", "examples": 1000, "metrics": {"accuracy/all": 90.0}}


@pytest.fixture
def weights(tmp_path):
    path = tmp_path / "run" / "weights.h5"
    path.parent.mkdir()
    write_weights(Weights(str(path), {"w": np.ones([2, 3], np.float32)}, {}, ATTRIBUTES))
    return path


def results_of(weights, path):
    made = {"weights": read_weights(weights).sha256(), "update": 7}
    path.write_text(json.dumps({**RESULTS, "made": made}))


def test_the_results_beside_the_weights_go_into_the_file(weights, tmp_path):
    results_of(weights, weights.parent / "results.json")
    made = publish(weights, tmp_path / "out.h5", licence="Apache-2.0")
    np.testing.assert_array_equal(made.arrays["w"], np.ones([2, 3]))
    assert made.attributes == {**ATTRIBUTES, "results": RESULTS, "licence": "Apache-2.0"}
    assert "- On 1,000 examples of the test split: accuracy/all 90" in card(made)
    # What was published once has the same weights.
    assert publish(tmp_path / "out.h5", tmp_path / "again.h5").sha256() == made.sha256()


def test_results_of_other_weights_are_refused(weights, tmp_path, capsys):
    """As those of a run that has gone on since."""
    results, out = weights.parent / "results.json", tmp_path / "out.h5"
    results_of(weights, results)
    changed = Weights(str(weights), {"w": np.zeros([2, 3], np.float32)}, {}, ATTRIBUTES)
    write_weights(changed)
    assert main([str(weights), "--out", str(out)]) == 1 and not out.exists()
    assert f"error: {results}: of other weights than {weights}" in capsys.readouterr().err
    # Without them the file can be published.
    results.unlink()
    assert "results" not in publish(weights, out).attributes


def test_the_sha256_of_weights_is_of_names_shapes_and_values(weights):
    first = read_weights(weights)
    others = [
        {"v": first.arrays["w"]},
        {"w": first.arrays["w"].T},
        {"w": 2 * first.arrays["w"]},
        {**first.arrays, "b": np.zeros(1, np.float32)},
    ]
    digests = {Weights("", arrays, {}, {}).sha256() for arrays in others}
    assert len(digests) == 4 and first.sha256() not in digests
    assert Weights("other.h5", first.arrays, {}, {}).sha256() == first.sha256()
