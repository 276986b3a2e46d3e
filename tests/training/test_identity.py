"""A run is one thing, and knows its parts."""

import dataclasses
import json
import shutil
from pathlib import Path

import pytest

from rrn.config import replace
from rrn.data_prep import hdf5
from rrn.files.weights_file import read_weights, write_weights
from rrn.training import Request, run
from rrn.training.identity import differences, digest, identity, program_differences
from rrn.training.workdir import Workdir
from tests.helpers import ROOT, load_config, make_small

FIELDS = {
    "config": "a.py",
    "train": {"stages": [{"num_updates": 5}, {"num_updates": 7}]},
    "evaluate": {"split": "test"},
}


def longer(number, stage=1):
    stages = [dict(stage) for stage in FIELDS["train"]["stages"]]
    stages[stage]["num_updates"] = number
    return {**FIELDS, "train": {"stages": stages}}


def test_what_makes_a_run_another():
    one = identity(FIELDS, "d1")
    assert differences(one, identity({**FIELDS, "evaluate": {"split": "valid"}}, "d1")) == []
    assert differences(one, identity(FIELDS, "d2")) == ["  run.data_sha256: d1 there, d2 wanted"]
    other = {**one, "run": {**one["run"], "commit": "c2", "tensorflow": "9"}}
    assert differences(one, other) == [] and digest(one) == digest(other)
    assert [line.split()[0] for line in program_differences(one, other)] == [
        "run.commit:",
        "run.tensorflow:",
    ]
    for fields in {**FIELDS, "config": "b.py"}, longer(9, stage=0):
        assert digest(identity(fields, "d1")) != digest(one)
    assert digest(identity(FIELDS, "d2")) != digest(one)


def test_a_run_may_be_longer_in_its_last_stage_alone():
    one, more = identity(FIELDS, "d"), identity(longer(9), "d")
    line = "  train.stages.1.num_updates: 7 there, 9 wanted"
    assert differences(one, more) == [line]
    assert differences(one, more, may_be_longer=True) == []
    assert differences(more, one, may_be_longer=True)
    assert differences(one, identity(longer(9, stage=0), "d"), may_be_longer=True)
    assert digest(one) == digest(more)


@pytest.fixture(scope="module")
def request_(small_babi_h5, tmp_path_factory):
    """A run of two updates, to its end."""
    folder = tmp_path_factory.mktemp("one")
    data = shutil.copy(small_babi_h5, folder / "babi.h5")
    config = make_small(load_config("babi.py", "test"), data)
    config = replace(config, train={"num_updates": 2, "log_every_updates": 1})
    config = replace(config, train={"evaluate_every_updates": 1}, model={"num_steps": 1})
    found = Request(config, "babi", folder / "run", devices="cpu")
    run(found)
    return found


@pytest.fixture
def copied(request_, tmp_path):
    """The same run in a folder of its own, with data of its own under the run's path."""
    shutil.copytree(request_.workdir, tmp_path / "run")
    return dataclasses.replace(request_, workdir=tmp_path / "run")


def both(request):
    return request, dataclasses.replace(request, mode="evaluate")


def change_weights(path, change):
    weights = read_weights(path)
    write_weights(dataclasses.replace(weights, attributes=change(dict(weights.attributes))))


def with_other_seed(attributes):
    return {**attributes, "run": {**attributes["run"], "seed": 99}}


def without_run(attributes):
    return {name: value for name, value in attributes.items() if name != "run"}


@pytest.mark.slow
def test_a_run_without_its_last_checkpoints_does_not_begin_anew(copied):
    shutil.rmtree(copied.workdir / "checkpoints/last")
    with pytest.raises(ValueError, match=r"checkpoints/last: gone, .*--restart"):
        run(copied)
    assert not (copied.workdir / "earlier-1").exists()


@pytest.mark.slow
def test_other_data_under_the_same_path_are_refused(copied):
    path = Path(copied.config.data.path)
    content, found = path.read_bytes(), hdf5.read(path)
    hdf5.write(path, found.datasets, {**found.attributes, "notes": "other"})
    try:
        for request in both(copied):
            with pytest.raises(ValueError, match=r"holds a run on other data; put its data back,"):
                run(request)
    finally:
        path.write_bytes(content)


@pytest.mark.slow
@pytest.mark.parametrize("change", [with_other_seed, without_run])
def test_weights_of_another_run_are_refused(copied, change):
    change_weights(copied.workdir / "weights.h5", change)
    for request in both(copied):
        with pytest.raises(ValueError, match=r"weights\.h5: (another run|does not say which)"):
            run(request)


@pytest.mark.slow
def test_published_weights_are_not_the_runs(copied):
    shutil.copy(ROOT / "pretrained/babi.h5", copied.workdir / "weights.h5")
    for request in both(copied):
        with pytest.raises(ValueError, match=r"weights\.h5: another run wrote it"):
            run(request)


@pytest.mark.slow
def test_metrics_and_checkpoints_of_another_run_are_refused(copied):
    file = copied.workdir / "metrics.jsonl"
    text = file.read_text()
    name = json.loads(text.splitlines()[0])["run"]
    file.write_text(text.replace(name, "0" * 16))
    for request in both(copied):
        with pytest.raises(ValueError, match=r"metrics\.jsonl, line 1: another run wrote it"):
            run(request)
    file.write_text(text)
    # The folder of a run of another seed, and with its files all but the checkpoints.
    config = replace(copied.config, seed=99)
    other = dataclasses.replace(copied, config=config)
    path = copied.workdir / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "seed": 99}))
    (copied.workdir / "weights.h5").unlink()
    file.unlink()
    with pytest.raises(
        ValueError, match=r"ckpt-2: another run wrote it;(.*\n)+  seed: 0 there, 99"
    ):
        run(other)


@pytest.mark.slow
def test_a_finished_run_goes_on_with_more_updates_alone(copied, capsys):
    config = replace(copied.config, train={"num_updates": 3})
    more = dataclasses.replace(copied, config=config)
    with pytest.raises(ValueError, match=r"num_updates: 2 there, 3 wanted"):
        run(dataclasses.replace(more, mode="evaluate"))
    for fields in {"batch_size": 3}, {"learning_rate": 9.0}:
        with pytest.raises(ValueError, match="holds a run of another config"):
            run(dataclasses.replace(more, config=replace(config, train=fields)))
    run(more)
    assert f"{copied.workdir}: made for 2 updates, goes on to 3" in capsys.readouterr().out
    lines = Workdir(copied.workdir).metrics()
    assert [line["update"] for line in lines if "split" not in line] == [1, 2, 3]
    assert len({line["run"] for line in lines}) == 1
    with pytest.raises(ValueError, match=r"num_updates: 3 there, 2 wanted"):
        run(copied)


@pytest.mark.slow
def test_a_run_of_an_earlier_checkout_goes_on(copied, capsys):
    """It says nothing of its data and program, nor do its parts; another program is told."""
    path = copied.workdir / "config.json"
    config = json.loads(path.read_text())
    path.write_text(json.dumps({**config, "run": {**config["run"], "rrn": "0.0.1"}}))
    run(copied)
    said = capsys.readouterr().out
    assert "another program has made the run so far:\n  run.rrn: 0.0.1 there, " in said
    assert json.loads(path.read_text()) == config
    path.write_text(json.dumps(without_run(config)))
    change_weights(copied.workdir / "weights.h5", without_run)
    for request in both(copied):
        run(request)
    assert "run" not in json.loads(path.read_text())
