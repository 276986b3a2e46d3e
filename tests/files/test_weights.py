"""Weights in HDF5."""

import os

import h5py
import numpy as np
import pytest
import tensorflow as tf

from rrn.files.weights import Weights, load_weights, read_weights, save_weights
from rrn.nn.layers import MLP


def variables_of(*sizes, name="mlp"):
    return list(MLP(sizes, name=name).trainable_variables)


def test_round_trip(tmp_path):
    path, ours, theirs = tmp_path / "weights.h5", variables_of(3, 4, 2), variables_of(3, 4, 2)
    save_weights(path, ours, {"config": "a.py", "update": 7, "sizes": [3, 4], "of": {"a": 1}})
    load_weights(path, theirs)
    assert read_weights(path).attributes["sizes"] == [3, 4]
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(a, b)
    with h5py.File(path) as file:  # readable without TensorFlow
        json = {"sizes": "[3, 4]", "of": '{"a": 1}'}
        assert dict(file.attrs) == {"config": "a.py", "update": 7, **json}
        assert file["mlp/linear_1/w"].shape == (4, 2)
        np.testing.assert_array_equal(file["mlp/linear_0/w"], ours[1])
    assert os.listdir(tmp_path) == ["weights.h5"]


def test_every_difference_is_listed_and_nothing_is_changed(tmp_path):
    path, ours = tmp_path / "weights.h5", variables_of(3, 4, 2)
    others = [*variables_of(3, 5, 2)[:3], tf.Variable([1.0], name="extra")]
    save_weights(path, others, {})
    before = [variable.numpy() for variable in ours]
    with pytest.raises(ValueError, match="not this model's weights") as error:
        load_weights(path, ours)
    assert str(error.value).splitlines()[1:] == [
        "  extra: the model has no such variable, the file (1,)",
        "  mlp/linear_0/b: the model has (4,), the file (5,)",
        "  mlp/linear_0/w: the model has (3, 4), the file (3, 5)",
        "  mlp/linear_1/w: the model has (4, 2), the file no such data set",
    ]
    for variable, value in zip(ours, before, strict=True):
        np.testing.assert_array_equal(variable, value)


def test_two_variables_of_one_name_are_an_error(tmp_path):
    (w, _, *others), path = variables_of(3, 4, 2), tmp_path / "weights.h5"
    save_weights(path, [w, *others, w], {})  # one that two modules share
    other = tf.Variable(w, name=w.name.removesuffix(":0"))
    for call in save_weights, load_weights:
        with pytest.raises(ValueError, match=f"two variables are called {other.name[:-2]}"):
            call(path, [w, *others, other])


def test_variables_that_a_file_may_lack_keep_their_values(tmp_path):
    path = tmp_path / "weights.h5"
    there, new = tf.Variable([1.0, 2.0], name="there"), tf.Variable([3.0], name="new")
    save_weights(path, [there])
    there.assign([0.0, 0.0])
    with pytest.raises(ValueError, match="new: the model has"):
        load_weights(path, [there, new])
    assert load_weights(path, [there, new], optional=[new]) == ["new"]
    assert there.numpy().tolist() == [1.0, 2.0] and new.numpy().tolist() == [3.0]
    save_weights(path, [there, new])
    new.assign([0.0])
    assert load_weights(path, [there, new], optional=[new]) == []
    assert new.numpy().tolist() == [3.0]


def full_weights(path):
    words = np.array(["mary", "über", "?"], object)
    constants = {"words": words, "shares": np.array([0.5, 0.25])}
    attributes = {"update": 7, "model": {"size": 3, "blocks": [[1, 2], [4]]}}
    save_weights(path, variables_of(3, 4, 2), attributes, constants)
    return path


def test_what_describes_the_model_comes_back(tmp_path):
    weights = read_weights(full_weights(tmp_path / "weights.h5"))
    assert weights.attributes == {"update": 7, "model": {"size": 3, "blocks": [[1, 2], [4]]}}
    assert weights.constants["words"].tolist() == ["mary", "über", "?"]
    assert weights.constants["shares"].tolist() == [0.5, 0.25]
    assert weights.arrays.keys() == {f"mlp/linear_{i}/{p}" for i in (0, 1) for p in "bw"}


def test_the_sha256_of_weights_is_of_names_shapes_and_values():
    w = np.ones([2, 3], np.float32)
    others = {"v": w}, {"w": w.T}, {"w": 2 * w}, {"w": w, "b": w}
    digests = {Weights("", arrays, {}, {}).sha256() for arrays in ({"w": w}, *others)}
    assert len(digests) == 5
    assert Weights("other.h5", {"w": w.copy()}, {}, {"update": 3}).sha256() in digests


def test_a_missing_or_damaged_file_is_named(tmp_path):
    path = full_weights(tmp_path / "weights.h5")
    with h5py.File(path, "r+") as file:
        file["mlp/linear_0/w"][1, 2] += 1
    with pytest.raises(ValueError, match=r"weights\.h5: damaged"):
        load_weights(path, variables_of(3, 4, 2))
    with pytest.raises(ValueError, match=r"none\.h5: no such file; a run writes it after"):
        read_weights(tmp_path / "none.h5")


def test_only_finite_float32_is_written(tmp_path):
    path = full_weights(tmp_path / "weights.h5")
    before = path.read_bytes()
    for variable, message in (
        (tf.Variable([1.0, np.nan], name="a"), r"a\[1\] is nan; expected finite weights"),
        (tf.Variable([1.0, np.inf], name="a"), r"a\[1\] is inf; expected finite weights"),
        (tf.Variable([1.0], name="a", dtype=tf.float64), "a: expected float32"),
    ):
        with pytest.raises(ValueError, match=message):
            save_weights(path, [variable])
    assert path.read_bytes() == before and os.listdir(tmp_path) == ["weights.h5"]
