"""The defaults of tasks: a task with three methods trains, is evaluated and reported."""

import numpy as np
import pytest
import tensorflow as tf

from rrn.config import Evaluate
from rrn.tasks import Report, Results, Task
from rrn.tasks.inputs import training_inputs
from rrn.training.evaluation import Evaluator
from rrn.training.stages import Plan
from rrn.training.step import Trainer
from tests.helpers import CPUS, line_config


class Mean(Task):
    """Learns the mean of the numbers that it is given."""

    def __init__(self):
        super().__init__(None, tf.Module(name="network"))
        self.network.mean = tf.Variable(0.0, name="mean")
        self.given = []

    def num_examples(self, arrays):
        return len(arrays["number"])

    def make_batch(self, arrays, examples, random, training):
        return {"number": tf.gather(arrays["number"], examples)}

    def loss(self, encodings, batch, random, training):
        self.given.append((encodings, training, random.uniform([]).shape))
        loss = (batch["number"] - self.network.mean) ** 2
        return {"loss": loss}, {"loss": loss}


@pytest.fixture
def arrays():
    return {"number": tf.constant([1.0, 2.0, 3.0, 6.0])}


def test_a_task_needs_three_methods():
    class Nothing(Task):
        pass

    with pytest.raises(TypeError, match=r"abstract methods '?loss'?, '?make_batch'?, '?num_exam"):
        Nothing(None, tf.Module())


def test_it_trains_and_is_evaluated_with_draws_and_without_variables_of_an_encoder(arrays):
    task = Mean()
    inputs = training_inputs(task, arrays, 6, 1, 0, 0)
    config = line_config(batch_size=6, learning_rate=0.1, num_updates=60)
    trainer = Trainer(task, config, CPUS[:1], [inputs[0].element_spec])
    trainer.train([iter(inputs[0])], tf.constant(60))
    assert 1.5 < task.network.mean < 4.5
    settings = Evaluate(batch_size=3)
    evaluator = Evaluator(Report(task), settings, CPUS[:1], arrays, 0)
    results, loss = evaluator.results()
    expected = np.mean((arrays["number"] - task.network.mean) ** 2)
    assert loss == pytest.approx(expected) and results.error == pytest.approx(expected)
    assert {training for _, training, _ in task.given} == {True, False}
    for encodings, training, shape in task.given:
        assert encodings == {} and shape == [6 if training else 3]


def test_other_defaults(arrays):
    task = Mean()
    drawn = task.draw_examples(arrays, [1, 2], 4_000).numpy()
    assert np.bincount(drawn, minlength=4).min() > 850 and drawn.max() == 3
    assert task.sizes(arrays, tf.constant([3, 1])).numpy().tolist() == [0, 0]
    assert task.groups(arrays) is None and task.initial_state(3) is None
    assert task.metric_losses == {}
    assert task.regularized() == [] and task.metrics({}, {}) == {}
    with pytest.raises(ValueError, match="l2: this task has no variables"):
        Plan(line_config(l2=0.1), task)
    report = Report(task)
    by_step = report.results({}, np.arange(2), {"loss": np.array([[3.0, 1.0], [5.0, 2.0]])})
    assert by_step == Results({"loss": 1.5}, error=1.5, by_step={"loss": [4.0, 1.5]})
    assert str(report.table(by_step)).split() == ["value", "loss", "1.5000"]
    assert report.figures(by_step) == {}
    assert by_step.group_sizes == {} and report.group_name(3) == "group 3"
    assert report.examples({}, np.arange(2), 0) == []
