"""Image completion: a network fills a hole, and two discriminators judge the image.

It follows Iizuka et al. 2017, "Globally and locally consistent image completion".

The hole is a rectangle drawn at random for every example. The completion network sees the image
with the hole in the average colour, and the hole's mask; only the hole is taken from what it gives.
A global discriminator sees the whole image, a local one a patch around the hole; one linear layer
over both says how real it is. The same discriminators judge original and completed images.

Losses of an example, with x the image, c the completed one, D the discriminator's logit:

    reconstruction  the mean of (x - c)² over the hole's pixels
    discriminator   -log σ(D(x)) - log(1 - σ(D(c)))
    generator       reconstruction - adversarial_weight log σ(D(c))
    full            reconstruction + adversarial_weight discriminator

"full" is one loss for all variables. Where it is minimized, its second term also teaches the
completion network to make images that discriminators recognize; docs/guide/stages.md compares the
two ways.

Departures from the paper: widths, dilations and adversarial_weight are the config's, and a
discriminator halves its image until it is at most 4 pixels high. There is no batch normalization:
an example's result would depend on which others its device has. Without it the deep completion
network learns no more than the average, so layers that keep the shape are residual, networks see
and give differences from the average colour, and the last layer is linear and starts at zero. The
generator's adversarial term is the one that does not saturate, not log(1 - σ(D(c))); the
reconstruction term is a mean over the hole, not a sum. An original image is judged around the hole
of its completion, not around another. Adam replaces AdaDelta. Results are the network's,
without blending afterwards.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import tensorflow as tf

from rrn.files.data import PreparedData
from rrn.tasks.checks import Range, refuse
from rrn.tasks.completion.holes import (
    cut_patches,
    draw_holes,
    hole_mask,
    mean_over_hole,
    nearest_visible,
)
from rrn.tasks.completion.network import CompletionModules, Model
from rrn.tasks.task import Arrays, Batch, Pair, Task, Tensors
from rrn.variables.random import ExampleRandom
from rrn.variables.reading import Variable, module_variables

FILLS = "completed", "average image", "visible average", "nearest visible"
# The prepared file's name and version of schema -> its images.
IMAGES = {("pretty_clevr", 1): "images", ("mnist", 1): "image"}


class Completion(Task):
    """The completion task; the average image is the data's.

    Raises:
      ValueError: the data has no images, or holes and patches do not fit them.
    """

    config: Model
    network: CompletionModules
    metric_losses: ClassVar = {"discriminator/accuracy": "discriminator"}

    def __init__(self, config: Model, data: PreparedData):
        self.name = IMAGES[data.attributes["schema"], data.attributes["version"]]
        self.average = data.constant("average", lambda train: self._average(data.path, train))
        self.size, width, channels = self.average.shape
        smallest, largest = (round(share * self.size) for share in config.hole)
        if not 1 <= smallest <= largest < self.size:
            raise ValueError(
                f"model.hole: expected the smallest and the largest share of a side, of at least a "
                f"pixel and less than all {self.size}, got {config.hole}"
            )
        if width != self.size or self.size % 4 or not largest <= config.patch_size <= self.size:
            raise ValueError(
                f"{data.path}: images must be square, of a side that 4 divides and that is at "
                f"least model.patch_size, which must be at least the hole's {largest}; images are "
                f"{self.size} x {width}, patch_size is {config.patch_size}"
            )
        super().__init__(config, CompletionModules(self.size, channels, config))
        self.constants = {"average": self.average}
        self.colour = self.average.mean(axis=(0, 1))

    def _average(self, path, train):
        """The training split's average image `[size, size, channels]`."""
        if self.name not in train:
            raise ValueError(f"{path}: has no images; `python -m data_prep` needs --images")
        images = train[self.name]
        images = images.reshape(*images.shape[:3], -1)
        return np.float32(images.mean(axis=0, dtype=np.float64) / 255.0)

    # Inputs

    def num_examples(self, arrays: Arrays) -> int:
        images = arrays.get(self.name)
        if images is None or list(images.shape[1:3]) != [self.size, self.size]:
            got = "none" if images is None else f"{images.shape[1]} x {images.shape[2]}"
            raise ValueError(f"the model takes images of {self.size} x {self.size}, got {got}")
        return len(images)

    def make_batch(
        self, arrays: Arrays, examples: tf.Tensor, random: ExampleRandom, training: bool
    ) -> Batch:
        """Takes "image" `[examples, size, size, channels]` in [0, 1]; "hole" is of `draw_holes`."""
        images = tf.gather(arrays[self.name], examples)
        images = tf.reshape(images, [-1, *self.average.shape])
        smallest, largest = (round(share * self.size) for share in self.config.hole)
        hole = draw_holes(random, self.size, smallest, largest)
        return {"image": tf.cast(images, tf.float32) / 255.0, "hole": hole}

    # Model

    def complete(self, batch: Mapping[str, tf.Tensor]) -> tf.Tensor:
        """Fills a batch's "hole" in each "image"; values there may be outside of [0, 1]."""
        image, mask = batch["image"], hole_mask(batch["hole"], self.size)
        seen = tf.concat([tf.where(mask > 0, 0.0, image - self.colour), mask], axis=-1)
        return tf.where(mask > 0, self.colour + self.network.completion(seen), image)

    def judge(self, images: tf.Tensor, hole: tf.Tensor) -> tf.Tensor:
        """Computes the discriminators' logits `[examples]` of being real."""
        images = images - self.colour
        return self.network.discriminator(images, cut_patches(images, hole, self.config.patch_size))

    def loss(
        self, encodings: Tensors, batch: Batch, random: ExampleRandom, training: bool
    ) -> tuple[Tensors, Tensors]:
        """Computes the losses above; the output "loss" is the reconstruction's.

        Outputs are also "l1" and "mse" `[examples, fills]`, of the first of `FILLS` in training and
        of all in evaluation, values cut to [0, 1]; "original_logit" and "completed_logit"; in
        evaluation "completed", the images, and "hole".
        """
        image, hole = batch["image"], batch["hole"]
        completed = self.complete(batch)
        original_logit, completed_logit = self.judge(image, hole), self.judge(completed, hole)
        _, reconstruction = mean_over_hole(completed - image, hole)
        judged = tf.nn.softplus(-original_logit) + tf.nn.softplus(completed_logit)
        fooled = tf.nn.softplus(-completed_logit)
        losses = {
            "reconstruction": reconstruction,
            "discriminator": judged,
            "generator": reconstruction + self.config.adversarial_weight * fooled,
            "full": reconstruction + self.config.adversarial_weight * judged,
        }
        completed = tf.clip_by_value(completed, 0.0, 1.0)
        fills = [completed] if training else [completed, *self.simple_fills(batch)]
        errors = [mean_over_hole(fill - image, hole) for fill in fills]
        l1, mse = (tf.stack(parts, axis=1) for parts in zip(*errors, strict=True))
        outputs = {"loss": reconstruction, "l1": l1, "mse": mse}
        outputs |= {"original_logit": original_logit, "completed_logit": completed_logit}
        return losses, outputs if training else {**outputs, "completed": completed, "hole": hole}

    def simple_fills(
        self, batch: Mapping[str, tf.Tensor]
    ) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """Makes all `FILLS` but the first, of shapes that broadcast to the images'."""
        image, hole = batch["image"], batch["hole"]
        visible = 1.0 - hole_mask(hole, self.size)
        colour = tf.reduce_sum(image * visible, [1, 2], keepdims=True)
        colour /= tf.reduce_sum(visible, [1, 2], keepdims=True)
        return self.average[None], colour, nearest_visible(image, hole)

    def metrics(self, batch: Batch, outputs: Tensors) -> dict[str, Pair]:
        """Computes "l1" in the hole, and how many images the discriminators judge rightly."""
        count = tf.cast(tf.shape(outputs["l1"])[0], tf.float32)
        right = [outputs["original_logit"] > 0, outputs["completed_logit"] < 0]
        right = tf.reduce_sum(tf.cast(right, tf.float32))
        return {
            "l1": (tf.reduce_sum(outputs["l1"][:, 0]), count),
            "discriminator/accuracy": (right, 2 * count),
        }

    def regularized(self) -> list[Variable]:
        variables = module_variables(self.network)
        return [v for v in variables if v.name.removesuffix(":0").endswith("/w")]

    # Answers

    def inputs(self) -> dict[str, tf.TensorSpec]:
        return {
            "image": tf.TensorSpec([None, *self.average.shape], tf.float32),
            "hole": tf.TensorSpec([None, 4], tf.int32),
        }

    def ranges(self) -> dict[str, Range]:
        last, patch = self.size - 1, self.config.patch_size
        return {"image": (0, 1), "hole": ([0, 0, 1, 1], [last, last, patch, patch])}

    def checked(self, inputs: Mapping[str, Any]) -> Tensors:
        inputs = super().checked(inputs)
        ends = inputs["hole"][:, :2] + inputs["hole"][:, 2:]
        right = f"Completion.predict: hole must end within the image's {self.size} pixels"
        with tf.control_dependencies(refuse(ends > self.size, right, ends)):
            return {name: tf.identity(value) for name, value in inputs.items()}

    def answers(self, inputs: Tensors) -> Tensors:
        """Fills a hole in each image.

        Args:
          inputs: "image", values in [0, 1], of the training images' size, float32 `[n, size, size,
            channels]`; "hole", its top, left, height and width, int32 `[n, 4]`.

        Returns:
          "completed": the images with their holes filled, values in [0, 1].
        """
        return {"completed": tf.clip_by_value(self.complete(inputs), 0.0, 1.0)}


create_task = Completion
