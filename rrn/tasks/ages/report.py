"""The age task's results: accuracy by distance and step; examples. None are published."""

from typing import Any

import tensorflow as tf

from rrn.pages import Example
from rrn.tasks.ages.network import CLASSES, PEOPLE
from rrn.tasks.ages.task import FACT_SIZES, Ages
from rrn.tasks.examples import answer_steps, message_strengths
from rrn.tasks.report import AccuracyReport
from rrn.tasks.task import Arrays, Batch

NAMES = "Ann", "Ben", "Cleo", "Dan", "Eve", "Finn", "Gus", "Hal"
FACTS = (  # by kind
    "{who} is {years} years older than {whom}.",
    "{who} is {years} years younger than {whom}.",
    "{who} is {years} years old.",
)


class AgesReport(AccuracyReport):
    """Accuracy by distance and step; see `rrn.tasks.report.Report` for what each method is for."""

    task: Ages
    group = "distance"

    def look(self, batch: Batch) -> Any:
        """Returns the ages' probabilities `[examples, steps, ages]`, and facts' strengths."""
        task, rrn = self.task, self.task.network.rrn
        asked = tf.gather(batch["people"], batch["asked"], batch_dims=1)
        logits, hidden = task.logits(batch, asked, task.config.num_steps)
        graph, features = task.features(batch, asked)
        strengths = message_strengths(rrn, graph, features, hidden)
        return tf.nn.softmax(logits).numpy(), strengths

    def example(self, arrays: Arrays, batch: Batch, row: int, looked: Any) -> Example:
        probabilities, strengths = looked
        names = *FACT_SIZES, "asked", "people", "ages", "distances"
        one = {name: batch[name][row].numpy() for name in names}
        asked, words = one["asked"], [str(age) for age in range(CLASSES)]
        age, facts = one["ages"][asked], (one[name] for name in FACT_SIZES)
        nodes = slice(PEOPLE * row, PEOPLE * (row + 1))
        return Example(
            title=f"Distance {one['distances'][asked]}",
            question=f"How old is {NAMES[one['people'][asked]]}?",
            right=words[age],
            right_probabilities=probabilities[row, :, age],
            lines=[
                FACTS[kind].format(who=NAMES[who], whom=NAMES[whom], years=number)
                for who, whom, kind, number in zip(*facts, strict=True)
            ],
            steps=answer_steps(probabilities[row], words, strengths[:, nodes]),
        )


create_report = AgesReport
