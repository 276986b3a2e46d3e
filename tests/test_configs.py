"""Every experiment of configs/, in every variant, builds and trains."""

import importlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from absl import flags
from ml_collections import config_flags

from rrn.data import read_prepared
from rrn.tasks import create_task
from rrn.training.fields import check_config
from rrn.training.unused import check_used
from tests.helpers import CPUS, ROOT, load_config, make_trainer

# The file of config.data.path -> the fixture with a small one of its kind.
DATA = {
    "ages": "ages_h5",
    "babi": "small_babi_h5",
    "babi_like_released": "simulated_babi_h5",
    "babi_simulated_3": "simulated_babi_h5",
    "mnist": "small_digits_h5",
    "pretty_clevr": "small_scenes_h5",
    "pretty_clevr_64": "small_scenes_h5",
    "pretty_clevr_128": "small_scenes_h5",
    "sudoku": "small_sudoku_h5",
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
MOST = {"num_steps": 2, "num_parts": 2, "width": 4}


def shorten(config):
    """Cuts the fields of `MOST`, in the model and in the options of every stage."""
    options = [stage["options"] for stage in config.train.stages if "options" in stage]
    for fields in (config.model, *options):
        for name in MOST.keys() & fields.keys():
            fields[name] = min(fields[name], MOST[name])


@pytest.mark.parametrize(("file", "variant"), list(experiments()))
def test_two_updates_of_every_stage(file, variant, request):
    config = load_config(file, variant)
    fixture = DATA[Path(config.data.path).stem]
    if config.model.get("relabel") and config.task == "babi":  # needs every name in some story
        fixture = "simulated_babi_h5"
    path = request.getfixturevalue(fixture)
    config.data.path = str(path)
    config.train.batch_size = 4
    shorten(config)
    data = read_prepared(path)
    task = create_task(config, data)
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


@pytest.mark.parametrize(("file", "variant"), list(experiments()))
def test_every_field_that_a_recipe_sets_is_known_and_used(file, variant):
    config = load_config(file, variant)
    check_config(config)
    check_used(config)


def read_flags(monkeypatch, *arguments):
    """The config that `main.py` reads from its command line."""
    values, argv = flags.FlagValues(), ["main.py", *arguments]
    monkeypatch.setattr("sys.argv", argv)
    holder = config_flags.DEFINE_config_file("config", flag_values=values)
    values(argv)
    return holder.value


def test_a_stages_fields_are_set_from_the_command_line(monkeypatch):
    file = f"--config={ROOT}/configs/sudoku.py:cpu"
    path = "--config.train.stages"
    own = f"{path}[0].num_updates=100", f"{path}[2].learning_rate=0.5"
    config = read_flags(monkeypatch, file, *own, f"{path}[1].options.num_steps=7")
    stages = load_config("sudoku.py", "cpu").train.stages
    stages[0]["num_updates"], stages[2]["learning_rate"] = 100, 0.5
    stages[1]["options"]["num_steps"] = 7
    assert config.train.stages == stages
    check_used(config)
    config = read_flags(monkeypatch, file, "--config.train.num_updates=100")
    with pytest.raises(ValueError, match=r"^train\.num_updates: not used.*stages\[0\]\.num_upd"):
        check_used(config)


@pytest.mark.parametrize("file", sorted({param.values[0] for param in experiments()}))
def test_an_unknown_variant_is_an_error(file):
    with pytest.raises(ValueError, match=r"variants.*'nonsense'"):
        load_config(file, "nonsense")


@pytest.mark.parametrize("file", sorted({param.values[0] for param in experiments()}))
def test_variants_change_values_but_no_fields(file):
    fields = None
    for param in experiments():
        if param.values[0] == file:
            groups = load_config(*param.values).to_dict().items()
            names = {(g, f) for g, v in groups for f in (v if isinstance(v, dict) else [""])}
            assert fields in (None, names)
            fields = names


def test_a_config_elsewhere_is_made_of_the_same_fields(tmp_path):
    """From another folder, which has a package `configs` of its own."""
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs" / "__init__.py").touch()
    (tmp_path / "own.py").write_text(
        "from configs import babi\n\n"
        "def get_config():\n"
        "    config = babi.get_config()\n"
        "    config.evaluate.split = 'valid'\n"
        "    return config\n"
    )
    command = [sys.executable, ROOT / "main.py", "--config=own.py", "--config.train.repeats=2"]
    done = subprocess.run(
        [*command, "--mode=evaluate", "an argument"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    # The config has been read, its field changed; TensorFlow is not imported yet.
    assert "unexpected arguments: an argument" in done.stderr
