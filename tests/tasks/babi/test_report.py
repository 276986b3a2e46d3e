"""bAbI's results by hand, its table and its figure."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from rrn.tasks.babi.report import TASK_NAMES, BabiReport
from tests.tasks.babi.questions import TINY_SENTENCES, make_task, tiny_arrays, tiny_data

RELEASED = {"source": "tasks_1-20_v1-2.tar.gz", "notes": "Task 3: no en training file"}


def one_hot(predicted):
    return np.eye(5, dtype=np.float32)[np.array(predicted)]


def hand_made_results(task):
    # (task, questions, wrong at step 1, wrong at step 2): 5 % is solved, 5.26 % is not.
    plan = [(1, 40, 40, 2), (2, 20, 10, 1), (5, 19, 1, 1), (20, 10, 0, 5)]
    tasks = np.concatenate([[t] * n for t, n, _, _ in plan])
    predicted = np.concatenate(
        [[(1 + (i < first), 1 + (i < second)) for i in range(n)] for _, n, first, second in plan]
    )
    order = np.random.default_rng(0).permutation(len(tasks))
    arrays = tiny_arrays(tasks[order], *np.ones([2, len(tasks)], np.int32))
    losses = np.stack([np.full(len(tasks), 2.0), np.arange(len(tasks))], axis=1)
    outputs = {"probabilities": one_hot(predicted[order]), "loss": losses}
    return BabiReport(task).results(arrays, np.arange(len(tasks)), outputs)


def test_results_by_hand():
    results = hand_made_results(make_task(tiny_data()))
    by_step = {
        "error/task_01": [100, 5],
        "error/task_02": [50, 5],
        "error/task_05": [100 / 19, 100 / 19],
        "error/task_20": [0, 50],
        # the mean over tasks, not over questions
        "error/mean": [(150 + 100 / 19) / 4, (60 + 100 / 19) / 4],
        "tasks_failed": [3, 2],
        "loss": [2, 44],  # the mean of 0 ... 88
    }
    assert results.error == pytest.approx(by_step["error/mean"][-1])
    assert results.by_step.keys() == by_step.keys() == results.metrics.keys()
    for name, values in by_step.items():
        assert results.by_step[name] == pytest.approx(values)
        assert results.metrics[name] == pytest.approx(values[-1])


def test_questions_that_their_words_answer_are_a_group_of_their_own():
    # Of task 1 question 4 has one answer, 5 has two, 6 is too rare; of task 2 question 4 has two.
    asked = [(1, 4, 7)] * 20 + [(1, 5, 7)] * 19 + [(1, 5, 8), (1, 6, 7)]
    asked += [(2, 4, 7)] * 30 + [(2, 4, 9)]
    train = dict(zip(("task", "question", "answer"), np.array(asked).T, strict=True))
    data = tiny_data()
    data.splits["train"] = {**train, "num_facts": np.ones(len(asked), int)}
    task = make_task(data)
    arrays = tiny_arrays([1, 1, 1, 2, 2], [4, 5, 6, 4, 5], [1] * 5)
    assert task.groups(arrays).tolist() == [101, 1, 1, 2, 2]
    # In another file the sentences have other numbers.
    turned = {name: tf.reverse(arrays[name], [0]) for name in TINY_SENTENCES}
    elsewhere = {**arrays, **turned, "question": 6 - arrays["question"]}
    assert task.groups(elsewhere).tolist() == [101, 1, 1, 2, 2]
    predicted = one_hot([[2], [1], [2], [1], [1]])
    outputs = {"probabilities": predicted, "loss": np.zeros([5, 1])}
    results = BabiReport(task).results(arrays, np.arange(5), outputs)
    assert results.group_errors == {1: 50, 2: 0, 101: 100}
    assert results.group_sizes == {1: 2, 2: 2, 101: 1}
    names = [BabiReport(task).group_name(group) for group in (1, 101)]
    assert names[1] == f"{names[0]}, answered by the question alone"
    assert results.metrics["error/task_01"] == pytest.approx(200 / 3)
    assert len(BabiReport(task).table(results).rows) == 4  # by task, not by group


def test_the_real_questions_that_their_words_answer(data, arrays):
    tasks, groups = arrays["task"].numpy(), make_task(data).groups(arrays)
    assert set(groups - tasks) == {0, 100} and set(groups[groups > 100]) == {118, 120}
    words = data.shared["vocabulary"].tolist()
    tokens = data.shared["sentences/tokens"][arrays["question"].numpy()[groups == 118]]
    chocolates = [words.index("chocolate"), words.index("chocolates")]
    assert np.isin(tokens, chocolates).any(axis=1).all()
    assert 0.8 < np.mean(groups[tasks == 18] > 100) < 0.84


def test_an_unknown_word_is_never_a_right_answer():
    """Id 0 stands for every word that training does not have."""
    arrays = tiny_arrays([1, 1], [4, 4], [0, 3])
    outputs = {"probabilities": one_hot([[0], [3]]), "loss": np.zeros([2, 1])}
    results = BabiReport(make_task(tiny_data())).results(arrays, [0, 1], outputs)
    assert results.metrics["error/task_01"] == 50


def test_the_table_names_every_task_and_the_paper():
    task = make_task(tiny_data())
    arrays = tiny_arrays(np.arange(1, 21), *np.ones([2, 20], np.int32))
    right = one_hot([[1, 1]] * 19 + [[1, 3]])  # all but the last question's last step
    outputs = {"probabilities": right, "loss": np.zeros([20, 2])}
    results = BabiReport(task).results(arrays, np.arange(20), outputs)
    results = dataclasses.replace(results, data=RELEASED)
    table = BabiReport(task).table(results)
    assert table.columns[1:3] == ("step 1", "step 2")
    for number, (row, name) in enumerate(zip(table.rows[:20], TASK_NAMES, strict=True), 1):
        assert row[0] == f"{number:2d} {name}"
        assert row[3] == ("solved" if number < 20 else "failed")
    assert table.rows[19][1:3] == ("0.0", "100.0")
    assert table.rows[20:] == [
        ("mean error", "0.00", "5.00", "", "0.46 ± 0.77"),
        ("tasks failed of 20", "0", "1", "", "0.13 ± 0.35"),
    ]


@pytest.mark.parametrize(
    ("data", "tasks"),
    [
        ({}, 20),
        ({"source": "simulated", "notes": "All questions are simulated"}, 20),
        ({**RELEASED, "notes": "Task 3: no en test file; 9 test questions from the simulator"}, 20),
        (RELEASED, 19),
    ],
)
def test_the_papers_results_stand_beside_those_on_all_released_test_files_alone(data, tasks):
    task = make_task(tiny_data())
    arrays = tiny_arrays(np.arange(1, tasks + 1), *np.ones([2, tasks], np.int32))
    outputs = {"probabilities": one_hot([[1]] * tasks), "loss": np.zeros([tasks, 1])}
    report = BabiReport(task)
    results = report.results(arrays, np.arange(tasks), outputs)
    results = dataclasses.replace(results, data=data)
    assert "paper" not in str(report.table(results)) and "0.46" not in str(report.table(results))
    (axes,) = report.figures(results)["error_by_task"].axes
    assert "paper" not in axes.get_title() and [[20, 0.46]] not in drawn(axes)


def drawn(axes):
    return [line.get_xydata().tolist() for line in axes.lines]
