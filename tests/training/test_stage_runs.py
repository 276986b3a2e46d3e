"""Runs in stages, which stop and resume."""

import json
import runpy
import shutil

import h5py
import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.eager import context

from rrn import config as settings
from rrn.config import Evaluate, replace
from rrn.files.weights import read_weights
from rrn.tasks.inputs import training_inputs
from rrn.training import Request, setup
from rrn.training.evaluate import evaluate
from rrn.training.step import Trainer
from rrn.training.train import train
from rrn.training.workdir import Workdir
from rrn.training.worker_updates import AsynchronousUpdates
from tests.test_docs import blocks_of
from tests.training.contest import STAGES, ContestModel, ContestReport, ContestTask, contest_config


class LineData:
    path, attributes, digest = "line.h5", {"notes": ""}, ""

    def __init__(self, task):
        self._arrays = task.arrays

    def arrays(self, split):
        y = self._arrays["y"] + {"train": 0.0, "valid": 100.0, "test": 200.0}[split]
        return {**self._arrays, "y": y}

    def check_compatible(self, other):
        assert other is self


@pytest.fixture(scope="module")
def config():
    """The contest's."""
    train = contest_config(
        checkpoint_every_updates=5, log_every_updates=2, evaluate_every_updates=10
    )
    return settings.Experiment(
        model=ContestModel(),
        seed=1,
        data=settings.Data(path="line.h5"),
        train=train,
        evaluate=Evaluate(batch_size=12, examples=10),
    )


@pytest.fixture(scope="module")
def train_in(config):
    """A function: folder -> the contest is trained in it, as a new process does.

    It returns with which options pipelines were traced.
    """
    traced = []

    def create(model, data):
        assert context.global_seed() == config.seed
        return ContestTask()

    def record(*args, options, **settings):
        assert args[4] == config.seed
        traced.append(options)
        return training_inputs(*args, options=options, **settings)

    def train_in(folder, devices="cpu", sync=True, **fields):
        changed = replace(config, train=fields)
        traced.clear()
        train(Request(changed, "contest", folder, devices=devices, sync=sync))
        return list(traced)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(setup, "read_prepared", lambda path: LineData(ContestTask()))
        patch.setattr(setup, "create_task", create)
        patch.setattr(setup, "create_report", ContestReport)
        patch.setattr(setup, "training_inputs", record)
        patch.setattr(Workdir, "save_figures", lambda *_: [])  # drawing takes a second
        yield train_in


@pytest.fixture(scope="module")
def whole(train_in, tmp_path_factory):
    """(A run's folder, with which options its pipelines were traced)."""
    folder = tmp_path_factory.mktemp("whole")
    return folder, train_in(folder)


def test_a_stage_may_set_what_its_batches_are_made_with(whole):
    exact = {"exact": True}
    assert whole[1] == [exact, {}]  # two of the three stages have the same options
    task = ContestTask()
    (inputs,) = training_inputs(task, task.arrays, 6, 1, 0, 0, options=exact)
    assert not next(iter(inputs))["noise"].numpy().any()


class Killed(Exception):
    pass


def test_a_run_killed_in_any_stage_goes_on_to_the_same_bits(whole, train_in, tmp_path, monkeypatch):
    whole, killed = whole[0], tmp_path
    several = Trainer.train
    for last in (7, 13):  # in "judge", in "both"

        def until(trainer, iterators, num_updates, last=last):
            if trainer.update + tf.cast(num_updates, tf.int64) > last:
                raise Killed
            return several(trainer, iterators, num_updates)

        monkeypatch.setattr(Trainer, "train", until)
        with pytest.raises(Killed):
            train_in(killed)
    monkeypatch.setattr(Trainer, "train", several)
    with Workdir(killed).locked(), pytest.raises(ValueError, match="trains there"):
        train_in(killed)
    train_in(killed)
    files = ["weights.h5", *(f"weights_{stage['name']}.h5" for stage in STAGES)]
    for file in files:
        with h5py.File(whole / file) as a, h5py.File(killed / file) as b:
            assert dict(a.attrs) == dict(b.attrs)
            for name in ("encoder_linear", "embedding", "network_linear", "judge"):
                for part in a[name]:
                    np.testing.assert_array_equal(a[f"{name}/{part}"][()], b[f"{name}/{part}"][()])
    results = [json.loads((folder / "results.json").read_text()) for folder in (whole, killed)]
    assert [one.pop("made")["update"] for one in results] == [15, 15]
    assert results[0] == results[1] and results[0]["examples"] == 10
    check_files(whole, results[0])


def test_devices_that_do_not_wait_resume_after_a_kill(train_in, tmp_path, monkeypatch):
    several, calls = AsynchronousUpdates.train, []
    one = contest_config(({**STAGES[0], "num_updates": 15},)).stages

    def until(updates, num_updates):
        calls.append(num_updates)
        if len(calls) == 5:
            raise Killed
        return several(updates, num_updates)

    monkeypatch.setattr(AsynchronousUpdates, "train", until)
    with pytest.raises(Killed):
        train_in(tmp_path, "cpu:2", sync=False, stages=one)
    train_in(tmp_path, "cpu:2", sync=False, stages=one)
    lines = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    training = [line for line in lines if "split" not in line]
    updates = [line["update"] for line in training]
    assert updates == sorted({*updates}) and updates[-1] == 15
    for line, count in zip(training, np.diff([0, *updates]), strict=True):
        assert len(line["staleness_counts"]) == 5 and sum(line["staleness_counts"]) == count
        assert 0 <= line["staleness"] <= line["staleness_max"]


def test_a_loss_that_is_not_finite_ends_devices_that_do_not_wait(train_in, tmp_path):
    (stage,) = contest_config(({**STAGES[0], "num_updates": 15, "learning_rate": 1e9},)).stages
    said = r"^update \d+: the loss or its gradient: not finite; .*/ckpt-0$"
    with pytest.raises(FloatingPointError, match=said):
        train_in(tmp_path, "cpu:2", sync=False, stages=(stage,), log_every_updates=15)
    assert not (tmp_path / "metrics.jsonl").exists() and not (tmp_path / "weights.h5").exists()


def test_weights_of_another_update_than_the_last_stages_end_have_results_of_their_own(
    whole, config, tmp_path
):
    """As after a run that was extended, and stopped before its end."""
    shutil.copytree(whole[0], tmp_path, dirs_exist_ok=True)
    (tmp_path / "weights.h5").write_bytes((tmp_path / "weights_fit.h5").read_bytes())
    evaluate(Request(config, "contest", tmp_path, mode="evaluate", devices="cpu"))
    results = json.loads((tmp_path / "results.json").read_text())
    by_stage = results["by_stage"]
    assert results["metrics"] == by_stage["fit"] != by_stage["both"]
    assert results["made"]["update"] == 5
    assert results["made"]["weights"] == read_weights(tmp_path / "weights.h5").sha256()


def check_files(folder, results):
    """What a run in stages says about them."""
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    training = [(line["update"], line["stage"]) for line in lines if "split" not in line]
    for line in lines:  # each split has y of its own
        assert 90**2 < line["mean_loss"] < 110**2 if "split" in line else abs(line["y"]) < 5
    assert 190**2 < results["metrics"]["loss"] < 210**2
    ends = [(4, "fit"), (5, "fit"), (9, "judge"), (10, "both")]
    assert set(ends) < set(training) and training[-1] == (15, "both")
    # Stages are validated where they end, too.
    assert [line["update"] for line in lines if "split" in line] == [5, 9, 10, 15]
    for stage, update in (("fit", 5), ("judge", 9), ("both", 15)):
        with h5py.File(folder / f"weights_{stage}.h5") as file:
            assert file.attrs["update"] == update
    with h5py.File(folder / "weights.h5") as file, h5py.File(folder / "weights_both.h5") as both:
        assert file.attrs["update"] == 15  # the last, though another stage's loss was lower
        np.testing.assert_array_equal(file["judge/w"][()], both["judge/w"][()])
    assert results["by_stage"].keys() == {"fit", "judge", "both"}
    assert results["by_stage"]["both"] == results["metrics"]
    assert results["by_stage"]["fit"]["loss"] == results["by_stage"]["judge"]["loss"]
    rows = json.loads((folder / "variables.json").read_text())
    stages = {row["name"]: row["stages"] for row in rows}
    assert stages["judge/w"] == ["judge", "both"] and stages["embedding/table"] == ["fit", "both"]
    config = json.loads((folder / "config.json").read_text())
    assert config["train"]["stages"][2]["objectives"][1]["learning_rate"] == 0.005


def test_the_python_of_stages_md_runs(tmp_path, monkeypatch, capsys):
    """Each stage lowers its loss; the discriminator's leaves the generator as it is."""
    (tmp_path / "code.py").write_text("\n".join(blocks_of("docs/guide/stages.md", "python")))
    monkeypatch.chdir(tmp_path)
    runpy.run_path("code.py")
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [line[0] for line in lines] == ["fit", "judge", "both"]
    pairs = [zip(line[1::2], map(float, line[2::2]), strict=True) for line in lines]
    fit, judge, both = map(dict, pairs)
    assert judge["judge"] < fit["judge"] and both["fool"] < judge["fool"]
    assert both["fit"] < 0.01 < judge["fit"]
