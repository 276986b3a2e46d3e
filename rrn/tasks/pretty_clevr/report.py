"""Pretty-CLEVR's results: accuracy by jumps and step, beside the paper's, and a gallery."""

import dataclasses
import itertools

import numpy as np

from rrn.tasks.pretty_clevr.questions import OBJECTS, question_of
from rrn.tasks.reports import accuracy_by_kind, draw_accuracy, format_accuracy

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


def results(arrays, examples, outputs):
    """`accuracy/jumps_0` ... `accuracy/jumps_7` and `accuracy/all` in percent, `loss`; samples for
    the gallery: a question of each number of jumps.
    """
    jumps, random = question_of(examples).jumps, np.random.default_rng(0)
    shown = [random.choice(np.flatnonzero(jumps == k)) for k in np.unique(jumps)]
    predicted = outputs["predicted"][shown].astype(int)  # a mean over passes, which are alike
    samples = {"examples": examples[shown], "predicted": predicted}
    for name in ("positions", "colours", "markers", "order"):
        samples[name] = arrays[name].numpy()[question_of(examples[shown]).scene]
    accuracy = accuracy_by_kind(outputs, jumps, "jumps")
    return dataclasses.replace(accuracy, samples=samples)


def table(results):
    """Accuracy in words, a row for each step, and the paper's."""
    return format_accuracy(results, "jumps", PAPER)


def figures(results, names):
    """`accuracy`: by jumps, a line for each step, beside the paper's; `gallery`: scenes, each with
    a question, the walk to its answer, and the model's answer at every step.

    names: the classes in words.
    """
    return {
        "accuracy": draw_accuracy(results, "jumps", PAPER),
        "gallery": draw_gallery(results.samples, names),
    }


def draw_gallery(samples, names):
    """A figure of scenes with their questions; samples: see `results`; names: the classes in
    words.
    """
    from matplotlib.figure import Figure  # only drawing needs it

    lines = 1 + samples["predicted"].shape[1]
    figure = Figure(figsize=(11, 2 * (2.8 + 0.2 * lines)), layout="constrained")
    grid = figure.subplots(4, 4, height_ratios=2 * [2.8, 0.2 * lines])  # scenes, answers, ...
    for axes in grid.flat:
        axes.set_axis_off()
    for i, sample in enumerate(zip(*samples.values(), strict=True)):
        _draw_question(*grid[i // 4 * 2 :, i % 4][:2], *sample, names)
    return figure


def _draw_question(axes, below, example, predicted, positions, colours, markers, order, names):
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
