"""Pretty-CLEVR's results: accuracy by jumps and step, beside the paper's; a gallery; examples."""

import dataclasses
import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import tensorflow as tf

from rrn.pages import SIDE, Example, Step, Table
from rrn.tasks.examples import likeliest, message_strengths, one_of_each
from rrn.tasks.inputs import evaluation_batch
from rrn.tasks.pretty_clevr.network import PrettyClevrNetwork, one_hot_question
from rrn.tasks.pretty_clevr.questions import OBJECTS, question_of
from rrn.tasks.pretty_clevr.task import PrettyClevr
from rrn.tasks.report import (
    Quantity,
    Report,
    Results,
    accuracy_by_kind,
    accuracy_table,
    draw_accuracy,
)
from rrn.tasks.task import Arrays
from rrn.variables.reading import reading_scope
from rrn.variables.shapes import known_size

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Accuracy in percent by jumps, read off the paper's plot (± 1).
PAPER = (
    ("paper, RRN", (100, 100, 99, 98, 94, 86, 84, 84)),
    ("paper, RRN read out at step 1", (100, 97, 43, 31, 33, 32, 25, 52)),
    ("paper, RRN read out at step 2", (100, 100, 93, 67, 52, 44, 49, 66)),
    ("paper, RRN read out at step 3", (100, 100, 99, 94, 81, 70, 71, 78)),
    ("paper, relation network", (100, 97, 54, 34, 34, 32, 27, 52)),
    ("paper, MLP", (100, 53, 42, 31, 28, 27, 28, 34)),
)

TRIANGLE, SQUARE = "0,-1 1,0.8 -1,0.8", "-0.9,-0.9 0.9,-0.9 0.9,0.9 -0.9,0.9"
PLUS = (
    "-0.4,-1.1 0.4,-1.1 0.4,-0.4 1.1,-0.4 1.1,0.4 0.4,0.4 "
    "0.4,1.1 -0.4,1.1 -0.4,0.4 -1.1,0.4 -1.1,-0.4 -0.4,-0.4"
)
SHAPES = {  # the markers on a page: a polygon and by how many degrees it is turned
    "triangle_down": (TRIANGLE, 180),
    "triangle_up": (TRIANGLE, 0),
    "triangle_left": (TRIANGLE, 270),
    "triangle_right": (TRIANGLE, 90),
    "square": (SQUARE, 0),
    "plus": (PLUS, 0),
    "cross": (PLUS, 45),
}
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


def create_report(task: PrettyClevr) -> "PrettyClevrReport":
    """Makes the report; see `rrn.tasks.create_report`.

    Args:
      task: the task.

    Returns:
      The report.
    """
    return PrettyClevrReport(task)


class PrettyClevrReport(Report):
    """Accuracy by jumps and step; see `rrn.tasks.report.Report` for what each method is for."""

    task: PrettyClevr
    quantities: ClassVar = {
        "accuracy_by_jumps": Quantity("right answers, %", 100, "jumps"),
    }
    error = "wrong answers, %"
    group = "jumps"

    def group_name(self, group: int) -> str:
        return f"{group} jump{'' if group == 1 else 's'}"

    def results(
        self, arrays: Arrays, examples: np.ndarray, outputs: Mapping[str, np.ndarray]
    ) -> Results:
        """Computes the accuracy by number of jumps.

        Returns:
          By step `accuracy/jumps_0` ... `accuracy/jumps_7` and `accuracy/all` in percent, `loss`;
          samples for the gallery: a question of each number of jumps.
        """
        jumps, random = question_of(examples).jumps, np.random.default_rng(0)
        shown = [random.choice(np.flatnonzero(jumps == k)) for k in np.unique(jumps)]
        predicted = outputs["predicted"][shown].astype(int)  # a mean over passes, which are alike
        samples = {"examples": examples[shown], "predicted": predicted}
        for name in ("positions", "colours", "markers", "order"):
            samples[name] = arrays[name].numpy()[question_of(examples[shown]).scene]
        accuracy = accuracy_by_kind(outputs, jumps, "jumps")
        return dataclasses.replace(accuracy, samples=samples)

    def table(self, results: Results) -> Table:
        return accuracy_table(results, "jumps", PAPER)

    def figures(self, results: Results) -> dict[str, "Figure"]:
        """Draws `accuracy` by jumps, a line for each step beside the paper's, and the `gallery`."""
        return {
            "accuracy": draw_accuracy(results, "jumps", PAPER),
            "gallery": draw_gallery(results.samples, self.task.names),
        }

    def examples(self, arrays: Arrays, ids: np.ndarray, seed: int) -> list[Example]:
        """Shows a question of each number of jumps, with the strength of each object's messages."""
        task = self.task
        chosen = ids[np.sort(one_of_each(question_of(ids).jumps, OBJECTS))]
        batch, network = evaluation_batch(task, arrays, chosen, seed), task.network
        with reading_scope():
            question = one_hot_question(batch["anchor"], batch["jumps"])
            logits, _ = network(batch, question, None)
            strengths = np.zeros(
                [known_size(logits, 1), len(chosen), OBJECTS]
            )  # the MLP sends no messages
            if isinstance(network, PrettyClevrNetwork):
                graph, features, hidden = network.hidden_states(batch, question)
                states = [network.rrn.input_fn(features), *hidden[:-1]]  # before every step
                edges = tf.reshape(batch["distances"], [-1, 1])
                strengths = message_strengths(network.rrn.message_fn, graph, states, edges)
                strengths = strengths.reshape(-1, len(chosen), OBJECTS)
        probabilities, objects = tf.nn.softmax(logits).numpy(), batch["objects"].numpy()
        made = [
            _example(task, arrays, example, objects[i, :, :2], probabilities[i], strengths[:, i])
            for i, example in enumerate(chosen)
        ]
        return [made[place] for place in question_of(chosen).jumps.argsort()]


def draw_gallery(samples: Mapping[str, np.ndarray], names: Sequence[str]) -> "Figure":
    """Draws scenes, each with a question, the walk to its answer, and the answer at every step.

    Args:
      samples: those of `results`, each array by question.
      names: the classes in words.
    """
    from matplotlib.figure import Figure  # only drawing needs it

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


# Examples of the page


def _example(task, arrays, example, nodes, probabilities, strengths):
    """One question with its scene; nodes: the positions `[8, 2]` in the order of `strengths`."""
    scene, start, jumps, by_marker = question_of(example)
    words = [name.replace("_", " ") for name in task.names]
    classes = [arrays["colours"][scene].numpy(), OBJECTS + arrays["markers"][scene].numpy()]
    positions = arrays["positions"][scene].numpy()
    walk = arrays["order"].numpy()[scene, start, : jumps + 1]
    anchor, answer = classes[by_marker][start], classes[1 - by_marker][walk[-1]]
    note = "Arrows are the jumps. The thicker a circle, the stronger the object's messages are."
    plural, asked = "" if jumps == 1 else "s", ("marker", "colour")[by_marker]
    shapes = [_shape(task.names, *object_) for object_ in zip(positions, *classes, strict=True)]
    return Example(
        title=f"{jumps} jump{plural}",
        question=f"{jumps} jump{plural} from {words[anchor]}: which {asked}?",
        right=words[answer],
        right_probabilities=probabilities[:, answer],
        drawing=[_arrow(*ends) for ends in itertools.pairwise(positions[walk])] + shapes,
        steps=[
            Step(answers=likeliest(p, words), marks=_circles(nodes, s), note=note)
            for p, s in zip(probabilities, strengths, strict=True)
        ],
    )


def _on_page(position):
    """Units of a drawing for a position in the unit square, with a margin."""
    return np.round(SIDE * (0.1 + 0.8 * position)).tolist()


def _shape(names, position, colour, marker):
    """The mark of an object; colour and marker are classes."""
    x, y = _on_page(position)
    style = {"fill": names[colour], "stroke": "#5b6675", "stroke-width": 0.1}
    place = f"translate({x:.0f},{y:.0f}) scale(22)"
    if names[marker] == "circle":
        return "circle", {"r": 1, "transform": place, **style}, ""
    points, turned = SHAPES[names[marker]]
    return "polygon", {"points": points, "transform": f"{place} rotate({turned})", **style}, ""


def _arrow(tail, head):
    """The mark of a jump, from near one object to near the next."""
    tail, head = (np.array(_on_page(position)) for position in (tail, head))
    along = (head - tail) / np.linalg.norm(head - tail)
    tail, head = tail + 30 * along, head - 30 * along
    sides = [head - 18 * along + 8 * side * along[::-1] * (1, -1) for side in (-1, 1)]
    path = " ".join(f"{x:.0f},{y:.0f}" for x, y in (tail, head, sides[0], head, sides[1]))
    style = {"fill": "none", "stroke": "#5b6675", "stroke-width": 4}
    return "polyline", {"points": path, **style}, ""


def _circles(positions, strengths):
    """Circles around objects; the thicker, the stronger are the messages that an object sends."""
    marks = []
    for position, strength in zip(positions, strengths, strict=True):
        x, y = _on_page(position)
        style = {"fill": "none", "stroke": "var(--accent)", "stroke-opacity": 0.5}
        width = 24 * strength / max(strengths.max(), 1e-9)
        circle = {"cx": x, "cy": y, "r": 34 + width / 2, "stroke-width": width}
        marks.append(("circle", {**circle, **style}, ""))
    return marks
