"""bAbI's results: errors by task and step, their table and figure, beside the paper's; examples."""

from typing import Any

import numpy as np
import tensorflow as tf
from matplotlib.figure import Figure

from rrn.pages import Example, Table
from rrn.tasks.babi.batches import ALONE
from rrn.tasks.babi.task import Babi
from rrn.tasks.examples import answer_steps, message_strengths
from rrn.tasks.report import Outputs, Report, Results, results_by_step
from rrn.tasks.task import Arrays, Batch

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
SOLVED_ERROR = 5.0  # a task is solved at an error of at most 5 %
PAPER_ERROR, PAPER_FAILED = "0.46 ± 0.77", "0.13 ± 0.35"  # of 15 runs


class BabiReport(Report):
    """Errors by task and step; see `rrn.tasks.report.Report` for what each method is for."""

    task: Babi
    error = "error, %"
    group = "task"

    def group_name(self, group: int) -> str:
        task = group % ALONE
        alone = ", answered by the question alone" if group > ALONE else ""
        return f"{task} {TASK_NAMES[task - 1]}{alone}"

    def results(self, arrays: Arrays, examples: np.ndarray, outputs: Outputs) -> Results:
        """Computes `error/task_01` ... and `error/mean` (percent), `tasks_failed` and `loss`."""
        answer, tasks = (arrays[name].numpy()[examples] for name in ("answer", "task"))
        # Id 0 stands for every word that training does not have: answering it is never right.
        correct = outputs["probabilities"].argmax(-1) == np.where(answer, answer, -1)[:, None]
        wrong = 100.0 * ~correct
        present = np.unique(tasks)
        errors = np.array([wrong[tasks == task].mean(axis=0) for task in present])
        by_step = {f"error/task_{t:02d}": errors[i] for i, t in enumerate(present)}
        by_step["error/mean"] = errors.mean(axis=0)
        by_step["tasks_failed"] = (errors > SOLVED_ERROR).sum(axis=0)
        by_step["loss"] = outputs["loss"].mean(axis=0, dtype=np.float64)
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
        columns = "error, %", *steps, f"at {SOLVED_ERROR:.0f} %", "paper, 15 runs"
        if not _on_papers_questions(results):
            columns, rows = columns[:-1], [row[:-1] for row in rows]
        return Table(columns, rows)

    def figures(self, results: Results) -> dict[str, Figure]:
        """Draws `error_by_task`: bars of every task's error at every step and of the mean."""
        names, errors = zip(*_errors(results), ("mean", results.by_step["error/mean"]), strict=True)
        errors = np.array(errors)
        figure = Figure(figsize=(11, 4.5), layout="constrained")
        axes = figure.subplots()
        middle, width = np.arange(len(names)), 0.8 / errors.shape[1]
        for step, heights in enumerate(errors.T):
            shade = str(0.75 * (1 - (step + 1) / errors.shape[1]))
            left = middle - 0.4 + step * width
            axes.bar(left, heights, width, align="edge", color=shade, label=f"step {step + 1}")
        mean, failed = results.metrics["error/mean"], results.metrics["tasks_failed"]
        title = f"mean error {mean:.2f} %, tasks failed {failed:.0f}"
        if _on_papers_questions(results):
            title += f" (paper {PAPER_ERROR} %, {PAPER_FAILED})"
            mean, deviation = (float(number) for number in PAPER_ERROR.split(" ± "))
            mark = {"fmt": "D", "color": "C3", "markersize": 4, "capsize": 3}
            axes.errorbar(middle[-1:], [mean], [deviation], label="paper, 15 runs", **mark)
        axes.axhline(SOLVED_ERROR, color="C1", linewidth=1, label=f"solved at {SOLVED_ERROR:.0f} %")
        axes.set_xticks(middle, names)
        axes.set(xlabel="bAbI task", ylabel="error, %", xlim=(-0.6, len(names) - 0.4))
        axes.set_ylim(bottom=0)
        axes.set_title(title, fontsize="medium")
        axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))
        return {"error_by_task": figure}

    def look(self, batch: Batch) -> tuple[np.ndarray, np.ndarray]:
        """Returns the answers' probabilities `[examples, steps, words]`, and nodes' strengths."""
        task, rrn = self.task, self.task.network.rrn
        encodings = task.encode(batch)
        graph, hidden = task.run(encodings, batch)
        _, features, questions = task.features(encodings, batch)
        edges = tf.gather(graph.broadcast_globals_to_nodes(questions), graph.edge_list()[0])
        strengths = message_strengths(rrn, graph, features, hidden, edges)
        return tf.nn.softmax(task.logits(graph, hidden)).numpy(), strengths

    def example(self, arrays: Arrays, batch: Batch, row: int, looked: Any) -> Example:
        probabilities, strengths = looked[0][row], looked[1][:, _nodes(batch["masks"])[row]]
        question, words = batch["examples"][row], self.task.constants["vocabulary"]
        names = "story", "num_facts", "question", "answer"
        story, num_facts, asked, answer = (int(arrays[name][question]) for name in names)
        end = int(arrays["story_start"][story]) + num_facts
        facts = arrays["facts"].numpy()[end - strengths.shape[1] : end]

        def in_words(sentence):
            tokens = arrays["sentences/tokens"][sentence][: arrays["sentences/length"][sentence]]
            return " ".join(words[token] for token in tokens.numpy())

        return Example(
            title=f"Task {self.group_name(int(self.task.groups(arrays)[question]))}",
            question=in_words(asked) + "?",
            right=words[answer],
            right_probabilities=probabilities[:, answer],
            lines=[in_words(fact) for fact in facts],
            steps=answer_steps(probabilities, words, strengths),
        )


create_report = BabiReport


def _errors(results):
    """[(task's number, errors by step)] of the tasks in `results`."""
    names = {task: f"error/task_{task:02d}" for task in range(1, len(TASK_NAMES) + 1)}
    return [(t, results.by_step[name]) for t, name in names.items() if name in results.by_step]


def _on_papers_questions(results):
    """Whether all tasks' test questions are released ones, as the paper's are."""
    source, notes = (results.data.get(name, "") for name in ("source", "notes"))
    released = source not in ("", "simulated") and " test file" not in notes
    return released and len(_errors(results)) == len(TASK_NAMES)


def _nodes(masks):
    """The nodes of each of the batch's examples."""
    nodes, first = [], 0
    for mask in masks:
        for row in mask.numpy():
            nodes.append(first + np.flatnonzero(row))
            first += len(row)
    return nodes
