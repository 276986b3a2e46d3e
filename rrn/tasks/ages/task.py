"""Age arithmetic: who is how old, from differences along a tree (Palm et al., arXiv 1711.08028).

The nodes are eight facts: one person's age, and seven differences, "A is older (younger) than B by
so many years", along the edges of a tree of eight people. The question names a person, the answer
is one of 100 ages, read from the sum of the nodes at every step. Each fact hears the seven others.
A fact's features are one-hots: who, whom, which kind of fact, how many years, and whom the question
asks for. In the fact of an age, who and whom are the same.
"""

import tensorflow as tf

from rrn.graphs import RegularGraph, all_others
from rrn.readout import accuracy_metrics, answer_losses, sum_readout
from rrn.tasks.ages import report
from rrn.tasks.ages.network import CLASSES, KINDS, PEOPLE, AgesNetwork
from rrn.tasks.task import Task

SCHEMAS = (("ages", 1),)
PAIRS = PEOPLE * PEOPLE  # of the person whose age is told and the one asked for
AGES = 99  # 0 to 98
OLDER, YOUNGER, AGE = range(KINDS)


def create_task(config, data):
    return Ages(config)


class Ages(Task):
    """The age task; see `rrn.tasks.task.Task` for what each method is for.

    Example 64 t + 8 a + q tells the age of person a and asks for that of q, in tree t. The ages,
    eight different ones, are drawn, and so is for every difference who is named first.
    """

    def __init__(self, config):
        super().__init__(config, AgesNetwork(config))

    # Inputs

    def num_examples(self, arrays):
        return len(arrays["edges"]) * PAIRS

    def groups(self, arrays):
        return arrays["distance"].numpy().reshape(-1)

    def make_batch(self, arrays, examples, random, training):
        """The "people" `[examples, 8]`, those nearest to the one whose age is told first, with
        their "ages" and "distances" from that one; which of them is "asked" `[examples]`; and the
        facts' "who", "whom", "kind" and "years" `[examples, 8]`: the age told, then what ties
        people[i] to one before. "fact_ages" `[examples, 8, 2]` are those of who and whom.
        """
        tree, told, asked = examples // PAIRS, examples // PEOPLE % PEOPLE, examples % PEOPLE
        ages = tf.math.top_k(random.uniform([AGES], 0), PEOPLE).indices
        distances = tf.gather_nd(arrays["distance"], tf.stack([tree, told], axis=1))
        people = tf.argsort(tf.cast(distances, tf.int32), axis=1, stable=True)
        places = tf.argsort(people, axis=1)

        edges = tf.cast(tf.gather(arrays["edges"], tree), tf.int32)
        last_place = tf.reduce_max(tf.gather(places, edges, batch_dims=1), axis=2)
        edges = tf.gather(edges, tf.argsort(last_place, axis=1), batch_dims=1)
        named_first = random.uniform([PEOPLE - 1, 1], 1) < 0.5
        who, whom = tf.unstack(tf.where(named_first, edges, edges[..., ::-1]), axis=2)
        who, whom = (tf.concat([told[:, None], side], axis=1) for side in (who, whom))
        who_age, whom_age = (tf.gather(ages, side, batch_dims=1) for side in (who, whom))
        is_age = who == whom
        return {
            "people": people,
            "ages": tf.gather(ages, people, batch_dims=1),
            "distances": tf.cast(tf.gather(distances, people, batch_dims=1), tf.int32),
            "asked": tf.gather(places, asked, batch_dims=1),
            "who": who,
            "whom": whom,
            "kind": tf.where(is_age, AGE, tf.where(who_age > whom_age, OLDER, YOUNGER)),
            "years": tf.where(is_age, who_age, tf.abs(who_age - whom_age)),
            "fact_ages": tf.stack([who_age, whom_age], axis=2),
        }

    # Model

    def loss(self, encodings, batch, random, training, num_steps=None, num_people=PEOPLE):
        """Cross-entropy of the answer, its mean over all steps, the config's `num_steps` if no
        others are given; in training with `node_loss`, plus so many times that of the ages of the
        two people of every fact, the mean over both, all facts and all steps.

        num_people: as if there were no more than so many, the nearest to the one whose age is told.

        Raises:
          ValueError: more people than there are.
        """
        if num_people > PEOPLE:
            raise ValueError(f"num_people must be at most {PEOPLE}, got {num_people}")
        place = batch["asked"] % num_people
        asked, answer, distance = (
            tf.gather(batch[name], place, batch_dims=1) for name in ("people", "ages", "distances")
        )
        graph = RegularGraph(all_others(num_people), answer.shape[0] or tf.shape(answer)[0])
        sizes = {"who": PEOPLE, "whom": PEOPLE, "kind": KINDS, "years": CLASSES}
        facts = {name: tf.reshape(batch[name][:, :num_people], [-1]) for name in sizes}
        parts = [tf.one_hot(facts[name], size) for name, size in sizes.items()]
        asked = graph.broadcast_globals_to_nodes(tf.one_hot(asked, PEOPLE))
        features = tf.concat([*parts, asked], axis=-1)
        hidden = self.network.rrn(graph, features, num_steps or self.config.num_steps)
        dropped = [0.0, 0.0, self.config.readout_dropout]
        draws = random if training else None
        logits = sum_readout(self.network.readout, graph, hidden, dropped, draws)
        losses, outputs = answer_losses(logits, answer)
        if training and self.config.node_loss:
            fact_ages = batch["fact_ages"][:, :num_people]
            losses["loss"] += self.config.node_loss * self.node_loss(hidden, fact_ages)
        return losses, {**outputs, "distance": distance}

    def node_loss(self, hidden, ages):
        """`[examples]`: how well the facts' ages `[examples, facts, 2]` can be read from each."""
        logits = tf.cast(self.network.node_readout(tf.stack(hidden, axis=1)), tf.float32)
        logits = tf.reshape(logits, [-1, ages.shape[1], len(hidden), 2, CLASSES])
        ages = tf.repeat(ages[:, :, None], len(hidden), axis=2)
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(ages, logits)
        return tf.reduce_mean(losses, axis=[1, 2, 3])

    def training_only(self):
        return [self.network.node_readout] if self.config.node_loss else []

    # Results

    def metrics(self, batch, outputs):
        return accuracy_metrics(outputs["correct"], outputs["distance"], PEOPLE, "distance")

    results = staticmethod(report.results)
    table = staticmethod(report.table)
    figures = staticmethod(report.figures)
