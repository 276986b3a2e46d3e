"""Whole experiments in this process."""

import functools
import types

import h5py
import numpy as np
import pytest
import tensorflow as tf

from rrn.config import replace
from rrn.distribute import Cluster
from rrn.tasks.report import Results
from rrn.training import experiment, run
from rrn.training.checkpoints import Checkpoints
from rrn.training.experiment import Experiment
from rrn.training.machines import OneMachine
from rrn.training.trainer import Trainer
from rrn.training.workdir import Workdir
from rrn.weights import load_weights, save_weights
from tests.helpers import CPUS, LineTask, line_batches, line_config, load_config, make_small


@pytest.fixture
def config(small_babi_h5):
    return make_small(load_config("babi.py", "test"), small_babi_h5)


@pytest.mark.slow
def test_averages_begin_with_given_weights_and_checkpoints_come_when_they_should(config, tmp_path):
    config = replace(
        config, train={"num_updates": 10, "learning_rate": 1e-09, "average_decay": 0.9}
    )
    config = replace(
        config,
        train={"log_every_updates": 5, "evaluate_every_updates": 10, "checkpoint_every_updates": 4},
    )
    variables = Experiment(config, "babi", OneMachine(CPUS[:1]), Workdir(tmp_path)).variables
    given = [tf.Variable(tf.random.normal(v.shape), name=v.name[:-2]) for v in variables]
    save_weights(tmp_path / "given.h5", given, {})
    run(config, "babi", "train", "cpu", tmp_path, tmp_path / "given.h5")
    load_weights(tmp_path / "weights.h5", variables)
    for variable, value in zip(variables, given, strict=True):
        np.testing.assert_allclose(variable, value, atol=1e-6)
    kept = {path.stem for path in (tmp_path / "checkpoints" / "last").glob("*.index")}
    assert kept == {"ckpt-8", "ckpt-10"}


def test_the_last_of_the_weights_with_the_lowest_error_are_kept(tmp_path):
    """In stages the last ones, whatever their error."""
    variable, update = tf.Variable(0.0, name="w"), tf.Variable(0)
    trainer = types.SimpleNamespace(update=update, averages=None, sampler=None)
    progress = types.SimpleNamespace(validation=lambda update, loss, metrics: None)
    evaluator, checkpoints = types.SimpleNamespace(), Checkpoints(tmp_path / "checkpoints", 100, 99)
    checkpoints.track(tf.train.Checkpoint(update=update))
    trainer.plan = types.SimpleNamespace(finished=lambda update: None)
    for stages, expected in (((), [1, 2, 2, 4, 4]), (("first",), [1, 2, 3, 4, 5])):
        checkpoints.best_error.assign(np.inf)
        run = types.SimpleNamespace(
            stages=stages,
            workdir=Workdir(tmp_path),
            variables=[variable],
            about={"config": "line"},
            constants={},
        )
        kept = []
        for i, error in enumerate([9.9, 0.1, 0.2, 0.1, 3.0], 1):
            update.assign(i)
            variable.assign(i)
            results = Results(metrics={}, error=error), -i  # the loss falls all the time
            evaluator.results = functools.partial(tuple, results)
            Experiment._validate(run, trainer, evaluator, checkpoints, progress)
            with h5py.File(tmp_path / "weights.h5") as file:
                kept.append(file["w"][()])
                assert file.attrs["update"] == kept[-1]
        assert kept == expected


def line_run(tmp_path, results, **fields):
    """A run of `LineTask` without its data: (run, trainer, checkpoints after every update)."""
    config = line_config(
        checkpoint_every_updates=1, log_every_updates=1, evaluate_every_updates=3, **fields
    )
    task = LineTask()
    specs = [line_batches(task, [[0, 1]]).element_spec]
    trainer = Trainer(task, config, CPUS[:1], specs)
    checkpoints = Checkpoints(tmp_path / "checkpoints", 1, 99)
    checkpoints.track(trainer)
    run = types.SimpleNamespace(
        about={"config": "line"},
        compiled=False,
        constants={},
        config=types.SimpleNamespace(train=config),
        data=None,
        stages=(),
        variables=trainer.model_variables,
        workdir=Workdir(tmp_path),
        _evaluator=lambda *_: types.SimpleNamespace(results=lambda: results),
    )
    run._validate = functools.partial(Experiment._validate, run)
    return run, trainer, checkpoints


@pytest.mark.parametrize("spoilt", [None, "weight", "loss"])
def test_a_run_that_is_not_finite_ends_before_it_writes(tmp_path, spoilt):
    """What `train` gives for its update 2 is spoilt; without that the validation's loss is."""
    run, trainer, checkpoints = line_run(tmp_path, (Results(metrics={}, error=0.0), np.nan))

    def train(num_updates):
        trainer.update.assign_add(num_updates)
        if spoilt == "weight" and trainer.update == 2:
            trainer.model_variables[0].assign(trainer.model_variables[0] * np.inf)
        bad_update = 1 if spoilt == "loss" and trainer.update == 2 else -1
        return {"loss": 1.0}, bad_update

    maker = types.SimpleNamespace(use=lambda inputs, shares: None, train=train, batch_size=2)
    stop = types.SimpleNamespace(requested=False)
    said, good = {
        "weight": (f"update 2: {run.variables[0].name[:-2]}: not finite; ", 1),
        "loss": ("update 1: the loss or its gradient: not finite; ", 1),
        None: ("update 3: the validation's loss or error: not finite; ", 2),
    }[spoilt]
    with pytest.raises(FloatingPointError, match=rf"^{said}.*/last/ckpt-{good}$"):
        Experiment._train_until_done(run, trainer, maker, None, None, checkpoints, stop)
    last = Checkpoints(tmp_path / "checkpoints", 1, 99)
    assert last.latest_update() == good
    last.track(trainer)
    assert trainer.not_finite() == []
    assert not (tmp_path / "weights.h5").exists()


def test_the_evaluator_of_a_cluster_leaves_the_given_config_as_it_is(config, monkeypatch, tmp_path):
    config = replace(config, variables={"policy": "balanced"})
    cluster = Cluster({"chief": ["h:1"], "worker": ["h:2"], "ps": ["h:3"]}, "evaluator", 0)
    taken = []

    def create(config, *_):
        taken.append(config)
        return types.SimpleNamespace(follow=lambda cluster, startup_timeout: None)

    monkeypatch.setattr(experiment, "Experiment", create)
    run(config, "babi", "train", "cpu", tmp_path, cluster=cluster)
    assert taken[0].variables.policy.kind == "cpu"  # it is alone
    assert config.variables.policy.kind == "balanced"
