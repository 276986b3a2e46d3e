"""What the fields of a config may be."""

import copy
import dataclasses
import math
from types import SimpleNamespace

import pytest

from configs import Evaluate, Train
from rrn.training.fields import (
    EVALUATE_FIELDS,
    SHARED_OBJECTIVE_FIELDS,
    SHARED_STAGE_FIELDS,
    STAGE_FIELDS,
    TRAIN_FIELDS,
    check_config,
    check_train,
)

EVALUATE = vars(Evaluate(batch_size=1))
OBJECTIVE = {"loss": "a", "modules": ("network",), "clip_norm": 1}
STAGES = (
    {"name": "one", "num_updates": 2, "options": {"num_steps": 2}, "learning_rate": 1e-3},
    {"name": "two", "objectives": (OBJECTIVE, {"loss": "b"})},
)


def train(**fields):
    given = {
        "batch_size": 1,
        "num_updates": 1,
        "learning_rate": 1e-3,
        "evaluate_every_updates": 1,
        "checkpoint_every_updates": 1,
    }
    return vars(Train(**{**given, "stages": copy.deepcopy(STAGES), **fields}))


def config(evaluate=EVALUATE, policy="cpu", **fields):
    return SimpleNamespace(train=train(**fields), evaluate=evaluate, variables={"policy": policy})


def error_of(check, *arguments):
    with pytest.raises(ValueError) as error:
        check(*arguments)
    return str(error.value)


@pytest.mark.parametrize(("data", "fields"), [(Train, TRAIN_FIELDS), (Evaluate, EVALUATE_FIELDS)])
def test_the_table_has_the_fields_of_the_config_and_their_types(data, fields):
    assert {f.name: f.type for f in dataclasses.fields(data)} == {
        name: field.type for name, field in fields.items()
    }


def test_what_fits_is_taken():
    check_config(config())
    check_config(config(stages=[], learning_rate=1))  # lists are tuples, integers are numbers


NUMBERS = [
    *(("train", name) for name, field in TRAIN_FIELDS.items() if field.type in (int, float)),
    *(("evaluate", name) for name, field in EVALUATE_FIELDS.items() if field.type in (int, float)),
]


@pytest.mark.parametrize("wrong", [-1, math.nan, math.inf, -math.inf, True, "1", None])
@pytest.mark.parametrize(("part", "name"), NUMBERS)
def test_numbers_that_are_none_and_numbers_too_small_are_named(part, name, wrong):
    if part == "train":
        message = error_of(check_config, config(**{name: wrong}))
    else:
        message = error_of(check_config, config({**EVALUATE, name: wrong}))
    assert message.startswith(f"{part}.{name}: expected a")
    assert message.endswith(f", got {wrong!r}")


@pytest.mark.parametrize("name", [*SHARED_STAGE_FIELDS, *SHARED_OBJECTIVE_FIELDS])
def test_a_stages_own_fields_are_checked(name):
    fields = train()
    fields["stages"][1][name] = math.nan
    message = error_of(check_train, fields)
    assert message.startswith(f"train.stages[1].{name}: expected ") and message.endswith("got nan")


@pytest.mark.parametrize("name", SHARED_OBJECTIVE_FIELDS)
def test_an_objectives_own_fields_are_checked(name):
    fields = train()
    fields["stages"][1]["objectives"][1][name] = math.nan
    message = error_of(check_train, fields)
    assert message.startswith(f"train.stages[1].objectives[1].{name}: expected ")


TRAIN_MESSAGES = {
    "least": ({"batch_size": 0}, "train.batch_size: expected an integer of at least 1, got 0"),
    "integer": (
        {"batch_size": 8.0},
        "train.batch_size: expected an integer of at least 1, got 8.0",
    ),
    "below": (
        {"average_decay": 1.0},
        "train.average_decay: expected a number of at least 0 and below 1, got 1.0",
    ),
    "most": (
        {"decay_rate": 1.5},
        "train.decay_rate: expected a number of at least 0 and at most 1, got 1.5",
    ),
    "choice": (
        {"optimizer": "sgd"},
        "train.optimizer: expected one of adam, rmsprop, muon, got 'sgd'",
    ),
    "string": ({"muon_exclude": 3}, "train.muon_exclude: expected a string, got 3"),
    "stages": ({"stages": {"name": "one"}}, "train.stages: expected a tuple, each item a dict, "),
    "stage": ({"stages": ("one",)}, "train.stages: expected a tuple, each item a dict, "),
    "unknown": ({"rate": 1}, "train.rate: no such field; fields are batch_size, "),
}


@pytest.mark.parametrize("case", TRAIN_MESSAGES)
def test_what_is_wrong_in_train_is_said(case):
    changes, message = TRAIN_MESSAGES[case]
    assert error_of(check_train, {**train(), **changes}).startswith(message)


STAGE_MESSAGES = {
    "number": ({"learning_rate": -1}, "learning_rate: expected a number of at least 0, got -1"),
    "choice": ({"decay": "line"}, "decay: expected one of constant, cosine, exponential, got"),
    "one module": (
        {"modules": "network"},
        "modules: expected a tuple, each item a string, got 'network'",
    ),
    "name": ({"name": 1}, "name: expected a string, got 1"),
    "options": ({"options": ("num_steps", 3)}, "options: expected a dict, got"),
    "of the run": ({"batch_size": 1}, "batch_size: no such field; fields are name, options, "),
    "of a stage": (
        {"objectives": ({"num_updates": 1},)},
        "objectives[0].num_updates: no such field; fields are loss, modules, ",
    ),
}


@pytest.mark.parametrize("case", STAGE_MESSAGES)
def test_what_is_wrong_in_a_stage_is_said(case):
    changes, message = STAGE_MESSAGES[case]
    stages = {"name": "first"}, {"name": "second", **changes}
    found = error_of(check_train, train(stages=stages))
    assert found.startswith(f"train.stages[1].{message}")


def test_what_is_wrong_in_evaluate_and_variables_is_said():
    message = error_of(check_config, config({**EVALUATE, "by_stage": 1}))
    assert message == "evaluate.by_stage: expected True or False, got 1"
    message = error_of(check_config, config(policy="gpu"))
    assert message.startswith("variables.policy: expected one of cpu, first_device, ")


def test_a_stage_may_set_what_an_objective_may():
    assert SHARED_OBJECTIVE_FIELDS.keys() < STAGE_FIELDS.keys()
