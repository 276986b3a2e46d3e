"""Training and evaluation compiled by XLA: the same as without it, compiled once."""

import os
import re

import numpy as np
import pytest
import tensorflow as tf

from rrn.config import replace
from rrn.nn import network
from rrn.tasks import Report, create_task
from rrn.training.evaluation import Evaluator
from rrn.training.machines import OneMachine
from rrn.training.state import TrainingState
from rrn.training.step import Trainer
from tests.compare import assert_close
from tests.helpers import (
    CPUS,
    LineTask,
    averaged,
    line_config,
    load_config,
    make_trainer,
    shrink,
    towers_of,
)
from tests.program import command, run_anew
from tests.test_configs import read_once

TASKS = "ages", "babi", "completion", "sudoku"  # with all forms of graphs, and images


@pytest.fixture
def small_task(small_data):
    """A function: a recipe -> (config, data, task), on a small file of its data."""

    def make(name, variant="test", **fields):
        config = shrink(load_config(f"{name}.py", variant))
        config = replace(config, data={"path": str(small_data(config))}, model=fields)
        config = replace(config, train={"batch_size": 4})
        data = read_once(config.data.path)
        tf.random.set_seed(0)
        return config, data, create_task(config.model, data)

    return make


def results_of(made, **how):
    """The last stage's losses, gradients and metrics of one batch, with the initial variables."""
    config, *others = made
    config = replace(config, train={"stages": config.train.stages[-1:]})
    trainer, inputs = make_trainer(config, *others, CPUS[:1], **how, of=TrainingState)
    batches = [next(iter(dataset)) for dataset in inputs]
    (stage,) = trainer.plan.stages
    losses, gradients, metrics = tf.function(
        lambda batches: averaged(trainer, stage, batches), autograph=False
    )(batches)
    metrics = {name: [np.array(part) for part in pair] for name, pair in metrics.items()}
    return losses, gradients, metrics


@pytest.mark.slow
@pytest.mark.parametrize("name", TASKS)
def test_losses_gradients_and_metrics_are_those_without_xla(name, small_task):
    """Sudoku's cells are the next test's, and so only its candidates are here."""
    fields = {"compute_dtype": "float32"}
    fields |= {"patch_size": 32} if name == "completion" else {"hidden_size": 8, "num_steps": 1}
    if name == "sudoku":
        fields |= {"nodes": "candidates"}
    expected = results_of(small_task(name, **fields))
    made = small_task(name, **fields)
    found = results_of(made, compiled=True, encodes_itself=name == "babi")
    for ours, theirs in zip(found[0], expected[0], strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5)
    for own, others in zip(found[1], expected[1], strict=True):
        assert_same_gradients(own, others)
    assert found[2].keys() == expected[2].keys()
    for kind, pair in found[2].items():
        for ours, theirs in zip(pair, expected[2][kind], strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5)


def assert_same_gradients(ours, theirs):
    """The same None; the others all together differ by a thousandth at most of their norm.

    Rounding puts a few of a million ReLUs on the other side of zero, which changes a gradient by
    one edge's share.
    """
    assert [g is None for g in ours] == [g is None for g in theirs]
    a, b = (
        np.concatenate([np.ravel(tf.convert_to_tensor(g)) for g in own if g is not None])
        for own in (ours, theirs)
    )
    assert np.linalg.norm(a - b) <= 1e-3 * np.linalg.norm(b)


@pytest.mark.slow
def test_a_loop_over_blocks_of_recomputed_steps_is_the_unrolled_network(small_task, monkeypatch):
    monkeypatch.setattr(network, "UNROLLED_STEPS", 2)  # eight take XLA long to compile
    fields = {"compute_dtype": "float32", "hidden_size": 8, "num_steps": 3, "recompute": True}
    config, data, task = small_task("sudoku", **fields)
    expected = results_of((config, data, task))
    found = results_of((config, data, task), compiled=True)
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-5)
    assert_same_gradients(found[1][0], expected[1][0])


def line_trainer(compiled):
    """(Trainer of `LineTask` on one device, a batch)."""
    tf.random.set_seed(0)
    task, config = LineTask(), line_config(clip_norm=0.5, l2=0.01, ema_decay=0.9, optimizer="muon")
    batch = task.make_batch(task.arrays, tf.range(6), LineRandom(), training=True)
    batch |= {"rows": tf.range(6), "examples": tf.range(6), "seed": tf.constant([1, 2])}
    specs = tf.nest.map_structure(tf.TensorSpec.from_tensor, batch)
    return Trainer(task, config, towers_of(task, CPUS[:1], compiled), [specs]), batch


def values_of(trainer):
    return [v.numpy() for v in (*trainer.model_variables, *trainer.averages.averages)]


def test_the_optimizer_is_compiled_where_all_variables_are():
    updates, ends = {}, {}
    for compiled in (False, True):
        trainer, batch = line_trainer(compiled)
        for _ in range(3):
            updates[compiled], finite = trainer.update_once([batch])
            assert finite
        ends[compiled] = values_of(trainer)
        assert trainer.update == 3
        kinds = {node.op for node in trainer.traced.graph.as_graph_def().node}
        assert ("ResourceApplyAdam" in kinds) is not compiled  # else it is in XLA's computation
    for ours, theirs in zip(ends[True], ends[False], strict=True):
        assert_close(ours, theirs, 1e-5)
    for name, pair in updates[False].items():
        np.testing.assert_allclose(updates[True][name], pair, rtol=1e-5, err_msg=name)


def test_compiled_training_resumes_to_the_same_bits(tmp_path):
    (whole, batch), (resumed, _) = line_trainer(True), line_trainer(True)
    whole.update_once([batch])
    path = tf.train.Checkpoint(trainer=whole).save(str(tmp_path / "state"))
    tf.train.Checkpoint(trainer=resumed).restore(path).assert_consumed()
    for trainer in (whole, resumed):
        for _ in range(2):
            trainer.update_once([batch])
    variables = zip(whole.variables, resumed.variables, strict=True)
    for ours, theirs in [*variables, *zip(values_of(whole), values_of(resumed), strict=True)]:
        np.testing.assert_array_equal(ours, theirs)


class LineRandom:
    """Draws for `LineTask.make_batch`."""

    def uniform(self, shape):
        return tf.zeros([6, *shape])


@pytest.mark.slow
def test_evaluation_is_the_same(small_task):
    config, data, task = small_task("babi", compute_dtype="float32")
    config = replace(config, evaluate={"batch_size": 4})
    arrays, outputs = data.arrays("valid"), []
    for how in ({}, {"compiled": True, "encodes_itself": True}):
        task.fixed_shapes = how.get("compiled", False)
        evaluator = Evaluator(
            Report(task), config.evaluate, towers_of(task, CPUS[:1], **how), arrays, 0, 6
        )
        outputs.append(evaluator.outputs())
    assert outputs[1].keys() == outputs[0].keys()
    for key, values in outputs[1].items():
        np.testing.assert_allclose(values, outputs[0][key], rtol=1e-4, atol=1e-5, err_msg=key)


@pytest.mark.slow
def test_the_first_updates_of_a_gpus_recipe(small_task):
    config, data, task = small_task("sudoku", "gpu", hidden_size=8, num_steps=1)
    how = {"encodes_itself": config.variables.encoder_device == "tower"}
    config = replace(config, train={"stages": config.train.stages[:1]})
    trainer, inputs = make_trainer(config, data, task, CPUS[:1], compiled=True, **how)
    means, bad_update = trainer.train([iter(dataset) for dataset in inputs], tf.constant(5))
    assert bad_update == -1 and np.isfinite(means["loss"]) and trainer.update == 5


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_every_function_is_compiled_once(small_babi_h5, tmp_path):
    """The batches of bAbI differ most: in distinct sentences, beginnings and numbers of facts."""
    flags = "--jit=on", "--config.model.num_steps=1", "--workdir", tmp_path
    arguments = command(small_babi_h5, *flags)
    say = {"TF_CPP_MIN_LOG_LEVEL": "0", "TF_CPP_VMODULE": "device_compilation_profiler=1"}
    status, out, err = run_anew(arguments, **say)
    assert status == 0, err
    compiled = re.findall(r"Compiled (\S+) (\d+) times", err)
    assert len(compiled) >= 3 and {times for _, times in compiled} == {"1"}
    # The tower and the update; the first validation and the evaluation.
    assert len({name for name, _ in compiled}) == len(compiled) <= 2 + 1 + 1
    assert "stage train: compiled and run once in " in out
    assert out.count("evaluation: compiled and run once in ") == 2


def test_towers_are_compiled_on_gpus_alone_unless_asked_for():
    gpus, cpus = ["/device:GPU:0", "/device:GPU:1"], CPUS[:2]
    auto = OneMachine(gpus)  # a cluster's chief evaluates on its CPU beside its workers' GPUs
    assert auto.compiles(gpus) and not auto.compiles(cpus)
    assert OneMachine(cpus, jit="on").compiles(cpus)
    assert not OneMachine(gpus, jit="off").compiles(gpus)
    assert not os.environ.get("TF_XLA_FLAGS")  # nothing is kept where there is no GPU
