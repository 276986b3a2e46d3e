"""Pretty-CLEVR: from object to nearest object, as many jumps as asked (Palm et al. 2018, 3.3).

The eight objects of a scene are the nodes, and each receives from the seven others. An object's
features are its position, colour and marker, and the question: the anchor (a colour or a marker)
and the number of jumps; an edge's feature is the distance. The answer, a marker or a colour, is
read from the sum of the nodes at every step.
"""

import math
from collections.abc import Sequence
from typing import Annotated

import numpy as np
import tensorflow as tf
from pydantic import Field

from rrn.files.data import PreparedData
from rrn.nn.readout import accuracy_metrics, answer_losses
from rrn.tasks.checks import Range
from rrn.tasks.pretty_clevr.network import (
    CLASSES,
    OBJECTS,
    OTHERS,
    QUESTIONS,
    FlatNetwork,
    Model,
    PrettyClevrNetwork,
    one_hot_question,
    question_of,
)
from rrn.tasks.task import Arrays, Batch, Pair, Task, Tensors, options
from rrn.variables.random import ExampleRandom
from rrn.variables.reading import Variable

NETWORKS = {"recurrent": PrettyClevrNetwork, "mlp": FlatNetwork}


def create_task(config: Model, data: PreparedData) -> "PrettyClevr":
    """Makes the task, which takes the names of colours and markers from the data."""
    names = {name: data.shared[name] for name in ("colour_names", "marker_names")}
    task = PrettyClevr(config, [*names["colour_names"], *names["marker_names"]])
    task.constants = names
    return task


class PrettyClevr(Task):
    """The Pretty-CLEVR task; see `rrn.tasks.task.Task` for what each method is for.

    Example 128 s + 16 i + 2 k + m is the question of scene s that starts at object i, named by its
    colour (m = 0) or its marker (m = 1), and asks for the other of the object after k jumps.

    Args:
      names: the classes in words, colours and then markers.
    """

    config: Model
    network: PrettyClevrNetwork | FlatNetwork

    def __init__(self, config: Model, names: Sequence[str]):
        if config.network == "mlp" and config.auxiliary_loss:
            raise ValueError(
                f"model.auxiliary_loss: the MLP has no nodes, got {config.auxiliary_loss}"
            )
        super().__init__(config, NETWORKS[config.network](config))
        self.names = names

    # Inputs

    def num_examples(self, arrays: Arrays) -> int:
        return len(arrays["positions"]) * QUESTIONS

    def groups(self, arrays: Arrays) -> np.ndarray:
        return question_of(np.arange(self.num_examples(arrays))).jumps

    def make_batch(
        self, arrays: Arrays, examples: tf.Tensor, random: ExampleRandom, training: bool
    ) -> Batch:
        """Makes scenes and questions.

        In training the scene is rotated by any angle and scaled by 2^u, u in [-1, 1), about the
        middle of the unit square. For the MLP the object with marker k is the k-th, as in the
        authors' data.

        Returns:
          "objects" `[examples, 8, 18]`: position, colour, marker; "distances" `[examples, 8, 7]`;
          "anchor", "jumps" `[examples]`; and the "answers" `[examples, 8]`, by number of jumps.
        """
        scene, start, jumps, by_marker = question_of(examples)
        positions = tf.gather(arrays["positions"], scene)
        if training:
            positions = _rotate_and_scale(positions, random)
        colours, markers = tf.gather(arrays["colours"], scene), tf.gather(arrays["markers"], scene)
        walk = tf.cast(tf.gather_nd(arrays["order"], tf.stack([scene, start], 1)), tf.int32)
        names = tf.stack([colours, OBJECTS + markers], axis=1)  # [examples, 2, objects]
        anchor = tf.gather_nd(names, tf.stack([by_marker, start], 1), batch_dims=1)
        answers = tf.gather(tf.gather(names, 1 - by_marker, batch_dims=1), walk, batch_dims=1)
        scenes = self._scenes(positions, colours, markers)
        return {**scenes, "anchor": anchor, "jumps": jumps, "answers": answers}

    def _scenes(self, positions, colours, markers):
        """The batch's "objects" and "distances"."""
        if self.config.network == "mlp":
            order = tf.argsort(markers)
            positions, colours, markers = (
                tf.gather(values, order, batch_dims=1) for values in (positions, colours, markers)
            )
        colours, markers = tf.one_hot(colours, OBJECTS), tf.one_hot(markers, OBJECTS)
        apart = positions[:, :, None] - tf.gather(positions, OTHERS, axis=1)
        return {
            "objects": tf.concat([positions, colours, markers], axis=-1),
            "distances": tf.norm(apart, axis=-1),
        }

    # Model

    def loss(
        self,
        encodings: Tensors,
        batch: Batch,
        random: ExampleRandom,
        training: bool,
        num_jumps: Annotated[int, Field(ge=1, le=OBJECTS)] = OBJECTS,
    ) -> tuple[Tensors, Tensors]:
        """Computes the cross-entropy of the answer, its mean over all steps.

        Training adds `auxiliary_loss` times the cross-entropy of finding the answer's object among
        the eight. No question names that object, but the answer says which it is.

        Args:
          num_jumps: how many numbers of jumps are asked for, from 0 on.
        """
        jumps = batch["jumps"] % num_jumps
        answer = tf.gather(batch["answers"], jumps, batch_dims=1)
        question, draws = one_hot_question(batch["anchor"], jumps), random if training else None
        logits, node_logits = self.network(batch, question, draws)
        losses, outputs = answer_losses(logits, answer)
        if training and node_logits is not None:
            names = batch["objects"][..., 2:]  # one-hot colours and markers
            has_answer = tf.gather(names, answer, axis=2, batch_dims=1)
            found = tf.repeat(has_answer[:, None], self.config.num_steps, axis=1)
            node_losses = tf.nn.softmax_cross_entropy_with_logits(found, node_logits)
            losses["loss"] += self.config.auxiliary_loss * tf.reduce_mean(node_losses, axis=1)
        return losses, {**outputs, "jumps": jumps}

    def metrics(self, batch: Batch, outputs: Tensors) -> dict[str, Pair]:
        return accuracy_metrics(outputs["correct"], outputs["jumps"], OBJECTS, "jumps")

    def training_only(self) -> list[Variable]:
        if isinstance(self.network, PrettyClevrNetwork) and self.config.auxiliary_loss:
            return [self.network.node_kernel]
        return []

    # Answers

    def inputs(self) -> dict[str, tf.TensorSpec]:
        return {
            "positions": tf.TensorSpec([None, OBJECTS, 2], tf.float32),
            "colours": tf.TensorSpec([None, OBJECTS], tf.int32),
            "markers": tf.TensorSpec([None, OBJECTS], tf.int32),
            "anchor": tf.TensorSpec([None], tf.int32),
            "jumps": tf.TensorSpec([None], tf.int32),
        }

    def ranges(self) -> dict[str, Range]:
        numbers = dict.fromkeys(("colours", "markers", "jumps"), (0, OBJECTS - 1))
        return {"positions": (0, 1), **numbers, "anchor": (0, CLASSES - 1)}

    def answers(self, inputs: Tensors) -> Tensors:
        """Answers one question about each scene.

        Args:
          inputs: of each object its "positions" in the unit square, float32 `[n, 8, 2]`, and its
            "colours" and "markers", 0 to 7, int32 `[n, 8]`; of the question its "anchor", a colour
            or 8 + a marker, and the number of "jumps", 0 to 7, int32 `[n]`.

        Returns:
          "answer": the likeliest colour or marker after the last step, in words, `[n]`.
          "probabilities": of the 8 colours and 8 markers at every step `[n, steps, 16]`.
        """
        scenes = self._scenes(*(inputs[n] for n in ("positions", "colours", "markers")))
        logits, _ = self.network(scenes, one_hot_question(inputs["anchor"], inputs["jumps"]), None)
        return {
            "answer": tf.gather(tf.constant(self.names), tf.argmax(logits[:, -1], -1)),
            "probabilities": tf.nn.softmax(logits),
        }


Model.LOSS_OPTIONS = options(PrettyClevr.loss)


def _rotate_and_scale(positions, random):
    """Positions `[scenes, 8, 2]`, rotated and scaled about (0.5, 0.5)."""
    angle = 2.0 * math.pi * random.uniform([], 0)
    scale = 2.0 ** (2.0 * random.uniform([], 1) - 1.0)
    cos, sin = scale * tf.cos(angle), scale * tf.sin(angle)
    rows = tf.stack([tf.stack([cos, -sin], -1), tf.stack([sin, cos], -1)], axis=1)
    return tf.matmul(positions - 0.5, rows, transpose_b=True) + 0.5
