"""Carried segments: who stays, who leaves, and that neither devices nor kills change anything."""

import numpy as np
import pytest
import tensorflow as tf

from rrn.config import replace
from rrn.tasks.inputs import training_inputs
from rrn.tasks.sudoku import Sudoku
from rrn.training.segments import CarriedBatch
from rrn.training.step import Trainer
from rrn.training.worker_updates import AsynchronousUpdates, FirstGradients
from rrn.variables.random import ExampleRandom
from tests.compare import assert_close
from tests.helpers import CPUS, LineTask, line_config, load_config, towers_of


class CountingTask:
    """Examples are numbers; a state counts the segments that an example has had."""

    def initial_state(self, num_examples):
        return {"count": tf.zeros([num_examples, 1], tf.int32)}


def counting_pool(sizes):
    specs = [
        {
            "number": tf.TensorSpec([size], tf.int32),
            "rows": tf.TensorSpec([size], tf.int32),
            "seed": tf.TensorSpec([2], tf.int32),
        }
        for size in sizes
    ]
    return CarriedBatch(CountingTask(), sum(sizes), CPUS[: len(sizes)], specs)


def counting_update(pool, sizes, update, solved, **limits):
    """One update of all devices; returns (numbers, counts) of the global batch, and the metrics."""
    first, numbers, counts, totals = 0, [], [], {}
    for device, size in enumerate(sizes):
        rows = tf.range(first, first + size)
        batch = {"number": 10_000 * update + rows, "rows": rows, "seed": tf.constant([0, update])}
        segments = pool.segments(device)
        chosen, state = pool.take(device, batch)
        after = {"count": state["count"] + 1}
        left, metrics = pool.leave(segments, chosen, solved(chosen["number"]), **limits)
        pool.put(device, chosen, after, left)
        numbers += chosen["number"].numpy().tolist()
        counts += after["count"].numpy()[:, 0].tolist()
        for name, pair in metrics.items():
            totals[name] = totals.get(name, 0) + np.array(pair)
        first += size
    return numbers, counts, totals


def nobody(numbers):
    return tf.zeros_like(numbers, tf.bool)


@pytest.mark.parametrize("sizes", [[4], [1, 3]])
def test_examples_stay_until_their_last_segment(sizes):
    pool = counting_pool(sizes)
    limits = {"max_segments": 3, "leave_probability": 1.0}
    found = [counting_update(pool, sizes, u, nobody, **limits)[:2] for u in range(4)]
    first, again = [0, 1, 2, 3], [30_000, 30_001, 30_002, 30_003]
    assert found == [(first, [1] * 4), (first, [2] * 4), (first, [3] * 4), (again, [1] * 4)]


def test_solved_examples_leave_with_their_probability():
    even = lambda numbers: numbers % 2 == 0  # noqa: E731
    pool = counting_pool([4])
    always = {"max_segments": 9, "leave_probability": 1.0}
    _, _, metrics = counting_update(pool, [4], 0, even, **always)
    assert metrics["solved"].tolist() == [2, 2] and metrics["segments_to_solve"].tolist() == [2, 2]
    assert counting_update(pool, [4], 1, even, **always)[:2] == (
        [10_000, 1, 10_002, 3],
        [1, 2, 1, 2],
    )

    pool, size = counting_pool([2000]), [2000]
    half = {"max_segments": 9, "leave_probability": 0.5}
    counting_update(pool, size, 0, lambda n: n >= 0, **half)
    numbers, counts, _ = counting_update(pool, size, 1, lambda n: n >= 0, **half)
    left = np.array(counts) == 1
    np.testing.assert_array_equal(numbers, np.arange(2000) + np.where(left, 10_000, 0))
    assert abs(np.mean(left) - 0.5) < 0.05


def test_who_leaves_does_not_depend_on_devices():
    limits = {"max_segments": 9, "leave_probability": 0.5}
    runs = []
    for sizes in ([60], [10, 30, 20]):
        pool = counting_pool(sizes)
        runs.append(
            [counting_update(pool, sizes, u, lambda n: n % 3 > 0, **limits)[:2] for u in range(5)]
        )
    assert runs[0] == runs[1]


def sudoku_arrays(number=12):
    rng = np.random.default_rng(0)
    solution = rng.integers(1, 10, [number, 81])
    puzzle = np.where(rng.random([number, 81]) < 0.3, solution, 0)
    arrays = {"puzzle": puzzle, "solution": solution, "givens": np.repeat([17, 18], number // 2)}
    return {name: tf.constant(array, tf.int32) for name, array in arrays.items()}


def sudoku_trainer(num_devices, first_update=0, compiled=False, **fields):
    """(trainer of a small Sudoku network in carried segments of one step, its iterators)."""
    tf.random.set_seed(1)
    config = load_config("sudoku.py", "test")
    model = {"embedding_size": 4, "hidden_size": 6, "num_steps": 1, "compute_dtype": "float32"}
    config = replace(config, model=model)
    config = replace(
        config, train={"batch_size": 6, "num_updates": 8, "segments": {"max_segments": 3}, **fields}
    )
    task, arrays = Sudoku(config.model), sudoku_arrays()
    inputs = training_inputs(task, arrays, 6, num_devices, 0, first_update)
    specs = [dataset.element_spec for dataset in inputs]
    trainer = Trainer(task, config.train, towers_of(task, CPUS[:num_devices], compiled), specs)
    return trainer, [iter(dataset) for dataset in inputs]


def carried(trainer):
    """The pool's examples and states, whole."""
    variables = trainer.carried._examples, trainer.carried._state, trainer.carried._segments
    return [tf.convert_to_tensor(variable).numpy() for variable in tf.nest.flatten(variables)]


@pytest.fixture(scope="module")
def one_device(tmp_path_factory):
    """(a trainer on one device after seven updates, their last means, a checkpoint after three)."""
    trainer, inputs = sudoku_trainer(1)
    trainer.train(inputs, tf.constant(3))
    folder = tmp_path_factory.mktemp("one_device")
    path = tf.train.Checkpoint(trainer=trainer).save(str(folder / "state"))
    return trainer, trainer.train(inputs, tf.constant(4))[0], path


@pytest.mark.slow
@pytest.mark.parametrize("devices, compiled", [(3, False), (2, True)])
def test_several_devices_equal_one(one_device, devices, compiled):
    (one, means, _), (several, inputs) = one_device, sudoku_trainer(devices, compiled=compiled)
    others, _ = several.train(inputs, tf.constant(7))
    for a, b in zip(carried(one), carried(several), strict=True):
        assert_close(b, a, 1e-4)
    for a, b in zip(one.model_variables, several.model_variables, strict=True):
        assert_close(b, a, 1e-4)
    assert {"solved", "segments_to_solve"} <= means.keys() == others.keys()
    part = several.carried._segments.variables[1]
    assert part.shape == [6 // devices] and "CPU:1" in part.device  # its device's part


def test_a_checkpoint_resumes_carried_examples_on_any_number_of_devices(one_device):
    through, _, path = one_device
    for devices_after in (1, 2):
        resumed, inputs = sudoku_trainer(devices_after, first_update=3)
        tf.train.Checkpoint(trainer=resumed).restore(path).assert_consumed()
        resumed.train(inputs, tf.constant(4))
        for a, b in zip(carried(through), carried(resumed), strict=True):
            if devices_after == 1:
                np.testing.assert_array_equal(b, a)
            else:
                assert_close(b, a, 1e-4)


def test_a_segment_goes_on_where_the_last_one_ended(monkeypatch):
    """Two updates at rate 0 are one run of two steps, and their last logits' boards are right."""
    left, leave = [], CarriedBatch.leave
    monkeypatch.setattr(CarriedBatch, "leave", lambda *a: left.append(a[-2:]) or leave(*a))
    trainer, inputs = sudoku_trainer(
        1, learning_rate=0.0, segments={"max_segments": 3, "leave_probability": 0.0}
    )
    trainer.train(inputs, tf.constant(2))
    assert left == [(3, 0.0)]
    examples = trainer.carried._examples
    task, puzzle = trainer.task, tf.convert_to_tensor(examples["puzzle"])
    state = task.initial_state(6)
    _, expected = task.logits(task.encode({}), puzzle, 2, state)
    assert_close(trainer.carried._state.hidden, expected.hidden, 1e-5)
    assert_close(trainer.carried._state.cell, expected.cell, 1e-5)
    assert trainer.carried._state.started.numpy().all()
    assert (trainer.carried._segments.numpy() == 2).all()


def test_what_cannot_be_carried_is_named():
    task = LineTask()
    specs = [training_inputs(task, task.arrays, 6, 1, 0, 0)[0].element_spec]
    with pytest.raises(ValueError, match="segments: this task's network carries no"):
        Trainer(task, line_config(batch_size=6, segments={"max_segments": 2}), CPUS[:1], specs)
    specs = [{"rows": tf.TensorSpec([4], tf.int32), "words": tf.TensorSpec([None], tf.int32)}]
    with pytest.raises(ValueError, match=r"for each of the 4 examples; words is TensorSpec"):
        CarriedBatch(CountingTask(), 4, CPUS[:1], specs)


def test_workers_that_do_not_wait_cannot_carry_examples():
    trainer, _ = sudoku_trainer(1)
    for make in (
        lambda: FirstGradients(trainer, 1),
        lambda: AsynchronousUpdates(trainer, {}, 0),
    ):
        with pytest.raises(ValueError, match="they need synchronous updates"):
            make()


def test_draws_of_who_leaves_are_not_those_of_the_model():
    batch = {"seed": tf.constant([3, 4]), "rows": tf.range(50)}
    pool = counting_pool([50])
    solved = tf.ones([50], tf.bool)
    left, _ = pool.leave(pool.segments(0), batch, solved, 9, 0.5)
    model_draws = ExampleRandom(batch["seed"], batch["rows"], 50).uniform([]).numpy()
    assert ((left.numpy() == 0) != (model_draws < 0.5)).any()
