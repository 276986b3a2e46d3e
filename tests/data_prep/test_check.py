"""The validators take what is prepared, and name what is wrong in it."""

import importlib

import numpy as np
import pytest

from rrn.data_prep import DataError, hdf5
from rrn.data_prep.__main__ import COMMANDS

SCHEMAS = {name: importlib.import_module(f"rrn.data_prep.{name}.schema") for name in COMMANDS}


@pytest.fixture(scope="module")
def prepared(small_babi_h5, small_sudoku_h5, small_scenes_h5, ages_h5, small_digits_h5):
    """The datasets of each data set."""
    paths = [small_babi_h5, small_sudoku_h5, small_scenes_h5, ages_h5, small_digits_h5]
    names = ["babi", "sudoku", "pretty_clevr", "ages", "mnist"]
    return {name: hdf5.read(path).datasets for name, path in zip(names, paths, strict=True)}


@pytest.mark.parametrize("name", SCHEMAS)
def test_what_is_prepared_is_valid(prepared, name):
    SCHEMAS[name].check(prepared[name])


def set_to(place, value):
    def change(array):
        array[place] = value
        return array

    return change


WRONG = [
    # The data set, one of its arrays, a change, and what is said.
    ("babi", "vocabulary", lambda a: a[::-1], "vocabulary: expected '<unk>' and then"),
    ("babi", "vocabulary", lambda a: a[:-1], r"tokens\[\d+, \d+\] is \d+; expected at least 0"),
    ("babi", "sentences/length", set_to(0, 0), r"length\[0\] is 0"),
    ("babi", "sentences/length", lambda a: a[1:], r"length: its shape .* with S = "),
    ("babi", "sentences/length", lambda a: a * 0 + 1, "0 after the sentence's end"),
    ("babi", "train/task", set_to(3, 2), r"train/task\[\d+\] is 1; expected tasks in order"),
    ("babi", "train/task", lambda a: a[:-1], r"train/story: its shape"),
    ("babi", "train/task", lambda a: a * 0, "train/task"),
    ("babi", "train/story", set_to(0, 1), r"train/story\[0\] is 1; expected stories in order"),
    ("babi", "train/story", lambda a: a * 0, "questions for all"),
    ("babi", "valid/question", set_to(0, 9999), r"valid/question\[0\] is 9999"),
    ("babi", "test/answer", set_to(0, -1), r"test/answer\[0\] is -1"),
    ("babi", "train/answer", set_to(0, 0), r"train/answer\[0\] is 0; expected at least 1"),
    ("babi", "train/num_facts", set_to(2, 99), r"train/num_facts\[2\] is 99"),
    ("babi", "train/facts", lambda a: a.astype(np.int64), "dtype is int64; expected int32"),
    ("babi", "train/story_start", set_to(-1, 3), "train/story_start: runs from 0 to 3"),
    ("babi", "train/supporting", set_to(0, 99), r"train/supporting\[0\] is 99"),
    ("babi", "train/supporting", lambda a: None, "train/supporting: missing"),
    ("sudoku", "train/solution", set_to((2, 5), 0), r"train/solution\[2\] is \[.*each digit once"),
    ("sudoku", "train/puzzle", lambda a: a % 9 + 1, "train/puzzle.*the digit of the solution"),
    ("sudoku", "valid/givens", lambda a: a[::-1], "valid/givens.*the number of the puzzle's"),
    ("sudoku", "test/pool_puzzle", set_to(0, 999), r"test/pool_puzzle\[0\] is 999"),
    ("sudoku", "test/pool", lambda a: a[::-1] % 10, "test/puzzle.*its pool's puzzle with permuted"),
    ("pretty_clevr", "train/colours", set_to((0, 0), 8), r"train/colours\[0\].*each of 0 to 7"),
    ("pretty_clevr", "train/markers", lambda a: a * 0, r"train/markers\[0\].*each of 0 to 7"),
    ("pretty_clevr", "train/positions", set_to((1, 2, 0), np.nan), r"positions\[1, 2, 0\] is nan"),
    ("pretty_clevr", "train/positions", lambda a: a * 0, "objects 0.1 apart"),
    ("pretty_clevr", "train/order", lambda a: a[:, ::-1], "the next nearest object"),
    ("pretty_clevr", "valid/images", lambda a: a[..., :2], "valid/images: its shape"),
    ("ages", "train/edges", lambda a: a[..., ::-1], "the lower one first"),
    ("ages", "train/edges", lambda a: a * 0 + [0, 1], "dtype"),
    ("ages", "train/edges", lambda a: a * np.uint8(0) + np.uint8([0, 1]), "edges that form a tree"),
    ("ages", "test/distance", set_to((3, 1, 1), 1), r"test/distance\[3, 1, 1\] is 1"),
    ("mnist", "train/label", set_to(0, 10), r"train/label\[0\] is 10"),
    ("mnist", "train/image", set_to(1, 0), r"train/image\[1\].*with ink"),
]


@pytest.mark.parametrize(("schema", "name", "change", "said"), WRONG)
def test_wrong_contents_are_named(prepared, schema, name, change, said):
    datasets = dict(prepared[schema])
    datasets[name] = change(datasets[name].copy())
    if datasets[name] is None:
        del datasets[name]
    with pytest.raises(DataError, match=said):
        SCHEMAS[schema].check(datasets)


@pytest.mark.parametrize("schema", SCHEMAS)
@pytest.mark.parametrize("split", ["train", "valid"])
def test_a_split_without_examples_is_refused(prepared, schema, split):
    datasets = {
        name: array[:0] if name.startswith(f"{split}/") else array
        for name, array in prepared[schema].items()
    }
    with pytest.raises(DataError, match=rf"{split}/\w+: empty; expected at least one example"):
        SCHEMAS[schema].check(datasets)


def test_each_tree_is_there_once(prepared):
    datasets = dict(prepared["ages"])
    for name in "test/edges", "test/distance":
        datasets[name] = np.concatenate([datasets[name][:1], datasets[name][:-1]])
    with pytest.raises(DataError, match="each of the 262,144 trees in one split, once"):
        SCHEMAS["ages"].check(datasets)
