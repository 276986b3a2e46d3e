"""Prepared files and how they fit together; the input pipelines are tested with the trainer."""

import numpy as np
import pytest

from rrn.data_prep import hdf5
from rrn.files.data import read_prepared
from rrn.tasks.inputs import evaluation_inputs, training_inputs
from tests.helpers import LineTask


def write(path, words, schema="words", version=1, **arrays):
    datasets = {name.replace("__", "/"): array for name, array in arrays.items()}
    if words:
        datasets["vocabulary"] = np.array(words, object)
    hdf5.write(path, datasets, {"schema": schema, "version": version, "notes": ""})
    return path


def test_integers_are_int32_and_images_bytes(tmp_path):
    arrays = {
        "train__label": np.arange(3, dtype=np.uint8),
        "train__cells": np.ones([3, 81], np.uint8),
        "train__image": np.full([3, 2, 2], 255, np.uint8),
        "test__x": np.zeros([2, 2, 2], np.float32),
    }
    data = read_prepared(write(tmp_path / "a.h5", ["a"], **arrays))
    types = {name: array.dtype for name, array in data.splits["train"].items()}
    assert types == {"label": np.int32, "cells": np.int32, "image": np.uint8}
    assert data.arrays("train")["image"].numpy().max() == 255
    assert data.arrays("test")["x"].dtype == "float32"
    assert "vocabulary" not in data.arrays("test")


def test_inputs_are_not_tuned():
    """The end of an iterator would wait for up to a minute."""
    task, devices, seed = LineTask(), 2, 0
    arrays = task.arrays
    inputs = training_inputs(task, arrays, 4, devices, seed, first_update=0)
    inputs += evaluation_inputs(task, arrays, np.arange(8), 4, devices, seed)
    assert [dataset.options().autotune.enabled for dataset in inputs] == [False] * 4


def test_a_file_may_have_other_splits_and_further_arrays(tmp_path):
    data = read_prepared(write(tmp_path / "a.h5", ["a", "b"], train__x=np.arange(5)))
    other = write(tmp_path / "b.h5", ["a", "b"], test__x=np.arange(3), test__y=np.ones([3, 2]))
    data.check_compatible(read_prepared(other))
    data.check_compatible(data)


def test_a_split_that_is_not_there_is_named(tmp_path):
    data = read_prepared(write(tmp_path / "a.h5", ["a"], train__x=np.ones(2), test__x=np.ones(2)))
    with pytest.raises(ValueError, match=r"split must be one of test, train, got 'valid'$"):
        data.arrays("valid")
    none = read_prepared(write(tmp_path / "b.h5", ["a"]))
    with pytest.raises(ValueError, match=r"split must be one of none, got 'valid'$"):
        none.arrays("valid")


@pytest.mark.parametrize(
    ("difference", "said"),
    [
        (
            {"words": ["b", "a"]},
            r"b\.h5: its vocabulary is not that of .*a\.h5: another order",
        ),
        ({"words": ["a", "c"]}, r"only one has b, c"),
        ({"words": None}, r"only one has a, b"),
        ({"schema": "letters"}, r"b\.h5: schema is 'letters', that of .*a\.h5 'words'"),
        ({"version": 2}, r"b\.h5: version is 2, that of .*a\.h5 1"),
        ({"test__image": np.ones([2, 8, 8])}, r"test/image: \(8, 8\) .*a\.h5 it is \(4, 4\)"),
        ({"test__label": np.ones([2])}, r"b\.h5: test/image: absent .* it is \(4, 4\)"),
    ],
)
def test_a_file_of_another_kind_is_an_error(difference, said, tmp_path):
    data = read_prepared(write(tmp_path / "a.h5", ["a", "b"], train__image=np.ones([3, 4, 4])))
    write(tmp_path / "b.h5", **{"words": ["a", "b"], **difference})
    with pytest.raises(ValueError, match=said):
        data.check_compatible(read_prepared(tmp_path / "b.h5"))
