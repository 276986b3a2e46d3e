"""Every experiment of configs/ builds and trains."""

import functools
import importlib
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from rrn.config import replace
from rrn.config_file import read_config
from rrn.files.data import read_prepared
from rrn.recipes import look_up
from rrn.tasks import create_task
from tests.helpers import CPUS, ROOT, load_config, make_trainer

# The file of config.data.path -> the fixture with a small one of its kind.
DATA = {
    "ages": "ages_h5",
    "babi": "small_babi_h5",
    "babi_1k": "small_babi_h5",
    "babi_like_released": "simulated_babi_h5",
    "babi_simulated_3": "simulated_babi_h5",
    "mnist": "small_digits_h5",
    "pretty_clevr": "small_scenes_h5",
    "pretty_clevr_64": "small_scenes_h5",
    "pretty_clevr_128": "small_scenes_h5",
    "sudoku": "small_sudoku_h5",
    "sudoku_hard": "small_sudoku_h5",
}


def experiments():
    for path in sorted((ROOT / "configs").glob("[!_]*.py")):
        for variant in importlib.import_module(f"configs.{path.stem}").RECIPES:
            yield pytest.param(path.name, variant, id=f"{path.stem}:{variant}")


def test_there_are_experiments():
    names = {param.id for param in experiments()}
    assert {"babi:", "babi:quick", "babi:simulated", "babi:test"} <= names
    assert {"sudoku:", "sudoku:quick", "sudoku:test"} <= names
    assert {"completion:", "completion:quick", "babi:frozen_encoders"} <= names
    assert {"mnist_cnn:", "mnist_cnn:quick", "vgg19:", "vgg19:quick"} <= names
    assert {"completion:full_loss", "triplet:", "triplet:test"} <= names


# What takes long to trace or to compute, and makes no difference to which stage trains what: field
# of `model`, or a stage's option -> the most of it. VGG19 needs gigabytes in its own width.
MOST = {"num_steps": 2, "num_parts": 2, "width": 4, "hidden_size": 16, "max_facts": 8}


read_once = functools.cache(read_prepared)  # the simulated stories are many


def shorten(config):
    """Cuts the fields of `MOST`, in the model and in the options of every stage."""

    def cut(fields):
        return {n: min(value, MOST[n]) for n, value in fields.items() if n in MOST}

    stages = [
        replace(stage, options={**stage.options, **cut(stage.options)})
        for stage in config.train.stages
    ]
    return replace(config, model=cut(dict(config.model)), train={"stages": stages})


def different():
    """The experiments but for those that differ from an earlier one in numbers above 0 alone."""
    seen = set()
    for param in experiments():
        config = replace(shorten(load_config(*param.values)), data={"path": "any.h5"})
        numbers = r"(?<=[:\[,])(?!0(\.0)?[,\]}])[\d.e-]+"
        form = param.values[0], re.sub(numbers, "1", config.model_dump_json())
        if form not in seen:
            seen.add(form)
            yield param


@pytest.fixture
def unoptimized():
    """What runs twice is not worth that TensorFlow makes its graph faster."""
    tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": True})
    yield
    tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": False})


@pytest.mark.slow
@pytest.mark.parametrize(("file", "variant"), list(different()))
def test_two_updates_of_every_stage(file, variant, request, unoptimized):
    config = load_config(file, variant)
    fixture = DATA[Path(config.data.path).stem]
    if config.task == "babi" and config.model.augment:  # needs every name in some story
        fixture = "simulated_babi_h5"
    path = request.getfixturevalue(fixture)
    config = replace(config, data={"path": str(path)}, train={"batch_size": 4})
    config = shorten(config)
    data = read_once(path)
    task = create_task(config.model, data)
    trainer, inputs = make_trainer(config, data, task, CPUS[:1])
    names = [variable.name for variable in trainer.model_variables]
    expected = [name for name in names if "node_readout" in name]
    assert [variable.name for variable in task.training_only()] == expected
    batches = [next(iter(dataset)) for dataset in inputs]
    for stage in trainer.plan.stages:
        trainer.update.assign(stage.first)
        reported, _ = trainer.traced[stage.name].structured_outputs
        for pair in reported.values():  # `Trainer.train` adds them up
            assert all(part.shape.is_fully_defined() for part in pair)
        before = {v.name: v.numpy() for v in trainer.model_variables}
        trainer.update_once(batches)  # what comes before a layer that starts at zero stays
        metrics, finite = trainer.update_once(batches)
        losses = [metrics[objective.label("loss")][0] for objective in stage.objectives]
        assert finite and np.isfinite(losses).all()
        after = {v.name: v.numpy() for v in trainer.model_variables}
        changed = {name for name, old in before.items() if (old != after[name]).any()}
        assert changed == {v.name for v in stage.trained()}
        assert trainer.update == stage.first + 2


def test_a_stages_fields_are_set_from_the_command_line():
    file, path = f"{ROOT}/configs/sudoku.py:cpu", "train.stages"
    changes = [(f"{path}[0].num_updates", "100"), (f"{path}[2].learning_rate", "0.5")]
    found = read_config(file, [*changes, (f"{path}[1].options.num_steps", "7")]).train.stages
    first, second, third = load_config("sudoku.py", "cpu").train.stages
    assert found == (
        replace(first, num_updates=100),
        replace(second, options={"num_steps": 7}),
        replace(third, learning_rate=0.5),
    )


def test_a_field_of_all_stages_is_set_from_the_command_line():
    file = f"{ROOT}/configs/completion.py:quick"
    config = read_config(file, [("train.learning_rate", "0.5"), ("train.num_updates", "3")])
    objectives = [o for stage in config.train.stages for o in stage.objectives]
    assert [objective.learning_rate for objective in objectives] == [0.5] * 4
    assert [stage.num_updates for stage in config.train.stages] == [3] * 3


@pytest.mark.parametrize("file", sorted({param.values[0] for param in experiments()}))
def test_an_unknown_variant_is_an_error(file):
    with pytest.raises(ValueError, match=r"variants.*'nonsense'"):
        load_config(file, "nonsense")


def test_a_file_without_variants_has_none():
    with pytest.raises(ValueError, match=r"^variants are none, got 'nope'$"):
        look_up({"": None})("nope")


def test_a_config_elsewhere_is_made_of_the_same_fields(tmp_path):
    """From another folder, which has a package `configs` of its own."""
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs" / "__init__.py").touch()
    (tmp_path / "own.py").write_text(
        "from configs import babi\nfrom rrn.config import replace\n\n"
        "def get_config():\n"
        "    return replace(babi.get_config(), evaluate={'split': 'valid'})\n"
    )
    command = [sys.executable, ROOT / "main.py", "--config=own.py", "--config.train.batch_size=2"]
    done = subprocess.run(
        [*command, "--mode=evaluate", "an argument"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    # The config has been read, its field changed; TensorFlow is not imported yet.
    assert "unexpected arguments: an argument" in done.stderr
