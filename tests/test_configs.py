"""Every experiment of configs/ builds and trains."""

import functools
import importlib
import re

import numpy as np
import pytest
import tensorflow as tf

from rrn.config import replace
from rrn.config_file import look_up, read_config
from rrn.files.data import read_prepared
from rrn.tasks import create_task
from tests.helpers import CPUS, ROOT, load_config, make_trainer, shrink


def experiments():
    for path in sorted((ROOT / "configs").glob("[!_]*.py")):
        for variant in importlib.import_module(f"configs.{path.stem}").RECIPES:
            yield path.name, variant


def test_there_are_experiments():
    found = set(experiments())
    assert {("babi.py", ""), ("babi.py", "quick"), ("sudoku.py", "test")} <= found
    assert {("completion.py", "full_loss"), ("vgg19.py", "quick"), ("triplet.py", "")} <= found


# Fields that make no other graph, or the same one with another number in it.
FIXED = {"initial_bias": True, "kernel_deviation": True}
OF_NO_GRAPH = {"data": True, "evaluate": True, "variables": True, "model": FIXED}
OF_NO_GRAPH["train"] = {"stages", "validation_examples"}
OF_NO_STAGE = {"name": True, "error_share": True, "error_power": True, "group_shares": True}
OF_NO_STAGE["objectives"] = {"__all__": {"schedule", "l2", "clip_norm"}}


def form(settings, without):
    """The settings as text, in which every number above 0 and every list of numbers is 1."""
    text = settings.model_dump_json(exclude=without)
    text = re.sub(r"(?<=[:\[,])(?!0(\.0)?[,\]}])[\d.e-]+", "1", text)
    return re.sub(r"\[1(,1)*\]", "[1]", text)


def different():
    """The stages with a graph of their own: (file, variant, name).

    A stage that differs from an earlier one of its file in numbers, in the schedule of its learning
    rate or in how examples are drawn has the same graph.
    """
    seen = set()
    for file, variant in experiments():
        config = shrink(load_config(file, variant))
        for stage in config.train.stages:
            of_all = form(config, OF_NO_GRAPH)
            of_stage = form(stage, OF_NO_STAGE)
            if (file, of_all, of_stage) not in seen:
                seen.add((file, of_all, of_stage))
                yield file, variant, stage.name


read_once = functools.cache(read_prepared)  # the simulated stories are many


@pytest.fixture
def unoptimized():
    """What runs twice is not worth that TensorFlow makes its graph faster."""
    tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": True})
    yield
    tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": False})


@pytest.mark.slow
@pytest.mark.parametrize(("file", "variant", "name"), list(different()))
def test_two_updates_of_every_form_of_stage(file, variant, name, small_data, unoptimized):
    config = shrink(load_config(file, variant))
    (stage,) = [stage for stage in config.train.stages if stage.name == name]
    train = {"batch_size": 4, "stages": [stage]}
    config = replace(config, data={"path": str(small_data(config))}, train=train)
    data = read_once(config.data.path)
    task = create_task(config.model, data)
    trainer, inputs = make_trainer(config, data, task, CPUS[:1])
    names = [variable.name for variable in trainer.model_variables]
    expected = [name for name in names if "node_readout" in name]
    assert [variable.name for variable in task.training_only()] == expected
    batches = [next(iter(dataset)) for dataset in inputs]
    before = {v.name: v.numpy() for v in trainer.model_variables}
    trainer.update_once(batches)  # what comes before a layer that starts at zero stays
    metrics, finite = trainer.update_once(batches)
    (stage,) = trainer.plan.stages
    losses = [metrics[objective.label("loss")][0] for objective in stage.objectives]
    assert finite and np.isfinite(losses).all()
    after = {v.name: v.numpy() for v in trainer.model_variables}
    changed = {name for name, old in before.items() if (old != after[name]).any()}
    assert changed == {v.name for v in stage.trained()}
    assert trainer.update == 2


def test_a_stages_fields_are_set_from_the_command_line():
    file, path = f"{ROOT}/configs/sudoku.py:candidates", "train.stages"
    changes = [(f"{path}[0].num_updates", "100"), (f"{path}[2].learning_rate", "0.5")]
    found = read_config(file, [*changes, (f"{path}[1].options.num_steps", "7")]).train.stages
    first, second, third, last = load_config("sudoku.py", "candidates").train.stages
    assert found == (
        replace(first, num_updates=100),
        replace(second, options={**second.options, "num_steps": 7}),
        replace(third, learning_rate=0.5),
        last,
    )


def test_a_stages_options_are_given_whole():
    first, _, stories, *_, last = load_config("babi.py", "hour").train.stages
    assert first.options == {"augment_below": 5_000, "max_facts": 24, "auxiliary_facts": 3}
    assert stories.options == {"augment_below": 5_000, "max_facts": 24}
    assert last.options == {"auxiliary": False}


def test_a_field_of_all_stages_is_set_from_the_command_line():
    file = f"{ROOT}/configs/completion.py:quick"
    config = read_config(file, [("train.learning_rate", "0.5"), ("train.num_updates", "3")])
    objectives = [o for stage in config.train.stages for o in stage.objectives]
    assert [objective.learning_rate for objective in objectives] == [0.5] * 4
    assert [stage.num_updates for stage in config.train.stages] == [3] * 3


def test_a_file_without_variants_has_none():
    with pytest.raises(ValueError, match=r"^variants are none, got 'nope'$"):
        look_up({"": None})("nope")
