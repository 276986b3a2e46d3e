"""Settings: values that are checked when they are made, replaced and changed by text."""

from typing import ClassVar, Literal

import numpy as np
import pytest
from pydantic import ValidationError

from rrn.config import Experiment, MuonSettings, Objective, Segments, Stage, Train
from rrn.settings import Count, Number, Settings, change, create, in_words, replace
from tests.helpers import load_config

ONE = Objective(learning_rate=0.1)
STAGES = (
    Stage(name="one", num_updates=2, objectives=(ONE,)),
    Stage(name="two", num_updates=3, objectives=(ONE, replace(ONE, loss="b"))),
)
TRAIN = Train(batch_size=4, stages=STAGES, evaluate_every_updates=1, checkpoint_every_updates=1)


def error_of(function, *arguments, **fields):
    with pytest.raises(ValueError) as error:
        function(*arguments, **fields)
    found = error.value
    return in_words(found) if isinstance(found, ValidationError) else str(found)


def test_a_setting_is_declared_in_one_place():
    """A new field alone has its default and range, and files keep it.

    Recipes and the command line reach it.
    """

    class NewStage(Stage):
        tolerance: Count = 3  # the only line

    class NewTrain(Train):
        ITEMS: ClassVar = ("stages", NewStage)
        stages: tuple[NewStage, ...]

    usual = {"num_updates": 1, "learning_rate": 0.1, "evaluate_every_updates": 1}
    train = NewTrain(batch_size=1, checkpoint_every_updates=1, **usual)
    assert train.stages[0].tolerance == 3
    assert replace(train, tolerance=5).stages[0].tolerance == 5
    assert change(train, "tolerance", "7").stages[0].tolerance == 7
    assert train.model_dump()["stages"][0]["tolerance"] == 3
    message = "stages[0].tolerance: Input should be greater than or equal to 1, got 0"
    assert error_of(change, train, "tolerance", "0") == message


def test_settings_do_not_change():
    with pytest.raises(ValidationError, match="frozen"):
        ONE.learning_rate = 0.2
    other = replace(ONE, learning_rate=0.2)
    assert (ONE.learning_rate, other.learning_rate) == (0.1, 0.2)


def test_what_belongs_to_items_is_given_to_each():
    train = replace(TRAIN, clip_norm=1.0, num_updates=9, optimizer=MuonSettings(exclude="x"))
    objectives = [objective for stage in train.stages for objective in stage.objectives]
    assert [stage.num_updates for stage in train.stages] == [9, 9]
    assert [o.clip_norm for o in objectives] == [1.0] * 3
    assert [o.loss for o in objectives] == ["loss", "loss", "b"]  # the rest is as it was
    again = replace(train, optimizer={"weight_decay": 0.1})
    assert again.stages[1].objectives[1].optimizer == MuonSettings(exclude="x", weight_decay=0.1)
    one = Train(
        batch_size=1,
        num_updates=5,
        learning_rate=0.1,
        evaluate_every_updates=1,
        checkpoint_every_updates=1,
    )
    assert one.stages == (Stage(num_updates=5, objectives=(ONE,)),)


def test_a_dict_in_the_place_of_settings_has_what_is_new():
    config = load_config("sudoku.py", "gpu")
    other = replace(config, model={"num_steps": 4}, train={"segments": {"max_segments": 9}})
    assert other.model == replace(config.model, num_steps=4)
    assert other.train.stages[0].segments == Segments(max_segments=9, leave_probability=0.7)
    assert replace(config, train={"segments": None}).train.stages[0].segments is None


# path, text -> the value that is then there
CHANGES = {
    "integer": ("batch_size", "7", lambda train: train.batch_size, 7),
    "number": ("learning_rate", "1e-3", lambda t: t.stages[1].objectives[1].learning_rate, 1e-3),
    "one stage": (
        *("stages[1].num_updates", "8", lambda t: [s.num_updates for s in t.stages], [2, 8]),
    ),
    "one objective": (
        *("stages[1].objectives[0].loss", "5"),  # a text, though it is a number
        *(lambda t: [o.loss for o in t.stages[1].objectives], ["5", "b"]),
    ),
    "of every stage": (
        *("objectives[0].l2", "0.5", lambda t: [s.objectives[0].l2 for s in t.stages], [0.5, 0.5]),
    ),
    "none": ("segments", "None", lambda train: train.stages[0].segments, None),
    "in none": (
        *("stages[0].segments.max_segments", "3"),
        *(lambda train: train.stages[0].segments, Segments(max_segments=3)),
    ),
    "kind": ("optimizer", "muon", lambda t: t.stages[0].objectives[0].optimizer, MuonSettings()),
    "option": ("stages[0].options.exact", "true", lambda t: t.stages[0].options, {"exact": True}),
    "tuple": ("modules", "('encoder',)", lambda t: t.stages[0].objectives[0].modules, ("encoder",)),
}


@pytest.mark.parametrize("case", CHANGES)
def test_a_text_changes_a_field(case):
    path, text, found, expected = CHANGES[case]
    before = TRAIN.model_dump()
    assert found(change(TRAIN, path, text)) == expected
    assert TRAIN.model_dump() == before


# path, text -> what the line begins with: the field, and what is wrong
WRONG = [
    ("rate", "1", "rate: no such field; fields are batch_size, "),
    (".", "1", ".: no such field; fields are batch_size, "),
    ("batchsize", "1", "batchsize: no such field; did you mean batch_size?"),
    ("stages[2].name", "a", "stages[2]: no such item; there are 2, from 0 on"),
    ("batch_size", "many", "batch_size: Input should be a valid integer, got 'many'"),
    ("batch_size", "True", "batch_size: "),
    ("batch_size", "0", "batch_size: Input should be greater than or equal to 1, got 0"),
    ("l2", "nan", "stages[0].objectives[0].l2: "),
    ("optimizer", "sgd", "stages[0].objectives[0].optimizer: "),
    ("optimizer.exclude", "x", "stages[0].objectives[0].optimizer.adam.exclude: no such field"),
    ("schedule", "staircase", "stages[0].objectives[0].schedule.staircase.decay_rate: "),
    ("stages[1].name", "../a", "stages[1].name: "),
    ("stages[1].name", "one", "stages: expected stages of different names; several are one"),
    ("stages", "()", "stages: "),
    ("stages[0]", "{'objectives': 3, 'l2': 0.1}", "stages[0].objectives: "),
    ("stages[0]", "{'objectives': (3,), 'l2': 0.1}", "stages[0].objectives[0]: "),
    ("kind", "3", "kind: no such field"),
    ("modules", "(1,)", "stages[0].objectives[0].modules[0]: "),
    ("segments.max_segments", "1", "stages[0].segments.max_segments: "),
]


@pytest.mark.parametrize(("path", "text", "message"), WRONG)
def test_what_does_not_fit_is_named_in_one_line(path, text, message):
    found = error_of(change, TRAIN, path, text)
    assert found.startswith(message) and "\n" not in found and len(found) < 500


@pytest.mark.parametrize("wrong", [-1, 10**20, np.nan, np.inf, True, "1", None, 1j])
@pytest.mark.parametrize("name", ["batch_size", "num_updates", "clip_norm"])
def test_what_is_no_number_or_out_of_range_is_an_error(name, wrong):
    found = error_of(replace, TRAIN, **{name: wrong})
    assert f"{name}: " in found and found.endswith(f", got {wrong!r}")


def test_settings_of_a_file_are_checked():
    class Model(Settings):
        kind: Literal["small", "large"] = "small"
        sizes: tuple[int, ...] = (1,)
        weight: Number = 0.0

    assert create(Model, {"weight": 1}, "model").weight == 1.0  # an integer is a number
    assert error_of(create, Model, {"kind": "huge"}, "model").startswith("model.kind: ")
    assert error_of(create, Model, {"size": 1}, "model").startswith("model.size: no such field")
    assert error_of(create, Model, [], "model").startswith("model: ")
    assert error_of(create, Experiment, {}).startswith("model: ")
