"""Evaluation: every example once, the same on any number of devices."""

import numpy as np
import pytest

from rrn.config import Evaluate, replace
from rrn.tasks import Report, create_report
from rrn.tasks.inputs import evaluation_inputs
from rrn.training.evaluation import Evaluator, spread
from tests.distribute.test_towers import products_by_device
from tests.helpers import CPUS, LineTask, small_babi


@pytest.mark.parametrize(("batch_size", "num_devices"), [(1, 1), (5, 1), (5, 3), (8, 4), (100, 4)])
def test_evaluation_goes_over_every_example_once(batch_size, num_devices):
    task, count = LineTask(), 12
    inputs = evaluation_inputs(task, task.arrays, np.arange(count), batch_size, num_devices, 0)
    lengths = {len(dataset) for dataset in inputs}
    assert len(lengths) == 1
    batches = [batch["examples"].numpy() for dataset in inputs for batch in dataset]
    seen = np.bincount(np.concatenate(batches), minlength=count)
    assert (seen[1:] == 1).all() and len(seen) == count
    # What fills up the last batches is the first example.
    assert seen[0] == 1 + sum(map(len, batches)) - count


def line_outputs(task, devices, batch_size, passes=1, seed=0, num_examples=0):
    config = Evaluate(batch_size=batch_size, passes=passes)
    evaluator = Evaluator(Report(task), config, devices, task.arrays, seed, num_examples)
    return evaluator.outputs()["loss"]


def test_outputs_do_not_depend_on_devices_batch_size_or_the_other_examples():
    task = LineTask()
    expected = line_outputs(task, CPUS[:1], 12)
    assert expected.shape == (12,)
    for devices, batch_size, count in ((3, 5, 0), (4, 64, 0), (1, 4, 5), (3, 4, 50)):
        outputs = line_outputs(task, CPUS[:devices], batch_size, num_examples=count)
        part = spread(min(count or 12, 12), 12)
        np.testing.assert_allclose(outputs, expected[part], atol=1e-5)


def test_a_part_of_a_split_is_from_all_over_it_and_of_all_kinds():
    part = spread(1000, 128_000)
    assert (np.diff(part) > 0).all() and (part // 128 == range(1000)).all()
    assert np.bincount(part % 8, minlength=8).min() > 90  # 125 on average
    assert spread(12, 12).tolist() == list(range(12))


def test_every_tower_runs_the_network():
    config, task = Evaluate(batch_size=4), LineTask()
    evaluator = Evaluator(Report(task), config, CPUS[1:3], task.arrays, 0)
    counts = products_by_device(evaluator._predict.get_concrete_function())
    assert counts == {"CPU:0": 2, "CPU:1": 1, "CPU:2": 1}  # the encoder is on the CPU


def test_passes_average_over_other_draws():
    task = LineTask()
    passes = [line_outputs(task, CPUS[:1], 4, seed=seed) for seed in (5, 6, 7)]
    assert (passes[0] != passes[1]).all()
    outputs = line_outputs(task, CPUS[:1], 4, passes=3, seed=5)
    np.testing.assert_allclose(outputs, np.mean(passes, axis=0), rtol=1e-5)


@pytest.mark.slow
def test_babi_results_do_not_depend_on_devices_or_batch_size(small_babi_h5):
    config, data, task = small_babi(small_babi_h5, num_parts=1)
    report, arrays, outcomes = create_report(task), data.arrays("test"), []
    for devices, batch_size in ((1, 64), (2, 11)):
        config = replace(config, evaluate={"batch_size": batch_size, "passes": 2})
        evaluator = Evaluator(report, config.evaluate, CPUS[:devices], arrays, 0)
        graph = evaluator._predict.get_concrete_function().graph.as_graph_def()
        nodes = [*graph.node, *(n for part in graph.library.function for n in part.node_def)]
        reads = sum(node.op == "ReadVariableOp" for node in nodes)
        assert reads == devices * len([*task.encoder.variables, *task.network.variables])
        outcomes.append((evaluator.outputs(), evaluator.results()))
        assert outcomes[-1][1] == evaluator.results()  # the same bits
    (expected, (results, loss)), (outputs, (others, other_loss)) = outcomes
    for name, values in expected.items():
        np.testing.assert_allclose(outputs[name], values, rtol=0, atol=1e-5)
    assert other_loss == pytest.approx(loss, abs=1e-5)
    for name, value in results.metrics.items():
        assert others.metrics[name] == pytest.approx(value, abs=1e-5)
