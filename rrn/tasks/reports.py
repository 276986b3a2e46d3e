"""What tasks' reports share: results by step, tables and figures of accuracy by kind, examples."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import tensorflow as tf

from rrn import plain
from rrn.graphs import Graph
from rrn.messages import MessageFunction
from rrn.pages import Table
from rrn.tasks.task import Results

if TYPE_CHECKING:  # only drawing needs it
    from matplotlib.figure import Figure

# Other people's accuracy: (name, percent by kind, from kind 0 on).
Published = Sequence[tuple[str, Sequence[float]]]


def results_by_step(
    by_step: Mapping[str, np.ndarray], error: float, group_errors: Mapping[int, float] | None = None
) -> Results:
    """Puts together the results of a network that answers at every step.

    Args:
      by_step: name -> `[steps]`.
      error: the number by which the best weights are chosen; the lowest is the best.
      group_errors: group -> its error; none if not given.

    Returns:
      The results; the metrics are the values at the last step.
    """
    return Results(
        metrics={name: float(values[-1]) for name, values in by_step.items()},
        error=float(error),
        by_step={name: [float(v) for v in values] for name, values in by_step.items()},
        group_errors=dict(group_errors or {}),
    )


def accuracy_by_kind(outputs: Mapping[str, np.ndarray], kinds: np.ndarray, name: str) -> Results:
    """Computes the percentage of right answers by step, for each kind of question and for all.

    Args:
      outputs: "correct" and "loss", each `[examples, steps]`, of `rrn.readout.answer_losses`.
      kinds: each question's kind, integers `[examples]`.
      name: what a kind is, in a word.

    Returns:
      The results "accuracy/{name}_{kind}" for each kind that occurs, "accuracy/all" and "loss", all
      by step. The kinds are the groups. Errors are percentages of wrong answers at the last step.
    """
    right = 100.0 * outputs["correct"]
    by_kind = {int(kind): right[kinds == kind].mean(axis=0) for kind in np.unique(kinds)}
    by_step = {f"accuracy/{name}_{kind}": percents for kind, percents in by_kind.items()}
    by_step["accuracy/all"] = right.mean(axis=0)
    by_step["loss"] = outputs["loss"].mean(axis=0)
    return results_by_step(
        by_step,
        error=100.0 - by_step["accuracy/all"][-1],
        group_errors={kind: 100.0 - float(v[-1]) for kind, v in by_kind.items()},
    )


def accuracy_table(results: Results, name: str, published: Published = ()) -> Table:
    """Makes a table of accuracy: a row for each step, a column for each kind.

    Args:
      results: what `accuracy_by_kind` returned.
      name: what a kind is, in a word.
      published: rows of other people's results.

    Returns:
      The table.
    """
    kinds = _kinds(results, name)
    columns = {**kinds, "all": results.by_step["accuracy/all"]}
    rows = [
        (f"step {i}", *(f"{percent:.1f}" for percent in percents))
        for i, percents in enumerate(zip(*columns.values(), strict=True), 1)
    ]
    rows += [(row, *(f"{percents[k]:.1f}" for k in kinds), "") for row, percents in published]
    return Table((f"right, %; {name}:", *map(str, columns)), rows)


def draw_accuracy(results: Results, name: str, published: Published = ()) -> "Figure":
    """Draws accuracy by kind: a line for each step.

    Args:
      results: what `accuracy_by_kind` returned.
      name: what a kind is, in a word.
      published: other people's results for kinds from 0 on, as dashed lines with marks.

    Returns:
      The figure.
    """
    from matplotlib.figure import Figure

    by_kind = _kinds(results, name)
    kinds = list(by_kind)
    steps = list(zip(*by_kind.values(), strict=True))
    figure = Figure(figsize=(9 if published else 8, 4.5), layout="constrained")
    axes = figure.subplots()
    for i, percents in enumerate(steps, 1):
        shade = str(0.8 * (1 - i / len(steps)))
        axes.plot(kinds, percents, "o-", color=shade, label=f"step {i}")
    for i, (label, percents) in enumerate(published):
        axes.plot(percents, "D--", color=f"C{i}", linewidth=1, markersize=4, label=label)
    axes.set(xlabel=name, ylabel="right answers, %", ylim=(0, 103), xticks=kinds)
    axes.legend(fontsize="small", loc="center left", bbox_to_anchor=(1.01, 0.5))
    return figure


def _kinds(results, name):
    """Kind -> percents right by step, of the results of `accuracy_by_kind`."""
    return {kind: results.by_step[f"accuracy/{name}_{kind}"] for kind in results.group_errors}


# Examples of the page


def one_of_each(kinds: np.ndarray, most: int) -> list[int]:
    """Chooses the last example of each kind.

    Args:
      kinds: each example's kind, integers `[examples]`.
      most: if there are more kinds, so many of them, spread from the first to the last.

    Returns:
      Places in `kinds`, by kind.
    """
    _, from_end = np.unique(kinds[::-1], return_index=True)
    places = len(kinds) - 1 - from_end
    some = np.linspace(0, len(places) - 1, min(most, len(places))).round().astype(int)
    return places[some].tolist()


def likeliest(
    probabilities: np.ndarray, words: Sequence[str], most: int = 5
) -> list[tuple[str, float]]:
    """Names the likeliest answers.

    Args:
      probabilities: of the classes, `[classes]`.
      words: the classes in words.
      most: how many.

    Returns:
      (words, probability), the likeliest first.
    """
    order = np.argsort(-probabilities, kind="stable")[:most]
    return [(words[i], float(probabilities[i])) for i in order]


def message_strengths(
    message_fn: MessageFunction,
    graph: Graph,
    states: Sequence[tf.Tensor],
    edges: tf.Tensor | None = None,
) -> np.ndarray:
    """Measures how strong the messages are that the nodes send at every step.

    Args:
      message_fn: the network's message function.
      graph: who sends to whom.
      states: for every step the states that its messages are made of, `[nodes, node_size]`.
      edges: the features of the edges and their graph's globals, in the order of
        `graph.edge_list`, `[edges, edge_size + global_size]`; None without.

    Returns:
      The mean length |m_ij| over a node's receivers j, `[steps, nodes]`; 0 for padding.
    """
    senders, receivers = graph.edge_list()
    lengths = []
    for hidden in states:
        hidden = tf.cast(hidden, tf.float32)  # x has the type of products
        messages = plain.messages(message_fn.mlp, hidden, senders, receivers, edges)
        norms = tf.norm(tf.cast(messages, tf.float32), axis=-1)
        lengths.append(tf.math.unsorted_segment_mean(norms, senders, tf.shape(hidden)[0]))
    return tf.stack(lengths).numpy()
