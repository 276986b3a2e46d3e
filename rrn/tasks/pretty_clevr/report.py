"""Pretty-CLEVR's results: accuracy by jumps and step, beside the paper's; a gallery; examples."""

import dataclasses
import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from matplotlib.figure import Figure

from rrn.pages import Example
from rrn.tasks.examples import answer_steps, message_strengths
from rrn.tasks.pretty_clevr import network
from rrn.tasks.pretty_clevr.network import OBJECTS, one_hot_question, question_of
from rrn.tasks.pretty_clevr.task import PrettyClevr
from rrn.tasks.report import AccuracyReport, Outputs, Results
from rrn.tasks.task import Arrays, Batch

# Accuracy in percent by jumps, read off the paper's plot (± 1).
PAPER = (
    ("paper, RRN", (100, 100, 99, 98, 94, 86, 84, 84)),
    ("paper, RRN read out at step 1", (100, 97, 43, 31, 33, 32, 25, 52)),
    ("paper, RRN read out at step 2", (100, 100, 93, 67, 52, 44, 49, 66)),
    ("paper, RRN read out at step 3", (100, 100, 99, 94, 81, 70, 71, 78)),
    ("paper, relation network", (100, 97, 54, 34, 34, 32, 27, 52)),
    ("paper, MLP", (100, 53, 42, 31, 28, 27, 28, 34)),
)

PLOTTED = {  # the markers' names in matplotlib; the colours' are the same
    "circle": "o",
    "triangle_down": "v",
    "triangle_up": "^",
    "triangle_left": "<",
    "triangle_right": ">",
    "square": "s",
    "plus": "P",
    "cross": "X",
}


class PrettyClevrReport(AccuracyReport):
    """Accuracy by jumps and step; see `rrn.tasks.report.Report` for what each method is for."""

    task: PrettyClevr
    group = "jumps"
    published = PAPER
    note = "The paper's results are on scenes that its authors generated."

    def group_name(self, group: int) -> str:
        return f"{group} jump{'' if group == 1 else 's'}"

    def results(self, arrays: Arrays, examples: np.ndarray, outputs: Outputs) -> Results:
        """Adds samples for the gallery: a question of each number of jumps."""
        jumps, random = question_of(examples).jumps, np.random.default_rng(0)
        shown = [random.choice(np.flatnonzero(jumps == k)) for k in np.unique(jumps)]
        predicted = outputs["predicted"][shown].astype(int)  # a mean over passes, which are alike
        samples = {"examples": examples[shown], "predicted": predicted}
        for name in ("positions", "colours", "markers", "order"):
            samples[name] = arrays[name].numpy()[question_of(examples[shown]).scene]
        accuracy = super().results(arrays, examples, outputs)
        return dataclasses.replace(accuracy, samples=samples)

    def figures(self, results: Results) -> dict[str, Figure]:
        """Draws `accuracy` by jumps, and the `gallery`."""
        gallery = draw_gallery(results.samples, self.task.names)
        return {**super().figures(results), "gallery": gallery}

    def look(self, batch: Batch) -> Any:
        """Returns the classes' probabilities `[examples, steps, classes]`, objects' strengths."""
        modules = self.task.network
        question = one_hot_question(batch["anchor"], batch["jumps"])
        logits, _ = modules(batch, question, None)
        strengths = np.zeros([1, 0])  # the MLP sends no messages
        if isinstance(modules, network.PrettyClevrNetwork):
            graph, features, hidden = modules.hidden_states(batch, question)
            edges = tf.reshape(batch["distances"], [-1, 1])
            strengths = message_strengths(modules.rrn, graph, features, hidden, edges)
        return tf.nn.softmax(logits).numpy(), strengths

    def example(self, arrays: Arrays, batch: Batch, row: int, looked: Any) -> Example:
        probabilities, strengths = looked
        words = [name.replace("_", " ") for name in self.task.names]
        jumps, anchor = int(batch["jumps"][row]), int(batch["anchor"][row])
        answer, nodes = int(batch["answers"][row, jumps]), slice(OBJECTS * row, OBJECTS * (row + 1))
        asked = "marker" if anchor < OBJECTS else "colour"
        lines = []
        for object_ in batch["objects"][row].numpy():
            (x, y), (colour, marker) = object_[:2], np.flatnonzero(object_[2:])
            lines.append(f"{words[colour]} {words[marker]} at {x:.2f}, {y:.2f}")
        return Example(
            title=self.group_name(jumps),
            question=f"{self.group_name(jumps)} from {words[anchor]}: which {asked}?",
            right=words[answer],
            right_probabilities=probabilities[row, :, answer],
            lines=lines,
            steps=answer_steps(probabilities[row], words, strengths[:, nodes]),
        )


create_report = PrettyClevrReport


def draw_gallery(samples: Mapping[str, np.ndarray], names: Sequence[str]) -> Figure:
    """Draws scenes of the samples with their questions, walks, and answers at every step."""
    lines = 1 + samples["predicted"].shape[1]
    figure = Figure(figsize=(11, 2 * (2.8 + 0.2 * lines)), layout="constrained")
    grid = figure.subplots(4, 4, height_ratios=2 * [2.8, 0.2 * lines])  # scenes, answers, ...
    for axes in grid.flat:
        axes.set_axis_off()
    for i, sample in enumerate(zip(*samples.values(), strict=True)):
        axes, below = grid[i // 4 * 2 :, i % 4][:2]
        _draw_question(axes, below, names, *sample)
    return figure


def _draw_question(axes, below, names, example, predicted, positions, colours, markers, order):
    """One scene with its question, and the answers below; arguments are rows of the samples."""
    words = [name.replace("_", " ") for name in names]
    _, start, jumps, by_marker = question_of(example)
    walk = order[start, : jumps + 1]
    classes = [colours, OBJECTS + markers]
    anchor, answer = classes[by_marker][start], classes[1 - by_marker][walk[-1]]
    for (x, y), colour, marker in zip(positions, colours, markers, strict=True):
        style = {"marker": PLOTTED[names[OBJECTS + marker]], "color": names[colour]}
        axes.plot(x, y, **style, markersize=10, markeredgecolor="0.3", markeredgewidth=0.5)
    for tail, head in itertools.pairwise(positions[walk]):
        arrow = {"arrowstyle": "->", "color": "0.4", "shrinkA": 6, "shrinkB": 6}
        axes.annotate("", head, tail, arrowprops=arrow)
    axes.set_axis_on()
    axes.set(xlim=(-0.1, 1.1), ylim=(1.1, -0.1), aspect="equal", xticks=[], yticks=[])
    asked, plural = ("marker", "colour")[by_marker], "" if jumps == 1 else "s"
    axes.set_title(f"{words[anchor]}, {jumps} jump{plural}: which {asked}?", fontsize=9)
    lines = [(f"answer: {words[answer]}", "black")]
    for step, guess in enumerate(predicted, 1):
        lines.append((f"step {step}: {words[guess]}", "green" if guess == answer else "red"))
    for i, (line, colour) in enumerate(lines):
        below.text(0.0, 1.0 - i / len(lines), line, color=colour, fontsize=9, va="top")
