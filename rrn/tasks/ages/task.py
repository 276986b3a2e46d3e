"""Age arithmetic: who is how old, from differences along a tree (Palm et al., arXiv 1711.08028).

The nodes are eight facts: one person's age, and seven differences, "A is older (younger) than B by
so many years", along the edges of a tree of eight people. The question names a person, the answer
is one of 100 ages, read from the sum of the nodes at every step. Each fact hears the seven others.
A fact's features are one-hots: who, whom, which kind of fact, how many years, and whom the question
asks for. In the fact of an age, who and whom are the same.
"""

import math

import tensorflow as tf

from rrn.graphs import RegularGraph, all_others
from rrn.layers import MLP
from rrn.network import RecurrentRelationalNetwork
from rrn.random import uniform
from rrn.reading import read
from rrn.readout import accuracy_metrics, answer_losses, sum_readout
from rrn.tasks.reports import accuracy_by_kind, draw_accuracy, errors_by_kind, format_accuracy

SCHEMAS = (("ages", 1),)
PEOPLE = 8  # also facts
PAIRS = PEOPLE * PEOPLE  # of the person whose age is told and the one asked for
AGES = 99  # 0 to 98
CLASSES = 100  # of ages and differences
OLDER, YOUNGER, AGE = range(3)


def create_task(config, data):
    return Ages(config)


class AgesNetwork(tf.Module):
    """The network over facts, the readout of its sum, and with `node_loss` one of each fact.

    With `sinusoids` the initial weights of years and ages are not Glorot's (see `sinusoids`).
    """

    def __init__(self, config):
        super().__init__(name="network")
        self.config, hidden = config, config.hidden_size
        self.rrn = RecurrentRelationalNetwork(
            input_size=3 * PEOPLE + 3 + CLASSES,
            hidden_size=hidden,
            compute_dtype=config.compute_dtype,
        )
        self.readout = MLP([hidden, hidden, hidden, hidden, CLASSES], name="readout")
        if config.node_loss:
            sizes = [hidden, hidden, hidden, 2 * CLASSES]
            self.node_readout = MLP(sizes, config.compute_dtype, name="node_readout")
        if config.sinusoids:
            self._begin_with_sinusoids()

    def _begin_with_sinusoids(self):
        kernel = self.rrn.input_fn.layers[0].w
        people_and_kind, years, asked = tf.split(read(kernel), [2 * PEOPLE + 3, CLASSES, PEOPLE])
        kernel.assign(tf.concat([people_and_kind, sinusoids(years), asked], axis=0))
        for readout in [self.readout, *([self.node_readout] if self.config.node_loss else [])]:
            kernel = readout.layers[-1].w
            columns = tf.split(tf.transpose(read(kernel)), kernel.shape[1] // CLASSES)
            kernel.assign(tf.transpose(tf.concat([sinusoids(part) for part in columns], axis=0)))


def sinusoids(weights):
    """As large as `weights` `[100, size]`, but each column a sinusoid over the years, with 1, 2, 4,
    ..., 32 cycles in a century.

    Low frequencies make near ages alike, high ones tell them apart; and with so few of them, to add
    years is to turn a few angles.
    """
    size = weights.shape[1]
    cycles = tf.gather([1.0, 2.0, 4.0, 8.0, 16.0, 32.0], tf.random.uniform([size], 0, 6, tf.int32))
    turns = cycles * tf.range(CLASSES, dtype=tf.float32)[:, None] / CLASSES
    waves = tf.cos(2.0 * math.pi * (turns + tf.random.uniform([size])))
    return math.sqrt(2.0) * tf.math.reduce_std(weights) * waves


class Ages:
    """The age task; see `rrn.tasks.task.Task` for what each method is for.

    Example 64 t + 8 a + q tells the age of person a and asks for that of q, in tree t. The ages,
    eight different ones, are drawn, and so is for every difference who is named first.
    """

    def __init__(self, config):
        self.config = config
        self.encoder, self.network = tf.Module(name="encoder"), AgesNetwork(config)

    # Inputs

    def num_examples(self, arrays):
        return len(arrays["edges"]) * PAIRS

    def draw_examples(self, arrays, seed, batch_size):
        return uniform(seed, [batch_size], 0, self.num_examples(arrays), tf.int32)

    def groups(self, arrays):
        return arrays["distance"].numpy().reshape(-1)

    def group_errors(self, results):
        return errors_by_kind(results, "distance")

    def sizes(self, arrays, examples):
        return tf.zeros_like(examples)

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

    def encode(self, batch):
        return {}

    def loss(self, encodings, batch, random, num_steps=None, num_people=PEOPLE):
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
        sizes = {"who": PEOPLE, "whom": PEOPLE, "kind": 3, "years": CLASSES}
        facts = {name: tf.reshape(batch[name][:, :num_people], [-1]) for name in sizes}
        parts = [tf.one_hot(facts[name], size) for name, size in sizes.items()]
        asked = graph.broadcast_globals_to_nodes(tf.one_hot(asked, PEOPLE))
        features = tf.concat([*parts, asked], axis=-1)
        hidden = self.network.rrn(graph, features, num_steps or self.config.num_steps)
        dropped = [0.0, 0.0, self.config.readout_dropout]
        logits = sum_readout(self.network.readout, graph, hidden, dropped, random)
        losses, outputs = answer_losses(logits, answer)
        if random and self.config.node_loss:
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

    def regularized(self):
        return []  # the authors used no L2 here

    # Results

    def metrics(self, batch, outputs):
        return accuracy_metrics(outputs["correct"], outputs["distance"], PEOPLE, "distance")

    def results(self, arrays, examples, outputs):
        """`accuracy/distance_0` ... `accuracy/distance_7` and `accuracy/all` in percent, `loss`."""
        distance = arrays["distance"].numpy().reshape(-1)[examples]
        return accuracy_by_kind(outputs, distance, "distance")

    def table(self, results):
        return format_accuracy(results, "distance")

    def figures(self, results):
        """`accuracy`: by distance, a line for each step."""
        return {"accuracy": draw_accuracy(results, "distance")}
