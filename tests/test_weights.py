"""Weights in HDF5."""

import os

import h5py
import numpy as np
import pytest
import tensorflow as tf

from rrn.layers import MLP
from rrn.weights import load_weights, save_weights


def variables_of(*sizes, name="mlp"):
    return list(MLP(sizes, name=name).trainable_variables)


def test_round_trip(tmp_path):
    path, ours, theirs = tmp_path / "weights.h5", variables_of(3, 4, 2), variables_of(3, 4, 2)
    save_weights(path, ours, {"config": "a.py", "update": 7})
    load_weights(path, theirs)
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(a, b)
    with h5py.File(path) as file:  # readable without TensorFlow
        assert dict(file.attrs) == {"config": "a.py", "update": 7}
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
    wanted = {variable.name.removesuffix(":0"): tuple(variable.shape) for variable in ours}
    found = {variable.name.removesuffix(":0"): tuple(variable.shape) for variable in others}
    differing = {n for n in wanted.keys() | found.keys() if wanted.get(n) != found.get(n)}
    assert len(differing) >= 3 and "extra" in differing
    for name in differing:
        assert f"{name}: the model has {wanted.get(name, 'no such variable')}" in str(error.value)
        assert f"the file {found.get(name, 'no such data set')}" in str(error.value)
    for name in wanted.keys() - differing:
        assert name not in str(error.value)
    for variable, value in zip(ours, before, strict=True):
        np.testing.assert_array_equal(variable, value)


@pytest.mark.parametrize(
    ("content", "message"),
    [(None, "no such file"), (b"", "not a readable"), (b"not HDF5", "not a readable")],
)
def test_what_is_not_a_weights_file_is_an_error(tmp_path, content, message):
    path = tmp_path / "weights.h5"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ValueError, match=rf"weights\.h5: {message}"):
        load_weights(path, variables_of(2, 1))


def test_an_interrupted_write_leaves_the_earlier_file(tmp_path):
    class Broken:
        name = "mlp/linear_9/w:0"

        def __array__(self, *args, **kwargs):
            raise KeyboardInterrupt

    path, ours, theirs = tmp_path / "weights.h5", variables_of(3, 2), variables_of(3, 2)
    save_weights(path, ours, {"update": 1})
    with pytest.raises(KeyboardInterrupt):
        save_weights(path, [*theirs, Broken()], {"update": 2})
    load_weights(path, theirs)
    np.testing.assert_array_equal(theirs[0], ours[0])
    save_weights(path, theirs, {"update": 3})
    with h5py.File(path) as file:
        assert file.attrs["update"] == 3


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
