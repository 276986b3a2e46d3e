"""The program that trains, in this process."""

import functools
import json
import signal
import subprocess
import types

import h5py
import numpy as np
import pytest
import tensorflow as tf

from rrn.config import replace
from rrn.distribute.variables import short_device
from rrn.files.weights import load_weights, save_weights
from rrn.optimizers import MovingAverages
from rrn.tasks.inputs import training_inputs
from rrn.tasks.report import Results
from rrn.training import Request, evaluate, run, setup
from rrn.training.checkpoints import Checkpoints
from rrn.training.machines import OneMachine, make_machines
from rrn.training.progress import StopRequest
from rrn.training.setup import read_data, set_up
from rrn.training.state import shares_by_error
from rrn.training.step import Trainer
from rrn.training.train import Training
from rrn.training.workdir import Workdir
from rrn.training.worker_updates import SynchronousUpdates
from tests.helpers import CPUS, LineTask, line_batches, line_config, load_config, make_small


@pytest.fixture
def config(small_babi_h5):
    return make_small(load_config("babi.py", "test"), small_babi_h5)


@pytest.mark.slow
def test_averages_and_shares_begin_with_given_weights_and_checkpoints_come_when_they_should(
    config, tmp_path, capsys, monkeypatch
):
    """The pipeline is traced once, before the first validation, and takes the shares after it."""
    traced, used, make, use = [], [], training_inputs, SynchronousUpdates.use
    spy = functools.partial(monkeypatch.setattr, setup, "training_inputs")
    spy(lambda *args, **named: traced.append(named) or make(*args, **named))
    spy = functools.partial(monkeypatch.setattr, SynchronousUpdates, "use")
    spy(lambda self, inputs, named: used.append(named["shares"]) or use(self, inputs, named))
    train = {"num_updates": 10, "learning_rate": 1e-9, "ema_decay": 0.9, "error_share": 0.5}
    every = {"log_every_updates": 5, "evaluate_every_updates": 10, "checkpoint_every_updates": 4}
    config = replace(config, train={**train, **every})
    given = tmp_path / "given.h5"
    request = Request(config, "babi", tmp_path, devices="cpu", weights=given, profile=6)
    variables = set_up(request, make_machines(request), *read_data(request)).variables
    given = [tf.Variable(tf.random.normal(v.shape), name=v.name[:-2]) for v in variables]
    save_weights(tmp_path / "given.h5", given, {})
    run(request)
    assert len(traced) == 1 and len(used) == 1
    assert len(set(used[0])) > 1  # they are equal before the validation
    load_weights(tmp_path / "weights.h5", variables)
    for variable, value in zip(variables, given, strict=True):
        np.testing.assert_allclose(variable, value, atol=1e-6)
    kept = {path.stem for path in (tmp_path / "checkpoints" / "last").glob("*.index")}
    assert kept == {"ckpt-8", "ckpt-10"}
    # The first update is traced, the second timed; the next are recorded, up to a pause.
    said = f"profile of 2 updates: tensorboard --logdir {tmp_path / 'events'}"
    assert said in capsys.readouterr().out
    (profile,) = (tmp_path / "events").glob("plugins/profile/*/*.xplane.pb")
    assert profile.stat().st_size > 1000
    rows = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert all(row["peak_memory/process"] > 2**27 for row in rows if "split" not in row)
    made = json.loads((tmp_path / "results.json").read_text())["made"]
    assert made["update"] == 10 and made["minutes"] == round(rows[-1]["seconds"] / 60, 2)
    # Before the first update it is validated, which gives the shares.
    validated = [row for row in rows if "error/mean" in row]
    assert [row["update"] for row in validated] == [0, 10]
    shares = next(row for row in rows if any(name.startswith("share/") for name in row))
    assert shares["update"] == 0
    errors = {n[-2:]: v for n, v in validated[0].items() if n.startswith("error/task_")}
    found = [shares[f"share/{task}"] for task in errors]
    np.testing.assert_allclose(found, shares_by_error(np.array([*errors.values()]), 0.5), rtol=1e-6)


@pytest.mark.parametrize("jit", ["off", "on"])
def test_the_batches_of_each_stage_have_their_own_shapes(config, tmp_path, jit):
    (stage,) = config.train.stages
    stages = [
        replace(stage, name=f"facts_{most}", num_updates=2, options={"max_facts": most})
        for most in (2, 6)
    ]
    config = replace(config, train={"stages": stages}, model={"num_steps": 1, "num_parts": 1})
    request = Request(config, "babi", tmp_path, devices="cpu", jit=jit)
    setup = set_up(request, make_machines(request), *read_data(request))
    trainer = setup.trainer()
    largest = [
        specs[0]["masks"][-1].shape[1] for specs in map(trainer.batch_specs, trainer.plan.stages)
    ]
    assert largest == [2, 6]
    for stage in trainer.plan.stages if jit == "off" else ():
        trainer.update.assign(stage.first)
        inputs = setup.inputs(stage.first, **trainer.input_settings())
        _, bad_update = trainer.train([iter(dataset) for dataset in inputs], tf.constant(1))
        assert bad_update < 0


@pytest.mark.parametrize(("seconds", "count"), [(0.01, 60), (0.5, 20), (60.0, 10)])
def test_a_slow_training_can_be_stopped_between_reports(seconds, count):
    training = object.__new__(Training)
    plan = types.SimpleNamespace(updates_left=lambda num_done: 1_000)
    every = "log_every_updates", "evaluate_every_updates", "checkpoint_every_updates"
    training.config = types.SimpleNamespace(**dict.fromkeys(every, 100))
    training.trainer = types.SimpleNamespace(plan=plan)
    training._seconds = seconds
    assert training._until_pause(40) == count


def test_the_last_of_the_weights_with_the_lowest_error_are_kept(tmp_path):
    """In stages the last ones, whatever their error."""
    variable, update = tf.Variable(0.0, name="w"), tf.Variable(0)
    averages = MovingAverages([variable], 0.5)
    trainer = types.SimpleNamespace(update=update, averages=averages, sampler=None)
    progress = types.SimpleNamespace(validation=lambda update, loss, metrics: None)
    evaluator, checkpoints = types.SimpleNamespace(), Checkpoints(tmp_path / "checkpoints", 100, 99)
    checkpoints.track(tf.train.Checkpoint(update=update))
    trainer.plan = types.SimpleNamespace(finished=lambda update: None)
    for stages, expected in ((["one"], [1, 2, 2, 4, 4]), (["one", "two"], [1, 2, 3, 4, 5])):
        checkpoints.best_error.assign(np.inf)
        setup = types.SimpleNamespace(
            stages=stages,
            workdir=Workdir(tmp_path),
            variables=[variable],
            about={"config": "line"},
            task=types.SimpleNamespace(constants={}),
        )
        training = types.SimpleNamespace(
            config=line_config(),
            setup=setup,
            trainer=trainer,
            evaluator=evaluator,
            checkpoints=checkpoints,
            progress=progress,
        )
        kept = []
        for i, error in enumerate([9.9, 0.1, 0.2, 0.1, 3.0], 1):
            update.assign(i)
            variable.assign(-i)
            averages.averages[0].assign(i)
            results = Results(metrics={}, error=error), -i  # the loss falls all the time
            evaluator.results = functools.partial(tuple, results)
            Training.validate(training)
            with h5py.File(tmp_path / "weights.h5") as file:
                kept.append(file["w"][()])
                assert file.attrs["update"] == kept[-1]
        assert kept == expected


def line_training(folder, evaluate, make_updates, **fields):
    """`Training` of `LineTask` without its data, with checkpoints after every update.

    `evaluate` is a function: trainer -> a validation's results.
    """
    config = line_config(
        checkpoint_every_updates=1, log_every_updates=1, evaluate_every_updates=3, **fields
    )
    task = LineTask()
    trainer = Trainer(task, config, CPUS[:1], [line_batches(task, [[0, 1]]).element_spec])
    checkpoints = Checkpoints(folder / "checkpoints", 1, 99)
    checkpoints.track(trainer)
    setup = types.SimpleNamespace(
        about={"config": "line"},
        inputs=lambda num_done, **settings: None,
        machines=types.SimpleNamespace(evaluation_devices=CPUS[:1], compiled=False),
        request=types.SimpleNamespace(
            config=types.SimpleNamespace(train=config), profile=0, weights=None
        ),
        data=None,
        stages=[stage.name for stage in config.stages],
        stage_weights=lambda stage: folder / f"weights_{stage}.h5",
        task=task,
        variables=trainer.model_variables,
        workdir=Workdir(folder),
        arrays=lambda data, split: None,
        evaluator=lambda *_: types.SimpleNamespace(results=lambda: evaluate(trainer)),
    )
    return Training(setup, trainer, make_updates(trainer), checkpoints)


@pytest.mark.parametrize("spoilt", [None, "weight", "loss"])
def test_a_run_that_is_not_finite_ends_before_it_writes(tmp_path, spoilt):
    """What `train` gives for its update 2 is spoilt; without that the validation's loss is."""

    def make_updates(trainer):
        def train(num_updates):
            trainer.update.assign_add(num_updates)
            if spoilt == "weight" and trainer.update == 2:
                trainer.model_variables[0].assign(trainer.model_variables[0] * np.inf)
            bad_update = 1 if spoilt == "loss" and trainer.update == 2 else -1
            return {"loss": 1.0}, bad_update

        use = lambda inputs, settings: None  # noqa: E731
        return types.SimpleNamespace(use=use, train=train, batch_size=2)

    results = Results(metrics={}, error=0.0), np.nan
    training = line_training(tmp_path, lambda trainer: results, make_updates)
    trainer = training.trainer
    said, good = {
        "weight": (f"update 2: {trainer.model_variables[0].name[:-2]}: not finite; ", 1),
        "loss": ("update 2: the loss or its gradient: not finite; ", 1),
        None: ("update 3: the validation's loss or error: not finite; ", 2),
    }[spoilt]
    with pytest.raises(FloatingPointError, match=rf"^{said}.*/last/ckpt-{good}$"):
        training.run(types.SimpleNamespace(requested=False))
    last = Checkpoints(tmp_path / "checkpoints", 1, 99)
    assert last.latest_update() == good
    last.track(trainer)
    assert trainer.not_finite() == []
    assert not (tmp_path / "weights.h5").exists()


def test_inputs_are_made_anew_where_their_settings_have_changed(tmp_path):
    """As shares by error do at every validation; here it comes after every third update."""
    used = []

    def make_updates(trainer):
        trainer.input_settings = lambda: {"shares": int(trainer.update) // 3}

        def train(num_updates):
            trainer.update.assign_add(num_updates)
            return {"loss": 1.0}, -1

        use = lambda inputs, settings: used.append((int(trainer.update), settings["shares"]))  # noqa: E731
        return types.SimpleNamespace(use=use, train=train, batch_size=2)

    results = Results(metrics={}, error=0.0), 1.0
    training = line_training(tmp_path, lambda trainer: results, make_updates, num_updates=7)
    training.run(types.SimpleNamespace(requested=False))
    assert used == [(0, 0), (3, 1), (6, 2)]


def test_variables_are_where_the_config_says(config, tmp_path):
    def variables(policy, servers=()):
        request = Request(replace(config, variables={"policy": policy}), "babi", tmp_path)
        machines = OneMachine(CPUS[2:])
        machines.servers = servers
        task = set_up(request, machines, *read_data(request)).task
        return task.encoder.trainable_variables, task.network.trainable_variables

    encoder, network = variables("first_device")
    assert {short_device(v.device) for v in encoder} == {"CPU:0"}  # where it runs
    assert {short_device(v.device) for v in network} == {"CPU:2"}
    for axis, shapes in (("0", [[8, 16], [8, 16]]), ("1", [[16, 8], [16, 8]])):
        policy = {"kind": "fixed_shards", "axis": axis}
        _, network = variables(policy, CPUS[1:3])
        parts = [v for v in network if "message_fn/linear_1/w" in v.name]
        assert [short_device(v.device) for v in parts] == ["CPU:1", "CPU:2"]
        assert [v.shape for v in parts] == shapes


def test_sigterm_asks_a_run_to_stop():
    with StopRequest() as stop:
        signal.raise_signal(signal.SIGTERM)
        assert stop.requested and stop.status == 143


def test_a_commit_that_git_does_not_tell_is_said(monkeypatch, capsys):
    def refuse(command, **_):
        raise subprocess.CalledProcessError(128, command, stderr="fatal: dubious ownership\nmore")

    monkeypatch.setattr(subprocess, "run", refuse)
    assert evaluate._commit() is None
    said = capsys.readouterr().out
    assert said == "results.json will not have the commit: fatal: dubious ownership\n"
