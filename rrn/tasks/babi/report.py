"""bAbI's results: errors by task and step, their table and figure, beside the paper's; examples."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import tensorflow as tf

from rrn.pages import Example, Step, Table
from rrn.tasks.babi.batches import ALONE
from rrn.tasks.babi.task import Babi
from rrn.tasks.examples import likeliest, message_strengths, one_of_each
from rrn.tasks.inputs import evaluation_batch
from rrn.tasks.report import Quantity, Report, Results, results_by_step
from rrn.tasks.task import Arrays, Batch
from rrn.variables.reading import reading_scope

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TASK_NAMES = (
    "single supporting fact",
    "two supporting facts",
    "three supporting facts",
    "two-argument relations",
    "three-argument relations",
    "yes/no questions",
    "counting",
    "lists/sets",
    "simple negation",
    "indefinite knowledge",
    "basic coreference",
    "conjunction",
    "compound coreference",
    "time reasoning",
    "basic deduction",
    "basic induction",
    "positional reasoning",
    "size reasoning",
    "path finding",
    "agent's motivations",
)
WRONG = "wrong answers, %"
SOLVED_ERROR = 5.0  # a task is solved at an error of at most 5 %
PAPER_ERROR, PAPER_FAILED = "0.46 ± 0.77", "0.13 ± 0.35"  # of 15 runs


def create_report(task: Babi) -> "BabiReport":
    """Makes the report; see `rrn.tasks.create_report`.

    Args:
      task: the task.

    Returns:
      The report.
    """
    return BabiReport(task)


class BabiReport(Report):
    """Errors by task and step; see `rrn.tasks.report.Report` for what each method is for."""

    task: Babi
    quantities: ClassVar = {
        "error/": Quantity(WRONG),
        "accuracy": Quantity(WRONG, -100, offset=100, curve="mean"),
        "accuracy_by_task": Quantity(WRONG, -100, "task", 1, offset=100),
        "accuracy_by_step": Quantity("wrong answers by step, %", -100, "step", 1, offset=100),
        "tasks_failed": Quantity("tasks failed"),
        "auxiliary_by_task": Quantity("loss of what facts tell, by task", 1, "task", 1),
    }
    error = WRONG
    group = "task"

    def group_name(self, group: int) -> str:
        task = group % ALONE
        alone = ", answered by the question alone" if group > ALONE else ""
        return f"{task} {TASK_NAMES[task - 1]}{alone}"

    def results(
        self, arrays: Arrays, examples: np.ndarray, outputs: Mapping[str, np.ndarray]
    ) -> Results:
        """Computes the errors by task.

        Returns:
          By step `error/task_01` ... `error/task_20` and `error/mean` in percent, `tasks_failed`,
          `loss`.
        """
        answer, tasks = (arrays[name].numpy()[examples] for name in ("answer", "task"))
        # Id 0 stands for every word that training does not have: answering it is never right.
        correct = outputs["probabilities"].argmax(-1) == np.where(answer, answer, -1)[:, None]
        wrong = 100.0 * ~correct
        present = np.unique(tasks)
        errors = np.array([wrong[tasks == task].mean(axis=0) for task in present])
        by_step = {f"error/task_{t:02d}": errors[i] for i, t in enumerate(present)}
        by_step["error/mean"] = errors.mean(axis=0)
        by_step["tasks_failed"] = (errors > SOLVED_ERROR).sum(axis=0)
        by_step["loss"] = outputs["loss"].mean(axis=0)
        groups = self.task.groups(arrays)[examples]
        last = {int(group): wrong[groups == group, -1].mean() for group in np.unique(groups)}
        return results_by_step(by_step, by_step["error/mean"][-1], groups, last)

    def table(self, results: Results) -> Table:
        """Makes the table of errors by task and step, their mean and the failed tasks."""
        by_step = results.by_step
        steps = [f"step {step}" for step in range(1, len(by_step["error/mean"]) + 1)]
        rows = []
        for task, errors in _errors(results):
            solved = "solved" if errors[-1] <= SOLVED_ERROR else "failed"
            name = f"{task:2d} {TASK_NAMES[task - 1]}"
            rows.append((name, *(f"{error:.1f}" for error in errors), solved, ""))
        rows.append(("mean error", *(f"{e:.2f}" for e in by_step["error/mean"]), "", PAPER_ERROR))
        failed = f"tasks failed of {len(_errors(results))}"
        rows.append((failed, *(f"{n:.0f}" for n in by_step["tasks_failed"]), "", PAPER_FAILED))
        return Table(("error, %", *steps, f"at {SOLVED_ERROR:.0f} %", "paper, 15 runs"), rows)

    def figures(self, results: Results) -> dict[str, "Figure"]:
        """Draws `error_by_task`.

        There are bars of every task's error at every step and of the mean, beside the paper's, and
        the 5 % line.
        """
        from matplotlib.figure import Figure  # only drawing needs it

        names, errors = zip(*_errors(results), ("mean", results.by_step["error/mean"]), strict=True)
        errors = np.array(errors)
        figure = Figure(figsize=(11, 4.5), layout="constrained")
        axes = figure.subplots()
        places, width = np.arange(len(names)), 0.8 / errors.shape[1]
        for step in range(errors.shape[1]):
            shade = str(0.75 * (1 - (step + 1) / errors.shape[1]))
            left = places - 0.4 + step * width
            axes.bar(
                left, errors[:, step], width, align="edge", color=shade, label=f"step {step + 1}"
            )
        mean, deviation = (float(number) for number in PAPER_ERROR.split(" ± "))
        mark = {"fmt": "D", "color": "C3", "markersize": 4, "capsize": 3}
        axes.errorbar(places[-1:], [mean], [deviation], label="paper, 15 runs", **mark)
        axes.axhline(SOLVED_ERROR, color="C1", linewidth=1, label=f"solved at {SOLVED_ERROR:.0f} %")
        axes.set_xticks(places, names)
        axes.set(xlabel="bAbI task", ylabel="wrong answers, %", xlim=(-0.6, len(names) - 0.4))
        axes.set_ylim(bottom=0)
        mean, failed = results.metrics["error/mean"], results.metrics["tasks_failed"]
        axes.set_title(
            f"mean error {mean:.2f} % (paper {PAPER_ERROR} %), "
            f"tasks failed {failed:.0f} (paper {PAPER_FAILED})",
            fontsize="medium",
        )
        axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))
        return {"error_by_task": figure}

    def examples(self, arrays: Arrays, ids: np.ndarray, seed: int) -> list[Example]:
        """Shows the last question of each task, also without each fact, and facts' strengths."""
        task = self.task
        numbers = arrays["task"].numpy()[ids]
        chosen = ids[np.sort(one_of_each(numbers, len(TASK_NAMES)))]
        batch = evaluation_batch(task, arrays, chosen, seed)
        (probabilities, strengths), nodes = self.look(batch), _nodes(batch["masks"])
        ends = np.cumsum([len(facts) for facts in nodes])
        without = np.split(self.leave_out(batch), ends[:-1])
        made = [
            _example(task, arrays, question, probabilities[i], strengths[:, nodes[i]], without[i])
            for i, question in enumerate(batch["examples"].numpy())
        ]
        return [made[place] for place in batch["task"].numpy().argsort()]

    def look(self, batch: Batch) -> tuple[np.ndarray, np.ndarray]:
        """Looks into the network at every step.

        Returns:
          (the words' probabilities as the answer `[examples, steps, words]`, how strong the
          messages are that each node sends `[steps, nodes]`).
        """
        task = self.task
        with reading_scope():
            encodings = task.encode(batch)
            logits, hidden = task.logits(encodings, batch, None)
            graph, features, questions = task.features(encodings, batch)
            states = [task.network.rrn.input_fn(features), *hidden[:-1]]  # before every step
            edges = tf.gather(graph.broadcast_globals_to_nodes(questions), graph.edge_list()[0])
            strengths = message_strengths(task.network.rrn.message_fn, graph, states, edges)
        return tf.nn.softmax(logits).numpy(), strengths

    def leave_out(self, batch: Batch) -> np.ndarray:
        """Answers every question once without each fact of its story.

        Returns:
          The words' probabilities as the answer `[facts, steps, words]`, the facts of one example
          after those of another.
        """
        with reading_scope():
            encodings = self.task.encode(batch)
            logits, _ = self.task.logits(encodings, _without_each_fact(batch), None)
        return tf.nn.softmax(logits).numpy()


def _errors(results):
    """[(task's number, errors by step)] of the tasks in `results`."""
    names = {task: f"error/task_{task:02d}" for task in range(1, len(TASK_NAMES) + 1)}
    return [(t, results.by_step[name]) for t, name in names.items() if name in results.by_step]


# Examples of the page

NODE_INPUTS = "fact_of_node", "position_of_node"


def _nodes(masks):
    """The nodes of each of the batch's examples."""
    nodes, first = [], 0
    for mask in masks:
        for row in mask.numpy():
            nodes.append(first + np.flatnonzero(row))
            first += len(row)
    return nodes


def _without_each_fact(batch):
    """The batch with as many copies of an example as it has facts, each without one of them."""
    masks, nodes, examples, first_node, first_example = [], [], [], 0, 0
    for mask in (mask.numpy() for mask in batch["masks"]):
        rows, places = np.nonzero(mask)
        masks.append(mask[rows])
        masks[-1][np.arange(len(rows)), places] = 0.0
        nodes.append(first_node + np.arange(mask.size).reshape(mask.shape)[rows])
        examples.append(first_example + rows)
        first_node, first_example = first_node + mask.size, first_example + len(mask)
    nodes = np.concatenate([some.ravel() for some in nodes])
    of_nodes = {name: tf.gather(batch[name], nodes) for name in NODE_INPUTS}
    question = tf.gather(batch["question"], np.concatenate(examples))
    return {**batch, **of_nodes, "question": question, "masks": tuple(map(tf.constant, masks))}


def _example(task, arrays, question, probabilities, strengths, without):
    """One question with the last facts before it.

    The arrays of numbers are by step, but for those without each fact, `[facts, steps, words]`.
    """
    names = "task", "story", "num_facts", "question", "answer"
    number, story, told, asked, answer = (int(arrays[name][question]) for name in names)
    end = int(arrays["story_start"][story]) + told
    facts = arrays["facts"].numpy()[end - strengths.shape[1] : end]
    return Example(
        title=f"Task {number}: {TASK_NAMES[number - 1]}",
        question=_in_words(task, arrays, asked) + "?",
        right=task.constants["vocabulary"][answer],
        right_probabilities=probabilities[:, answer],
        lines=[_in_words(task, arrays, fact) for fact in facts],
        steps=[
            Step(answers=likeliest(p, task.constants["vocabulary"]), strengths=s, without=w)
            for p, s, w in zip(probabilities, strengths, without[..., answer].T, strict=True)
        ],
    )


def _in_words(task, arrays, sentence):
    tokens = arrays["sentences/tokens"][sentence][: arrays["sentences/length"][sentence]]
    return " ".join(task.constants["vocabulary"][token] for token in tokens.numpy())
