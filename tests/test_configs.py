"""Every experiment of configs/, in every variant, builds and trains."""

import importlib

import numpy as np
import pytest

from rrn.data import read_prepared
from rrn.tasks import create_task
from tests.helpers import CPUS, ROOT, load_config, make_trainer

DATA = {"babi": "small_babi_h5"}  # task -> the fixture with a small prepared file


def experiments():
    for path in sorted((ROOT / "configs").glob("*.py")):
        for variant in importlib.import_module(f"configs.{path.stem}").VARIANTS:
            yield pytest.param(path.name, variant, id=f"{path.stem}:{variant}")


def test_there_are_experiments():
    names = {param.id for param in experiments()}
    assert {"babi:", "babi:quick", "babi:simulated", "babi:test"} <= names


@pytest.mark.parametrize(("file", "variant"), list(experiments()))
def test_one_update(file, variant, request):
    config = load_config(file, variant)
    path = request.getfixturevalue(DATA[config.task])
    config.data.path = str(path)
    config.train.batch_size = 4
    data = read_prepared(path)
    task = create_task(config, data)
    trainer, inputs = make_trainer(config, data, task, CPUS[:1])
    before = [variable.numpy() for variable in trainer.model_variables]
    metrics, finite = trainer.update_once([next(iter(dataset)) for dataset in inputs])
    assert finite and np.isfinite(metrics["loss"][0])
    for old, variable in zip(before, trainer.model_variables, strict=True):
        assert (old != variable.numpy()).any(), variable.name
    assert trainer.update == 1


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
