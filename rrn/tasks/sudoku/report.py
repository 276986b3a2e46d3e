"""Sudoku's results: boards solved by givens and step, beside the published results; examples."""

import dataclasses

import numpy as np
import tensorflow as tf
from matplotlib import colormaps
from matplotlib.figure import Figure

from rrn.pages import Example, Step, Table
from rrn.tasks.report import Outputs, Report, Results, results_by_step
from rrn.tasks.sudoku.drawing import belief_marks, board_marks
from rrn.tasks.sudoku.task import Sudoku
from rrn.tasks.task import Arrays, Batch

PAPER = {32: 94.1, 64: 96.6}  # step -> percent of the boards with 17 givens that are solved
SURE = 0.99  # a probability
SOLVED = "The board is solved."


class SudokuReport(Report):
    """Boards solved, by givens; see `rrn.tasks.report.Report` for what each method is for."""

    task: Sudoku
    error = "boards not solved, %"
    group = "givens"
    most_examples = 4  # each has as many drawings as there are steps

    def group_name(self, group: int) -> str:
        return f"{group} givens"

    def results(self, arrays: Arrays, examples: np.ndarray, outputs: Outputs) -> Results:
        """Computes `board_accuracy/17` ... `/all`, `cell_accuracy/...` (percent) and `loss`.

        `sure/boards` is the percentage of boards of which every digit has a probability of at least
        `SURE`, and `sure/wrong` the percentage of these that are wrong.
        """
        givens = arrays["givens"].numpy()[examples]
        cells = outputs["cells_correct"].astype(np.float64)
        by_step, levels = {}, np.unique(givens).tolist()
        for name, right in (("board", cells == 81.0), ("cell", cells / 81.0)):
            for level in levels:
                by_step[f"{name}_accuracy/{level}"] = 100.0 * right[givens == level].mean(axis=0)
            by_step[f"{name}_accuracy/all"] = 100.0 * right.mean(axis=0)
        sure = outputs["confidence"] >= SURE
        by_step["sure/boards"] = 100.0 * sure.mean(axis=0)
        wrong = (sure & (cells < 81.0)).sum(axis=0)
        by_step["sure/wrong"] = 100.0 * wrong / np.maximum(sure.sum(axis=0), 1)
        by_step["loss"] = outputs["loss"].mean(axis=0, dtype=np.float64)
        unsolved = {n: 100.0 - float(by_step[f"board_accuracy/{n}"][-1]) for n in levels}
        error = 100.0 - by_step["board_accuracy/all"][-1]
        results = results_by_step(by_step, error, givens, unsolved)
        return dataclasses.replace(results, samples={"as_the_papers": _as_the_papers(arrays)})

    def table(self, results: Results) -> Table:
        """Makes the table of boards solved by givens and step, and cells right."""
        by_step, levels = results.by_step, _levels(results)
        num_steps = len(by_step["loss"])
        steps = [2**i for i in range(num_steps.bit_length()) if 2**i < num_steps] + [num_steps]
        name = f"{levels[0][0]}-{levels[-1][0]}, all"
        both = by_step["board_accuracy/all"], by_step["cell_accuracy/all"]
        rows = [
            (f"{level}", *(f"{boards[step - 1]:.1f}" for step in steps), f"{cells[-1]:.2f}")
            for level, boards, cells in [*levels, (name, *both)]
        ]
        if results.samples["as_the_papers"]:
            rows.append(("paper, 17", *(f"{PAPER.get(step, '')}" for step in steps), ""))
        sure, wrong = by_step["sure/boards"][-1], by_step["sure/wrong"][-1]
        notes = [
            f"every digit's probability is at least {SURE} on {sure:.1f} % of the boards; "
            f"{wrong:.2f} % of these are wrong"
        ]
        headings = "boards solved, %; givens:", *(f"step {step}" for step in steps)
        return Table((*headings, "cell accuracy, %"), rows, notes)

    def figures(self, results: Results) -> dict[str, Figure]:
        """Draws the boards solved by step; of one step the table says all of it.

        `accuracy_by_step` has a line for each number of givens, and the paper's marks.
        """
        if len(results.by_step["loss"]) == 1:
            return {}
        givens, boards, _ = zip(*_levels(results), strict=True)
        steps = np.arange(1, len(boards[0]) + 1)
        lines = Figure(figsize=(8, 4.5), layout="constrained")
        axes = lines.subplots()
        for i, (level, values) in enumerate(zip(givens, boards, strict=True)):
            colour = colormaps["viridis"](i / max(len(givens) - 1, 1))
            axes.plot(steps, values, color=colour, label=f"{level}")
        axes.plot(steps, results.by_step["board_accuracy/all"], "k--", label="all")
        paper = [step for step in PAPER if step <= steps[-1]]
        if paper and results.samples["as_the_papers"]:
            solved = [PAPER[step] for step in paper]
            axes.plot(paper, solved, "D", color="C3", clip_on=False, label="paper, 17")
        axes.set(xlabel="step", ylabel="boards solved, %")
        axes.set(xlim=(1, max(steps[-1], 2)), ylim=(0, 101))
        axes.legend(title="givens", fontsize="small", loc="center left", bbox_to_anchor=(1.01, 0.5))
        return {"accuracy_by_step": lines}

    def look(self, batch: Batch) -> np.ndarray:
        """Returns the digits' probabilities, `[examples, 81, steps, 10]`."""
        task, puzzle = self.task, batch["puzzle"]
        logits, _ = task.logits(task.encode(batch), puzzle, task.config.evaluation_steps)
        return tf.nn.softmax(logits).numpy()

    def example(self, arrays: Arrays, batch: Batch, row: int, looked: np.ndarray) -> Example:
        """Shows how a board fills in."""
        puzzle, solution = (batch[name][row].numpy() for name in ("puzzle", "solution"))
        right = (looked[row].argmax(-1) == solution[:, None]).sum(axis=0)
        notes = [f"{cells} of 81 cells are right." if cells < 81 else SOLVED for cells in right]
        by_step = zip(looked[row].transpose(1, 0, 2), notes, strict=True)
        return Example(
            title=f"{np.count_nonzero(puzzle)} givens",
            question="A digit's area is its probability. Wrong digits are red.",
            drawing=board_marks(puzzle),
            steps=[Step(marks=belief_marks(puzzle, p, solution), note=note) for p, note in by_step],
        )


create_report = SudokuReport


def _as_the_papers(arrays):
    """Whether all boards are made of puzzles with 17 givens, as the paper's are."""
    return "pool" in arrays and bool((np.count_nonzero(arrays["pool"], axis=1) == 17).all())


def _levels(results):
    """[(givens, % of boards solved by step, cell accuracy by step)], ascending."""
    by_step = results.by_step
    return [
        (level, by_step[f"board_accuracy/{level}"], by_step[f"cell_accuracy/{level}"])
        for level in results.group_errors
    ]
