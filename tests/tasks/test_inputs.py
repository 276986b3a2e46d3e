"""Input pipelines: a batch is a function of seed and update, on any number of devices."""

import functools

import numpy as np
import pytest
import tensorflow as tf

from rrn.tasks.inputs import Groups, training_inputs
from tests.helpers import CPUS, LineTask


def some_batches(num_devices, first_update, count, seed=0, **settings):
    """For each update its devices' batches, of 16 examples in all."""
    task = LineTask()
    inputs = training_inputs(task, task.arrays, 16, num_devices, seed, first_update, **settings)
    return [
        [{name: tensor.numpy() for name, tensor in batch.items()} for batch in batches]
        for batches in zip(*[dataset.take(count) for dataset in inputs], strict=True)
    ]


def test_a_batch_is_a_function_of_seed_and_update():
    whole = some_batches(3, 0, 5)
    for ours, theirs in zip(some_batches(3, 3, 2), whole[3:], strict=True):
        for a, b in zip(ours, theirs, strict=True):
            for name in a:
                np.testing.assert_array_equal(a[name], b[name])
    for others in (whole[1], some_batches(3, 0, 1, seed=1)[0]):
        for ours, theirs in zip(others, whole[0], strict=True):
            assert all((ours[name] != theirs[name]).any() for name in ("examples", "seed"))


def test_devices_have_places_next_to_each_other():
    one, three = (some_batches(n, 0, 1)[0] for n in (1, 3))
    rows = [sorted(batch["rows"]) for batch in three]
    assert [len(own) for own in rows] == [5, 5, 6]
    assert np.concatenate(rows).tolist() == list(range(16))
    assert len({batch["seed"].tobytes() for batch in three}) == 1
    drawn = dict(zip(one[0]["rows"], one[0]["examples"], strict=True))
    for batch in three:
        assert [drawn[row] for row in batch["rows"]] == batch["examples"].tolist()


def test_each_data_set_runs_on_its_own_cpu():
    task = LineTask()
    inputs = training_inputs(task, task.arrays, 16, 2, 0, 0, cpus=CPUS[1:3])
    assert [dataset._variant_tensor.device[-5:] for dataset in inputs] == ["CPU:1", "CPU:2"]


def test_more_devices_than_examples_are_an_error():
    with pytest.raises(ValueError, match=r"17 devices need a batch_size .* got 16"):
        some_batches(17, 0, 1)


def test_draws_have_the_shares_and_are_even_within_a_group():
    groups = np.array([7, 3, 7, 7, 3, 5] * 2)
    shares = {3: 0.6, 5: 0.3, 7: 0.1}
    drawn = Groups(groups).draw([*shares.values()], [1, 2], 60_000).numpy()
    counts = np.bincount(drawn, minlength=12)
    expected = np.array([shares[g] / np.sum(groups == g) for g in groups]) * 60_000
    assert (np.abs(counts - expected) < 5 * np.sqrt(expected)).all()
    only = Groups(groups).draw([0.0, 1.0, 0.0], [1, 2], 100).numpy()
    assert set(only) == {5, 11}


def test_batches_drawn_by_group_are_the_same_on_several_devices():
    kinds = LineTask().arrays["kind"].numpy()
    settings = {"groups": Groups(kinds), "shares": [0.9, 0.1]}
    drawn = [
        np.concatenate([batch["examples"] for batch in some_batches(n, 5, 1, **settings)[0]])
        for n in (1, 3)
    ]
    np.testing.assert_array_equal(*drawn)
    assert np.mean(kinds[drawn[0]] == 0) > 0.7


def test_a_pipeline_that_is_traced_once_takes_other_updates_and_shares():
    task = LineTask()
    groups = Groups(task.arrays["kind"].numpy())
    inputs = functools.partial(training_inputs, task, task.arrays, 16, 1, 0, groups=groups)
    traced, drawn = tf.function(inputs, autograph=False), []
    for update, shares in ((5, [0.9, 0.1]), (5, [0.1, 0.9]), (7, [0.1, 0.9])):
        (dataset,) = traced(
            first_update=tf.constant(update, tf.int64), shares=tf.constant(shares, tf.float64)
        )
        batch = next(iter(dataset))
        (expected,) = some_batches(1, update, 1, groups=groups, shares=shares)[0]
        for name in expected:
            np.testing.assert_array_equal(batch[name], expected[name])
        drawn.append(sorted(expected["examples"]))
    assert traced.experimental_get_tracing_count() == 1
    assert drawn[0] != drawn[1] != drawn[2]
