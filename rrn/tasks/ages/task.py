"""Age arithmetic: who is how old, from differences along a tree (Palm et al., arXiv 1711.08028).

The nodes are eight facts: one person's age, and seven differences, "A is N years older (younger)
than B", along the edges of a tree of eight people. The question names a person. The answer is one
of 100 ages, read from the sum of the nodes at every step. Each fact receives from the seven others.
A fact's features are one-hots: who, whom, which kind of fact, how many years, and whom the question
asks for. In the fact of an age, who and whom are the same.
"""

from typing import Annotated

import numpy as np
import tensorflow as tf
from pydantic import Field

from rrn.config import Steps
from rrn.files.data import PreparedData
from rrn.nn.graphs import RegularGraph, all_others
from rrn.nn.readout import accuracy_metrics, answer_losses, sum_readout
from rrn.tasks.ages.network import CLASSES, KINDS, PEOPLE, AgesNetwork, Model
from rrn.tasks.checks import Range
from rrn.tasks.task import Arrays, Batch, Pair, Task, Tensors, options
from rrn.variables.random import ExampleRandom
from rrn.variables.reading import Variable, module_variables
from rrn.variables.sharded import known_size

PAIRS = PEOPLE * PEOPLE  # of the person whose age is given and the one asked for
AGES = 99  # 0 to 98
OLDER, YOUNGER, AGE = range(KINDS)
FACT_SIZES = {"who": PEOPLE, "whom": PEOPLE, "kind": KINDS, "years": CLASSES}


def create_task(config: Model, data: PreparedData) -> "Ages":
    """Makes the task, which takes nothing from the data."""
    return Ages(config)


class Ages(Task):
    """The age task; see `rrn.tasks.task.Task` for what each method is for.

    Example 64 t + 8 a + q gives the age of person a and asks for that of q, in tree t. The ages,
    eight different ones, are drawn, and so is for every difference who is named first.
    """

    config: Model
    network: AgesNetwork

    def __init__(self, config: Model):
        super().__init__(config, AgesNetwork(config))

    # Inputs

    def num_examples(self, arrays: Arrays) -> int:
        return len(arrays["edges"]) * PAIRS

    def groups(self, arrays: Arrays) -> np.ndarray:
        return arrays["distance"].numpy().reshape(-1)

    def make_batch(
        self, arrays: Arrays, examples: tf.Tensor, random: ExampleRandom, training: bool
    ) -> Batch:
        """Makes the examples' people and facts.

        Returns:
          The "people" `[examples, 8]`, those nearest to the one whose age is given first, with
          their "ages" and "distances" from that one; which of them is "asked" `[examples]`; and the
          facts' "who", "whom", "kind" and "years" `[examples, 8]`: the age, then what ties
          people[i] to one before. "fact_ages" `[examples, 8, 2]` are those of who and whom.
        """
        tree, given, asked = examples // PAIRS, examples // PEOPLE, examples
        given, asked = (tf.math.floormod(person, PEOPLE) for person in (given, asked))
        ages = tf.math.top_k(random.uniform([AGES], 0), PEOPLE).indices
        distances = tf.gather_nd(arrays["distance"], tf.stack([tree, given], axis=1))
        people = tf.argsort(tf.cast(distances, tf.int32), axis=1, stable=True)
        order = tf.argsort(people, axis=1)

        edges = tf.cast(tf.gather(arrays["edges"], tree), tf.int32)
        last = tf.reduce_max(tf.gather(order, edges, batch_dims=1), axis=2)
        edges = tf.gather(edges, tf.argsort(last, axis=1), batch_dims=1)
        named_first = random.uniform([PEOPLE - 1, 1], 1) < 0.5
        who, whom = tf.unstack(tf.where(named_first, edges, edges[..., ::-1]), axis=2)
        who, whom = (tf.concat([given[:, None], side], axis=1) for side in (who, whom))
        who_age, whom_age = (tf.gather(ages, side, batch_dims=1) for side in (who, whom))
        is_age = who == whom
        return {
            "people": people,
            "ages": tf.gather(ages, people, batch_dims=1),
            "distances": tf.cast(tf.gather(distances, people, batch_dims=1), tf.int32),
            "asked": tf.gather(order, asked, batch_dims=1),
            "who": who,
            "whom": whom,
            "kind": tf.where(is_age, AGE, tf.where(who_age > whom_age, OLDER, YOUNGER)),
            "years": tf.where(is_age, who_age, tf.abs(who_age - whom_age)),
            "fact_ages": tf.stack([who_age, whom_age], axis=2),
        }

    # Model

    def loss(
        self,
        encodings: Tensors,
        batch: Batch,
        random: ExampleRandom,
        training: bool,
        num_steps: Steps | None = None,
        num_people: Annotated[int, Field(ge=1, le=PEOPLE)] = PEOPLE,
    ) -> tuple[Tensors, Tensors]:
        """Computes the cross-entropy of the answer, its mean over all steps.

        Training adds `auxiliary_loss` times the method `auxiliary_loss`.

        Args:
          num_steps: by default the model's.
          num_people: how many take part: those nearest to the one whose age is given.
        """
        person = batch["asked"] % num_people
        asked, answer, distance = (
            tf.gather(batch[name], person, batch_dims=1) for name in ("people", "ages", "distances")
        )
        facts = {name: batch[name][:, :num_people] for name in FACT_SIZES}
        draws, num_steps = random if training else None, num_steps or self.config.num_steps
        logits, hidden = self.logits(facts, asked, num_steps, draws)
        losses, outputs = answer_losses(logits, answer)
        if training and self.config.auxiliary_loss:
            fact_ages = batch["fact_ages"][:, :num_people]
            losses["loss"] += self.config.auxiliary_loss * self.auxiliary_loss(hidden, fact_ages)
        return losses, {**outputs, "distance": distance}

    def logits(
        self, facts: Tensors, asked: tf.Tensor, num_steps: int, random: ExampleRandom | None = None
    ) -> tuple[tf.Tensor, list[tf.Tensor]]:
        """Computes the answer's logits at every step.

        Args:
          facts: "who", "whom", "kind" and "years" of each fact, integers `[examples, facts]`.
          asked: the person asked for, integers `[examples]`.

        Returns:
          (logits `[examples, steps, CLASSES]`, every step's hidden states `[nodes, hidden]`).
        """
        graph, features = self.features(facts, asked)
        hidden = self.network.rrn(graph, features, num_steps)
        dropped = [0.0, 0.0, self.config.readout_dropout]
        return sum_readout(self.network.readout, graph, hidden, dropped, random), hidden

    def features(self, facts: Tensors, asked: tf.Tensor) -> tuple[RegularGraph, tf.Tensor]:
        """Makes the network's inputs: the graph of the facts, their features `[nodes, size]`."""
        graph = RegularGraph(
            all_others(known_size(facts["who"], 1)), asked.shape[0] or tf.shape(asked)[0]
        )
        parts = [tf.one_hot(tf.reshape(facts[n], [-1]), size) for n, size in FACT_SIZES.items()]
        asked = graph.broadcast_globals_to_nodes(tf.one_hot(asked, PEOPLE))
        return graph, tf.concat([*parts, asked], axis=-1)

    def auxiliary_loss(self, hidden: list[tf.Tensor], ages: tf.Tensor) -> tf.Tensor:
        """Computes the mean cross-entropy `[examples]` of reading ages from the facts' states.

        Args:
          hidden: every step's states `[nodes, hidden]`.
          ages: of each fact's two people, integers `[examples, facts, 2]`.
        """
        logits = tf.cast(self.network.node_readout(tf.stack(hidden, axis=1)), tf.float32)
        logits = tf.reshape(logits, [-1, ages.shape[1], len(hidden), 2, CLASSES])
        ages = tf.repeat(ages[:, :, None], len(hidden), axis=2)
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(ages, logits)
        return tf.reduce_mean(losses, axis=[1, 2, 3])

    def metrics(self, batch: Batch, outputs: Tensors) -> dict[str, Pair]:
        return accuracy_metrics(outputs["correct"], outputs["distance"], PEOPLE, "distance")

    def training_only(self) -> list[Variable]:
        return module_variables(self.network.node_readout) if self.config.auxiliary_loss else []

    # Answers

    def inputs(self) -> dict[str, tf.TensorSpec]:
        facts = {name: tf.TensorSpec([None, PEOPLE], tf.int32) for name in FACT_SIZES}
        return {**facts, "asked": tf.TensorSpec([None], tf.int32)}

    def ranges(self) -> dict[str, Range]:
        highest = {**FACT_SIZES, "asked": PEOPLE}
        return {name: (0, size - 1) for name, size in highest.items()}

    def answers(self, inputs: Tensors) -> Tensors:
        """Answers one question about each eight facts.

        Args:
          inputs: of each fact "who" and "whom" (people, 0 to 7), "kind" (0: who is older than whom,
            1: younger, 2: the age of who, who is whom, too) and "years", int32 `[n, 8]`; and the
            person "asked" for, int32 `[n]`.

        Returns:
          "age": the likeliest after the last step, int32 `[n]`. "probabilities": of ages 0 to 99 at
          every step `[n, steps, 100]`.
        """
        logits, _ = self.logits(inputs, inputs["asked"], self.config.num_steps)
        return {
            "age": tf.argmax(logits[:, -1], -1, tf.int32),
            "probabilities": tf.nn.softmax(logits),
        }


Model.LOSS_OPTIONS = options(Ages.loss)
