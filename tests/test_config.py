"""The settings that all experiments have in common, and those of every model."""

import pytest
from pydantic import ValidationError

from rrn import config, optimizers
from rrn.distribute.sharding import POLICIES
from rrn.hardware import faster_type
from rrn.settings import change, in_words
from rrn.tasks import find_task, task_names
from tests.helpers import load_config


@pytest.mark.parametrize("kind", [config.AdamSettings, config.RMSPropSettings, config.MuonSettings])
def test_an_optimizers_settings_are_its_arguments(kind):
    optimizer = getattr(optimizers, kind.__name__.removesuffix("Settings"))(
        [], **kind().model_dump(exclude={"kind"})
    )
    assert isinstance(optimizer, optimizers.Optimizer)


def test_a_policy_has_an_axis_where_it_cuts():
    sudoku = load_config("sudoku.py")
    for policy in ("auto", *POLICIES):
        found = change(sudoku, "variables.policy", policy).variables.policy
        assert found.kind == policy and hasattr(found, "axis") == (
            policy in ("fixed_shards", "balanced")
        )
    with pytest.raises(ValueError, match=r"^variables\.policy\.axis: no such field"):
        change(sudoku, "variables.policy.axis", "0")


@pytest.mark.parametrize("task", task_names())
def test_every_model_has_its_task_and_products_of_two_types(task):
    model = find_task(task).Model
    assert task == model.TASK
    for dtype in ("float32", "bfloat16"):
        assert model(compute_dtype=dtype).compute_dtype == dtype
    assert model(compute_dtype="auto").compute_dtype == faster_type()
    with pytest.raises(ValidationError) as error:
        model(compute_dtype="float16")
    assert in_words(error.value).startswith("compute_dtype: ")


# config file, field, text -> what the line begins with; None where it is right
MODELS = [
    ("completion.py", "hole", "[0.25, 0.5]", None),
    ("completion.py", "hole", "(0.5,)", "model.hole[1]: "),
    ("completion.py", "hole", "(0.25, 1)", "model.hole[1]: "),
    ("completion.py", "dilations", "(2, 0)", "model.dilations[1]: "),
    ("vgg19.py", "blocks", "((1,), 2)", "model.blocks[1]: "),
    ("babi.py", "hidden_size", "0", "model.hidden_size: "),
    ("babi.py", "num_steps", "257", "model.num_steps: "),
    ("babi.py", "readout_dropout", "1", "model.readout_dropout: "),
    ("babi.py", "augment", "1", "model.augment: "),
    ("pretty_clevr.py", "network", "cnn", "model.network: "),
    ("babi.py", "hidden", "1", "model.hidden: no such field; did you mean hidden_size?"),
]


@pytest.mark.parametrize(("file", "field", "text", "message"), MODELS)
def test_a_models_settings_are_checked(file, field, text, message):
    experiment = load_config(file)
    if message is None:
        assert getattr(change(experiment, f"model.{field}", text).model, field) == (0.25, 0.5)
        return
    with pytest.raises(ValueError) as error:
        change(experiment, f"model.{field}", text)
    assert str(error.value).startswith(message)


def test_the_dict_of_an_experiment_has_its_task():
    found = load_config("sudoku.py").to_dict()
    assert found["task"] == "sudoku" and found["model"]["hidden_size"] == 96
    assert found["train"]["stages"][0]["objectives"][0]["optimizer"] == {"kind": "adam"}
