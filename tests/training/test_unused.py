"""Fields that are set and not used."""

import dataclasses

import pytest
from ml_collections import ConfigDict

from configs import Evaluate, Train
from rrn.training.fields import SHARED_OBJECTIVE_FIELDS, SHARED_STAGE_FIELDS, check_train
from rrn.training.unused import UNSET, check_used

REQUIRED = {
    "batch_size": 1,
    "learning_rate": 1e-3,
    "evaluate_every_updates": 1,
    "checkpoint_every_updates": 1,
}
STAGES = (
    {"name": "a", "num_updates": 100},
    {"name": "b", "num_updates": 200, "learning_rate": 1e-4},
)
CONTEST = {
    "name": "contest",
    "num_updates": 9,
    "objectives": ({"loss": "x", "learning_rate": 1.0}, {"loss": "y", "learning_rate": 2.0}),
}


def make_config(by_stage=True, **train):
    evaluate = vars(Evaluate(batch_size=1, by_stage=by_stage))
    updates = {} if "stages" in train else {"num_updates": 1}
    stages = [{"name": f"stage_{i}", **stage} for i, stage in enumerate(train.get("stages", ()))]
    train = vars(Train(**{**REQUIRED, **updates, **train, "stages": tuple(stages)}))
    config = ConfigDict({"train": train, "evaluate": evaluate, "variables": {}})
    check_train(config.train)
    return config


def test_what_is_unset_is_so_in_the_config():
    assert UNSET.keys() == {**SHARED_STAGE_FIELDS, **SHARED_OBJECTIVE_FIELDS}.keys()
    usual = {field.name: field.default for field in dataclasses.fields(Train)}
    given = {name: value for name, value in UNSET.items() if name != "learning_rate"}
    assert given == {name: usual[name] for name in given}
    assert usual["learning_rate"] is dataclasses.MISSING  # every config gives it


USED = {
    "one stage": {"num_updates": 5, "decay": "exponential", "decay_rate": 0.9, "decay_updates": 2},
    "muon": {"num_updates": 5, "optimizer": "muon", "muon_exclude": "x", "muon_weight_decay": 0.1},
    "stages": {"stages": STAGES, "l2": 0.1, "by_stage": False},
    "staircase": {"num_updates": 5, "decay": "staircase", "decay_rate": 0.5, "decay_updates": 2},
    "by one of the stages": {
        "stages": ({"num_updates": 1, "decay": "exponential"}, {"num_updates": 1}),
        "decay_rate": 0.9,
        "decay_updates": 3,
    },
    "by one objective": {
        "stages": ({"num_updates": 1, "objectives": ({"learning_rate": 1.0}, {"loss": "y"})},)
    },
    "a stage's own": {
        "stages": ({"num_updates": 1, "max_segments": 2}, {"num_updates": 2}),
        "leave_probability": 0.9,
    },
    "unset": {"stages": (CONTEST,), "learning_rate": 0.0},
}


@pytest.mark.parametrize("case", USED)
def test_what_is_used_is_taken(case):
    check_used(make_config(**USED[case]))


UNUSED = {
    "num_updates": (
        {"stages": STAGES, "num_updates": 5},
        "train.num_updates: not used, got 5: leave it 0, and set train.stages[0].num_updates or "
        "train.stages[1].num_updates",
    ),
    "all objectives' own": (
        {"stages": (CONTEST,)},
        "train.learning_rate: not used, got 0.001: leave it 0.0, and set "
        "train.stages[0].objectives[0].learning_rate or "
        "train.stages[0].objectives[1].learning_rate",
    ),
    "a stage's": (
        {"stages": ({**CONTEST, "learning_rate": 3.0},), "learning_rate": 0.0},
        "train.stages[0].learning_rate: not used, got 3.0: leave it out, and set "
        "train.stages[0].objectives[0].learning_rate or "
        "train.stages[0].objectives[1].learning_rate",
    ),
    "a stage's loss": (
        {"stages": ({**CONTEST, "loss": "z"},), "learning_rate": 0.0},
        "train.stages[0].loss: not used, got 'z': leave it out, and set "
        "train.stages[0].objectives[0].loss or train.stages[0].objectives[1].loss",
    ),
    "muon_exclude": (
        {"muon_exclude": "x"},
        "train.muon_exclude: not used without optimizer muon, got 'x': leave it ''",
    ),
    "muon_weight_decay": (
        {"muon_weight_decay": 0.1},
        "train.muon_weight_decay: not used without optimizer muon, got 0.1: leave it 0.0",
    ),
    "decay_rate": (
        {"decay": "cosine", "decay_rate": 0.5},
        "train.decay_rate: not used without decay exponential or staircase, got 0.5: leave it 1.0",
    ),
    "decay_updates": (
        {"decay_updates": 7},
        "train.decay_updates: not used without decay exponential or staircase, got 7: leave it 0",
    ),
    "leave_probability": (
        {"leave_probability": 1.0},
        "train.leave_probability: not used without max_segments above 1, got 1.0: leave it 0.5",
    ),
    "a stage's decay_rate": (
        {"stages": ({"num_updates": 1, "decay_rate": 1.0},)},
        "train.stages[0].decay_rate: not used without decay exponential or staircase, got 1.0: "
        "leave it out",
    ),
    "by_stage": (
        {"by_stage": False},
        "evaluate.by_stage: not used without train.stages, got False",
    ),
}


@pytest.mark.parametrize("case", UNUSED)
def test_what_is_not_used_is_an_error_that_says_what_to_set(case):
    fields, message = UNUSED[case]
    with pytest.raises(ValueError) as error:
        check_used(make_config(**fields))
    assert str(error.value) == message
