"""What `predict` is given: taken as it is meant, or refused by name, also by a traced function."""

import numpy as np
import pytest
import tensorflow as tf

from rrn.tasks.task import Task


class Asks(Task):
    """A task that only answers; what it answers is what it was given."""

    num_examples = make_batch = loss = None

    def __init__(self):
        super().__init__(None, tf.Module(name="network"))

    def inputs(self):
        return {
            "text": tf.TensorSpec([None], tf.string),
            "place": tf.TensorSpec([None, 2], tf.float32),
            "image": tf.TensorSpec([None, None], tf.uint8),
            "asked": tf.TensorSpec([None], tf.int32),
        }

    def ranges(self):
        return {"place": ([0, 0], [1, 9]), "asked": (0, 7)}

    def answers(self, inputs):
        return inputs


RIGHT = {
    "text": ["a", "b"],
    "place": [[0.0, 9.0], [1.0, 0.5]],
    "image": [[0, 255, 3], [1, 2, 3]],
    "asked": [0, 7],
}


def test_numbers_and_texts_are_taken_as_people_have_them():
    given = {"text": np.array(["a", "b"]), "place": np.array([[0, 9], [1, 0]])}
    given = {**RIGHT, **given, "asked": np.array([0, 7], np.int64)}
    dtypes = {name: spec.dtype for name, spec in Asks().inputs().items()}
    for inputs in RIGHT, given, {**RIGHT, "place": np.array(RIGHT["place"])}:
        taken = Asks().predict(inputs)
        assert {name: value.dtype for name, value in taken.items()} == dtypes
        assert taken["asked"].numpy().tolist() == [0, 7]
        assert taken["image"].numpy().tolist() == RIGHT["image"]
        np.testing.assert_array_equal(taken["place"], np.float32(inputs["place"]))


WRONG_CALLS = [
    ({"asked": 3}, r"Asks.predict: asked must be int32 of shape \(None,\), got .* shape \(\)"),
    ({"asked": [[3, 3]]}, r"asked must be .*, got int32 of shape \(1, 2\)"),
    ({"asked": [0.0, 1.0]}, r"asked must be int32 .*, got float32 of shape \(2,\)"),
    ({"asked": [True, False]}, r"asked must be int32 .*, got bool"),
    ({"asked": None}, r"asked must be int32 .*, got NoneType"),
    ({"text": [1, 2]}, r"text must be string .*, got int32"),
    ({"place": [[1.0], [1.0, 2.0]]}, r"place must be float32 of shape \(None, 2\), got list"),
    ({"unknown": [0]}, r"inputs must be a dict with text, .*, got .*unknown"),
]
WRONG_VALUES = [
    ({"asked": [0, 1, 2]}, r"must be of the same number of examples"),
    ({"asked": [0, 8]}, r"asked must be from 0 to 7"),
    ({"asked": np.array([0, 2**32])}, r"asked must be from 0 to 7"),
    ({"asked": [-1, 8]}, r"asked must be from 0 to 7"),
    ({"place": [[1.0, 9.0], [9.0, 1.0]]}, r"place must be from \[0, 0\] to \[1, 9\]"),
    ({"place": [[1.0, 9.0], [np.nan, 1.0]]}, r"place must be from \[0, 0\] to \[1, 9\]"),
    ({"image": [[0, 256], [0, 0]]}, r"image must be from 0 to 255"),
]


@pytest.mark.parametrize(("changed", "message"), WRONG_CALLS + WRONG_VALUES)
def test_what_is_wrong_is_named(changed, message):
    with pytest.raises(ValueError, match=message):
        Asks().predict({**RIGHT, **changed})


@pytest.mark.parametrize("inputs", [{}, [1], {"text": ["a"]}])
def test_names_are_those_of_the_inputs(inputs):
    with pytest.raises(ValueError, match="inputs must be a dict with text, place, image, asked"):
        Asks().predict(inputs)


def test_what_only_a_run_knows_is_refused_there():
    specs = {**Asks().inputs(), "image": tf.TensorSpec([None, None], tf.int64)}
    specs["asked"] = tf.TensorSpec(None, tf.int64)
    traced = tf.function(Asks().predict, input_signature=[specs], autograph=False)

    def call(changed):
        values = {**RIGHT, **changed}
        return traced({n: tf.cast(tf.constant(v), specs[n].dtype) for n, v in values.items()})

    assert call({})["asked"].numpy().tolist() == [0, 7]
    for changed, message in WRONG_VALUES:
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            call(changed)
    with pytest.raises(tf.errors.InvalidArgumentError, match="with expected shape"):
        call({"asked": [[0, 1]]})


def test_a_task_without_inputs_has_no_predict():
    class Nothing(Asks):
        inputs, ranges, answers = Task.inputs, Task.ranges, Task.answers

    with pytest.raises(NotImplementedError, match="Nothing has no predict"):
        Nothing().predict({"asked": [3]})
