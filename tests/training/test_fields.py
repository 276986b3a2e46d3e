"""What the fields of a config may be."""

import copy
import dataclasses
import math

import numpy as np
import pytest

from configs import Evaluate, Train
from rrn.optimizers import DECAYS, OPTIMIZERS
from rrn.tasks import find_task, task_names
from rrn.training.fields import (
    EVALUATE_FIELDS,
    SHARED_OBJECTIVE_FIELDS,
    SHARED_STAGE_FIELDS,
    STAGE_FIELDS,
    TRAIN_FIELDS,
    check_config,
    check_train,
)
from tests.helpers import load_config

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


def config(evaluate=EVALUATE, policy="cpu", axis="longest", **fields):
    return {
        "task": "ages",
        "seed": 0,
        "data": {"path": "ages.h5"},
        "model": dict(load_config("ages.py").model),
        "train": train(**fields),
        "evaluate": evaluate,
        "variables": {"policy": policy, "axis": axis, "encoder_device": "cpu"},
    }


def error_of(check, *arguments):
    with pytest.raises(ValueError) as error:
        check(*arguments)
    return str(error.value)


@pytest.mark.parametrize(("data", "fields"), [(Train, TRAIN_FIELDS), (Evaluate, EVALUATE_FIELDS)])
def test_the_table_has_the_fields_of_the_config_and_their_types(data, fields):
    assert {f.name: f.type for f in dataclasses.fields(data)} == {
        name: field.type for name, field in fields.items()
    }


def test_the_table_has_every_optimizer_and_decay():
    """It names them, so as to need no TensorFlow."""
    assert SHARED_OBJECTIVE_FIELDS["optimizer"].choices == tuple(OPTIMIZERS)
    assert SHARED_OBJECTIVE_FIELDS["decay"].choices == DECAYS


def test_every_task_has_a_table_with_a_compute_dtype():
    for task in task_names():
        assert find_task(task).FIELDS["compute_dtype"].choices == ("float32", "bfloat16")


def test_what_fits_is_taken():
    check_config(config())
    check_config(config(stages=[], learning_rate=1))  # lists are tuples, integers are numbers


NUMBERS = [
    *(("train", name) for name, field in TRAIN_FIELDS.items() if field.type in (int, float)),
    *(("evaluate", name) for name, field in EVALUATE_FIELDS.items() if field.type in (int, float)),
]


@pytest.mark.parametrize("wrong", [-1, 10**20, math.nan, math.inf, -math.inf, True, "1", None])
@pytest.mark.parametrize(("part", "name"), NUMBERS)
def test_what_is_no_number_or_out_of_range_is_named(part, name, wrong):
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
    "least": ({"batch_size": 0}, "train.batch_size: expected an integer from 1 to 65,536, got 0"),
    "integer": (
        {"repeats": 8.0},
        "train.repeats: expected an integer from 1 to 1,000,000,000, got",
    ),
    "below": (
        {"average_decay": 1.0},
        "train.average_decay: expected a number from 0 to below 1, got 1.0",
    ),
    "most": ({"decay_rate": 1.5}, "train.decay_rate: expected a number from 1e-06 to 1, got 1.5"),
    "NumPy's": ({"l2": np.float32(1)}, "train.l2: expected a number from 0 to 1,000,000,000, got"),
    "digits": (
        {"repeats": 10**5000},
        "train.repeats: expected an integer from 1 to 1,000,000,000, got an integer of 16,610 bits",
    ),
    "choice": (
        {"optimizer": "sgd"},
        "train.optimizer: expected one of adam, rmsprop, muon, got 'sgd'",
    ),
    "string": ({"muon_exclude": 3}, "train.muon_exclude: expected a string, got 3"),
    "stages": ({"stages": {"name": "one"}}, "train.stages: expected a tuple, got {'name': "),
    "stage": ({"stages": ("one",)}, "train.stages[0]: expected a dict, got 'one'"),
    "no updates": (
        {"stages": (), "num_updates": 0},
        "train.num_updates: expected at least 1, got 0",
    ),
    "unknown": ({"rate": 1}, "train.rate: no such field; fields are batch_size, "),
}


@pytest.mark.parametrize("case", TRAIN_MESSAGES)
def test_what_is_wrong_in_train_is_said(case):
    changes, message = TRAIN_MESSAGES[case]
    assert error_of(check_train, {**train(), **changes}).startswith(message)


STAGE_MESSAGES = {
    "number": ({"learning_rate": -1}, "learning_rate: expected a number from 0 to "),
    "choice": (
        {"decay": "line"},
        "decay: expected one of constant, cosine, exponential, staircase, got",
    ),
    "one module": (
        {"modules": "network"},
        "modules: expected a tuple, got 'network'",
    ),
    "module": ({"modules": (1,)}, "modules[0]: expected a string, got 1"),
    "name": ({"name": "../a"}, "name: expected a string like [A-Za-z_][A-Za-z0-9_]*, got '../a'"),
    "same name": ({"name": "first"}, "name: two stages cannot both be 'first'"),
    "updates": ({"num_updates": 0}, "num_updates: expected at least 1, got 0"),
    "option": (
        {"options": {"num_steps": 0}},
        "options.num_steps: expected an integer from 1 to 256",
    ),
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
    assert message.startswith("variables.policy: expected one of auto, cpu, first_device, ")
    message = error_of(check_config, config(axis="rows"))
    assert message == "variables.axis: expected one of longest, 0, 1, 2, 3, got 'rows'"
    message = error_of(check_config, config(policy="cpu", axis="0"))
    assert message == "variables.axis: policy cpu cuts nothing; expected 'longest', got '0'"


WHOLE_MESSAGES = {
    "task": ({"task": "babe"}, "task: expected one of ages, babi, "),
    "seed": (
        {"seed": 10**10},
        "seed: expected an integer from 0 to 2,000,000,000, got 10000000000",
    ),
    "path": ({"data": {"path": 3}}, "data.path: expected a string like .+, got 3"),
    "empty path": ({"data": {"path": ""}}, "data.path: expected a string like .+, got ''"),
    "no path": ({"data": {}}, "data.path: missing, expected a string like .+"),
    "part": ({"model": 3}, "model: expected a dict, got 3"),
    "other part": ({"modle": {}}, "modle: no such field; fields are task, seed, data, model, "),
}


@pytest.mark.parametrize("case", WHOLE_MESSAGES)
def test_what_is_wrong_in_the_whole_is_said(case):
    changes, message = WHOLE_MESSAGES[case]
    assert error_of(check_config, {**config(), **changes}).startswith(message)
    del (lacking := config())["variables"]
    assert error_of(check_config, lacking) == "variables: missing, expected a dict"


MODEL_NUMBERS = [
    (task, name)
    for task in task_names()
    for name, field in find_task(task).FIELDS.items()
    if field.type in (int, float)
]


@pytest.mark.parametrize("wrong", [-1, 10**10, 10**400, math.nan, True, "1"])
@pytest.mark.parametrize(("task", "name"), MODEL_NUMBERS)
def test_a_models_fields_are_checked(task, name, wrong):
    own = {"model": {name: wrong}}
    message = error_of(check_config, {**config(), "task": task, **own})
    assert message.startswith(f"model.{name}: expected a") and message.endswith(f", got {wrong!r}")


def test_a_models_tuples_are_checked():
    model = dict(load_config("completion.py").model)
    for own, message in (
        ({"hole": (0.5,)}, "model.hole: expected a tuple of 2 items, got (0.5,)"),
        ({"hole": (0.25, 1)}, "model.hole[1]: expected a number from 0.01 to below 1, got 1"),
        ({"dilations": (2, 0)}, "model.dilations[1]: expected an integer from 1 to 256, got 0"),
    ):
        whole = {**config(), "task": "completion", "model": {**model, **own}}
        assert error_of(check_config, whole) == message


def test_a_stage_may_set_what_an_objective_may():
    assert SHARED_OBJECTIVE_FIELDS.keys() < STAGE_FIELDS.keys()
