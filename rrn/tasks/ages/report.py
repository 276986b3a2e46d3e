"""The age task's results: accuracy by distance and step; examples.

No published figures could be found.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import tensorflow as tf

from rrn.pages import Example, Step, Table
from rrn.tasks.ages.network import CLASSES, PEOPLE
from rrn.tasks.ages.task import FACT_SIZES, Ages
from rrn.tasks.examples import likeliest, message_strengths, one_of_each
from rrn.tasks.inputs import evaluation_batch
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

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAMES = "Ann", "Ben", "Cleo", "Dan", "Eve", "Finn", "Gus", "Hal"
FACTS = (  # by kind
    "{who} is {years} years older than {whom}.",
    "{who} is {years} years younger than {whom}.",
    "{who} is {years} years old.",
)


def create_report(task: Ages) -> "AgesReport":
    """Makes the report; see `rrn.tasks.create_report`.

    Args:
      task: the task.

    Returns:
      The report.
    """
    return AgesReport(task)


class AgesReport(Report):
    """Accuracy by distance and step; see `rrn.tasks.report.Report` for what each method is for."""

    task: Ages
    quantities: ClassVar = {
        "accuracy_by_distance": Quantity("right answers, %", 100, "distance"),
    }
    error = "wrong answers, %"
    group = "distance"

    def results(
        self, arrays: Arrays, examples: np.ndarray, outputs: Mapping[str, np.ndarray]
    ) -> Results:
        """Computes the accuracy by distance.

        Returns:
          By step `accuracy/distance_0` ... `accuracy/distance_7` and `accuracy/all` in percent,
          `loss`.
        """
        distance = arrays["distance"].numpy().reshape(-1)[examples]
        return accuracy_by_kind(outputs, distance, "distance")

    def table(self, results: Results) -> Table:
        return accuracy_table(results, "distance")

    def figures(self, results: Results) -> dict[str, "Figure"]:
        """Draws `accuracy` by distance, a line for each step."""
        return {"accuracy": draw_accuracy(results, "distance")}

    def examples(self, arrays: Arrays, ids: np.ndarray, seed: int) -> list[Example]:
        """Shows a question of each distance, also without each fact, and the facts' strengths."""
        task = self.task
        distances = arrays["distance"].numpy().reshape(-1)[ids]
        chosen = ids[np.sort(one_of_each(distances, PEOPLE))]
        batch, rrn = evaluation_batch(task, arrays, chosen, seed), task.network.rrn
        with reading_scope():
            asked = tf.gather(batch["people"], batch["asked"], batch_dims=1)
            logits, hidden = task.logits(batch, asked, task.config.num_steps)
            graph, features = task.features(batch, asked)
            states = [rrn.input_fn(features), *hidden[:-1]]  # before every step
            strengths = message_strengths(rrn.message_fn, graph, states)
            others = [[j for j in range(PEOPLE) if j != i] for i in range(PEOPLE)]
            told = {name: tf.gather(batch[name], others, axis=1) for name in FACT_SIZES}
            told = {name: tf.reshape(facts, [-1, PEOPLE - 1]) for name, facts in told.items()}
            without, _ = task.logits(told, tf.repeat(asked, PEOPLE), task.config.num_steps)
        without = tf.nn.softmax(without).numpy().reshape(len(chosen), PEOPLE, -1, CLASSES)
        probabilities = tf.nn.softmax(logits).numpy()
        strengths = strengths.reshape(-1, len(chosen), PEOPLE)
        batch = {name: np.array(values) for name, values in batch.items()}
        made = [
            _example(batch, i, probabilities[i], strengths[:, i], without[i])
            for i in range(len(chosen))
        ]
        return sorted(made, key=lambda example: example.title)


def _example(batch, i, probabilities, strengths, without):
    """The i-th question of the batch.

    The arrays of numbers are by step, but for those without each fact, `[facts, steps, ages]`.
    """
    place, years = batch["asked"][i], [str(age) for age in range(CLASSES)]
    age, asked = batch["ages"][i, place], NAMES[batch["people"][i, place]]
    facts = zip(*(batch[name][i] for name in ("who", "whom", "kind", "years")), strict=True)
    return Example(
        title=f"Distance {batch['distances'][i, place]}",
        question=f"How old is {asked}?",
        right=years[age],
        right_probabilities=probabilities[:, age],
        lines=[
            FACTS[kind].format(who=NAMES[who], whom=NAMES[whom], years=number)
            for who, whom, kind, number in facts
        ],
        steps=[
            Step(answers=likeliest(p, years), strengths=s, without=w)
            for p, s, w in zip(probabilities, strengths, without[..., age].T, strict=True)
        ],
    )
