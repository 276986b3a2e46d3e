"""Pretty-CLEVR: from object to nearest object, as many jumps as asked (Palm et al. 2018, 3.3).

The eight objects of a scene are the nodes, and each hears the seven others. An object's features
are its position, colour and marker, and the question: the anchor (a colour or a marker) and the
number of jumps; an edge's feature is the distance. The answer, a marker or a colour, is read from
the sum of the nodes at every step.
"""

import itertools
import math

import numpy as np
import tensorflow as tf

from rrn.graphs import RegularGraph, all_others
from rrn.layers import MLP, glorot_uniform
from rrn.network import RecurrentRelationalNetwork
from rrn.random import uniform
from rrn.reading import read
from rrn.readout import accuracy_metrics, answer_losses, dropout, sum_readout
from rrn.tasks.reports import accuracy_by_kind, draw_accuracy, errors_by_kind, format_accuracy

SCHEMAS = (("pretty_clevr", 1),)
OBJECTS = 8  # also colours, markers, and jumps from 0 to 7
QUESTIONS = OBJECTS * OBJECTS * 2  # of a scene: start, jumps, anchor by colour or by marker
CLASSES = 2 * OBJECTS  # colours, then markers
OBJECT_SIZE, QUESTION_SIZE = 2 + 2 * OBJECTS, CLASSES + OBJECTS
OTHERS = all_others(OBJECTS)

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


def create_task(config, data):
    return PrettyClevr(config, [*data.shared["colour_names"], *data.shared["marker_names"]])


class PrettyClevrNetwork(tf.Module):
    """The network without LSTM, and its readout; with one step, the relation network."""

    def __init__(self, config):
        super().__init__(name="network")
        self.config, hidden = config, config.hidden_size
        self.rrn = RecurrentRelationalNetwork(
            input_size=OBJECT_SIZE + QUESTION_SIZE,
            hidden_size=hidden,
            num_hidden_layers=1,
            edge_size=1,
            lstm=False,
            compute_dtype=config.compute_dtype,
        )
        self.readout = MLP([hidden, hidden, CLASSES], name="readout")
        if config.node_loss:
            self.node_kernel = tf.Variable(glorot_uniform([hidden, 1]), name="node_readout/w")

    def __call__(self, batch, question, random):
        """Logits of the answer `[examples, steps, CLASSES]`; with `node_loss`, those of being the
        object in question `[examples, steps, 8]`, else None.
        """
        graph = RegularGraph(OTHERS, tf.shape(batch["objects"])[0])
        objects = tf.reshape(batch["objects"], [-1, OBJECT_SIZE])
        question = graph.broadcast_globals_to_nodes(question)
        features = tf.concat([objects, question], axis=-1)
        edges = batch["distances"][..., None]
        hidden = self.rrn(graph, features, self.config.num_steps, edges=edges)
        logits = sum_readout(self.readout, graph, hidden, [self.config.readout_dropout], random)
        if not self.config.node_loss:
            return logits, None
        kernel = read(self.node_kernel)
        by_step = [tf.reshape(tf.matmul(h, kernel), [-1, OBJECTS]) for h in hidden]
        return logits, tf.stack(by_step, axis=1)


class FlatNetwork(tf.Module):
    """The paper's baseline: an MLP with 4 ReLU layers on objects, distances and question in a row.

    The authors' has 64 distances, ours 56: those of objects to themselves, always zero, are left
    out.
    """

    def __init__(self, config):
        super().__init__(name="network")
        self.dropout = [0.0, 0.0, 0.0, config.readout_dropout]
        inputs = OBJECTS * (OBJECT_SIZE + OBJECTS - 1) + QUESTION_SIZE
        sizes = [inputs, *[config.hidden_size] * 4, CLASSES]
        self.mlp = MLP(sizes, config.compute_dtype, name="mlp")

    def __call__(self, batch, question, random):
        """Logits of the answer `[examples, 1, CLASSES]`, and None."""
        objects = tf.reshape(batch["objects"], [-1, OBJECTS * OBJECT_SIZE])
        distances = tf.reshape(batch["distances"], [-1, OBJECTS * (OBJECTS - 1)])
        flat = tf.concat([objects, distances, question], axis=-1)
        logits = self.mlp(flat, dropout(self.dropout, random))
        return tf.cast(logits, tf.float32)[:, None], None


class PrettyClevr:
    """The Pretty-CLEVR task; see `rrn.tasks.task.Task` for what each method is for.

    Example 128 s + 16 i + 2 k + m is the question of scene s that starts at object i, named by its
    colour (m = 0) or its marker (m = 1), and asks for the other of the object after k jumps.
    """

    def __init__(self, config, names):
        """names: the classes in words."""
        self.config, self.names = config, names
        self.encoder = tf.Module(name="encoder")
        networks = {"recurrent": PrettyClevrNetwork, "mlp": FlatNetwork}
        if config.network not in networks:
            raise ValueError(
                f"model.network must be one of {', '.join(networks)}, got {config.network!r}"
            )
        if config.network == "mlp" and config.node_loss:
            raise ValueError(f"model.node_loss: the MLP has no nodes, got {config.node_loss}")
        self.network = networks[config.network](config)

    # Inputs

    def num_examples(self, arrays):
        return len(arrays["positions"]) * QUESTIONS

    def draw_examples(self, arrays, seed, batch_size):
        return uniform(seed, [batch_size], 0, self.num_examples(arrays), tf.int32)

    def groups(self, arrays):
        return np.arange(self.num_examples(arrays)) // 2 % OBJECTS

    def group_errors(self, results):
        return errors_by_kind(results, "jumps")

    def sizes(self, arrays, examples):
        return tf.zeros_like(examples)

    def make_batch(self, arrays, examples, random, training):
        """ "objects" `[examples, 8, 18]`: position, colour, marker; "distances" `[examples, 8, 7]`;
        "anchor", "jumps" `[examples]`; and the "answers" `[examples, 8]`, by number of jumps.

        In training the scene is turned by any angle and scaled by 2^u, u in [-1, 1), about the
        middle of the unit square. With `markers_in_order` the object with marker k is the k-th, as
        in the authors' data, else objects come in the file's order.
        """
        scene, start = examples // QUESTIONS, examples // (2 * OBJECTS) % OBJECTS
        jumps, by_marker = examples // 2 % OBJECTS, examples % 2
        positions = tf.gather(arrays["positions"], scene)
        if training:
            positions = _turn_and_scale(positions, random)
        colours, markers = tf.gather(arrays["colours"], scene), tf.gather(arrays["markers"], scene)
        walk = tf.cast(tf.gather_nd(arrays["order"], tf.stack([scene, start], 1)), tf.int32)
        names = tf.stack([colours, OBJECTS + markers], axis=1)  # [examples, 2, objects]
        anchor = tf.gather_nd(names, tf.stack([by_marker, start], 1), batch_dims=1)
        answers = tf.gather(tf.gather(names, 1 - by_marker, batch_dims=1), walk, batch_dims=1)
        if self.config.markers_in_order:
            order = tf.argsort(markers)
            positions, colours, markers = (
                tf.gather(values, order, batch_dims=1) for values in (positions, colours, markers)
            )
        colours, markers = tf.one_hot(colours, OBJECTS), tf.one_hot(markers, OBJECTS)
        apart = positions[:, :, None] - tf.gather(positions, OTHERS, axis=1)
        return {
            "objects": tf.concat([positions, colours, markers], axis=-1),
            "distances": tf.norm(apart, axis=-1),
            "anchor": anchor,
            "jumps": jumps,
            "answers": answers,
        }

    # Model

    def encode(self, batch):
        return {}

    def loss(self, encodings, batch, random, num_jumps=OBJECTS):
        """Cross-entropy of the answer, its mean over all steps; in training with `node_loss`, plus
        so many times that of finding the object among the eight, which no question states but its
        answer tells.

        num_jumps: only so many numbers of jumps are asked for, from 0 on.

        Raises:
          ValueError: more numbers of jumps than there are.
        """
        if num_jumps > OBJECTS:
            raise ValueError(f"num_jumps must be at most {OBJECTS}, got {num_jumps}")
        jumps = batch["jumps"] % num_jumps
        answer = tf.gather(batch["answers"], jumps, batch_dims=1)
        question = [tf.one_hot(batch["anchor"], CLASSES), tf.one_hot(jumps, OBJECTS)]
        logits, node_logits = self.network(batch, tf.concat(question, axis=-1), random)
        losses, outputs = answer_losses(logits, answer)
        if random and node_logits is not None:
            names = batch["objects"][..., 2:]  # one-hot colours and markers
            has_answer = tf.gather(names, answer, axis=2, batch_dims=1)
            found = tf.repeat(has_answer[:, None], self.config.num_steps, axis=1)
            node_losses = tf.nn.softmax_cross_entropy_with_logits(found, node_logits)
            losses["loss"] += self.config.node_loss * tf.reduce_mean(node_losses, axis=1)
        return losses, {**outputs, "jumps": jumps}

    def regularized(self):
        return []  # the authors used no L2 here

    # Results

    def metrics(self, batch, outputs):
        return accuracy_metrics(outputs["correct"], outputs["jumps"], OBJECTS, "jumps")

    def results(self, arrays, examples, outputs):
        """`accuracy/jumps_0` ... `accuracy/jumps_7` and `accuracy/all` in percent, `loss`; and
        "samples" for the gallery: a question of each number of jumps.
        """
        jumps, random = examples // 2 % OBJECTS, np.random.default_rng(0)
        shown = [random.choice(np.flatnonzero(jumps == k)) for k in np.unique(jumps)]
        predicted = outputs["predicted"][shown].astype(int)  # a mean over passes, which are alike
        samples = {"examples": examples[shown], "predicted": predicted}
        for name in ("positions", "colours", "markers", "order"):
            samples[name] = arrays[name].numpy()[examples[shown] // QUESTIONS]
        return {**accuracy_by_kind(outputs, jumps, "jumps"), "samples": samples}

    def table(self, results):
        return format_accuracy(results, "jumps", PAPER)

    def figures(self, results):
        """`accuracy`: by jumps, a line for each step, beside the paper's; `gallery`: scenes, each
        with a question, the walk to its answer, and the model's answer at every step.
        """
        return {
            "accuracy": draw_accuracy(results, "jumps", PAPER),
            "gallery": draw_gallery(results["samples"], self.names),
        }


def _turn_and_scale(positions, random):
    """Positions `[scenes, 8, 2]` turned and scaled about (0.5, 0.5)."""
    angle = 2.0 * math.pi * random.uniform([], 0)
    scale = 2.0 ** (2.0 * random.uniform([], 1) - 1.0)
    cos, sin = scale * tf.cos(angle), scale * tf.sin(angle)
    rows = tf.stack([tf.stack([cos, -sin], -1), tf.stack([sin, cos], -1)], axis=1)
    return tf.matmul(positions - 0.5, rows, transpose_b=True) + 0.5


def draw_gallery(samples, names):
    """A figure of scenes with their questions; samples: see `PrettyClevr.results`; names: the
    classes in words.
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
    start, jumps = example // (2 * OBJECTS) % OBJECTS, example // 2 % OBJECTS
    by_marker = example % 2
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
