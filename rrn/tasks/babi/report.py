"""bAbI's results: errors by task and step, their table and figure, beside the paper's."""

import numpy as np

from rrn.tasks.reports import results_by_step

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
PAPER = "paper, 15 runs: mean error 0.46 ± 0.77 %, tasks failed 0.13 ± 0.35"


def results(arrays, examples, outputs):
    """`error/task_01` ... `error/task_20`, `error/mean` (percent), `tasks_failed`, `loss`."""
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
    last = dict(zip(present.tolist(), errors[:, -1].tolist(), strict=True))
    return results_by_step(by_step, error=by_step["error/mean"][-1], group_errors=last)


def _errors(results):
    """[(task's number, errors by step)] of the tasks in `results`."""
    return [(task, results.by_step[f"error/task_{task:02d}"]) for task in results.group_errors]


def table(results):
    """The errors in words."""
    steps = range(1, len(results.by_step["error/mean"]) + 1)
    lines = ["error, %".ljust(32) + "".join(f"step {s:<5}" for s in steps)]
    for task, errors in _errors(results):
        numbers = "".join(f"{e:6.1f}    " for e in errors)
        solved = "solved" if errors[-1] <= SOLVED_ERROR else ""
        lines.append(f"{task:2d} {TASK_NAMES[task - 1]:<29}{numbers}{solved}".rstrip())
    metrics = results.metrics
    lines.append(
        f"mean error {metrics['error/mean']:.2f} %, "
        f"tasks failed {metrics['tasks_failed']:.0f} of {len(_errors(results))}"
    )
    return "\n".join([*lines, PAPER])


def figures(results):
    """`error_by_task`: bars of every task's error at every step, and the 5 % line."""
    from matplotlib.figure import Figure  # only drawing needs it

    tasks, errors = zip(*_errors(results), strict=True)
    errors = np.array(errors)
    figure = Figure(figsize=(11, 4.5), layout="constrained")
    axes = figure.subplots()
    places, width = np.arange(len(tasks)), 0.8 / errors.shape[1]
    for step in range(errors.shape[1]):
        shade = str(0.75 * (1 - (step + 1) / errors.shape[1]))
        left = places - 0.4 + step * width
        axes.bar(left, errors[:, step], width, align="edge", color=shade, label=f"step {step + 1}")
    axes.axhline(SOLVED_ERROR, color="C1", linewidth=1, label="solved at 5 %")
    axes.set_xticks(places, [f"{t}" for t in tasks])
    axes.set_xlabel("bAbI task")
    axes.set_ylabel("error, %")
    axes.set_title(
        f"mean error {results.metrics['error/mean']:.2f} %, "
        f"{results.metrics['tasks_failed']:.0f} tasks failed ({PAPER})",
        fontsize=9,
    )
    axes.legend(fontsize=8)
    return {"error_by_task": figure}
