"""Images are classified by convolutions and dense layers.

It measures how such networks train on several machines: TensorFlow's tutorial network for MNIST,
and VGG19 (Simonyan and Zisserman 2015).

`blocks` of the config gives each block's convolutions by their output channels, `dense` the hidden
layers' sizes, both as multiples of `width`. The image is halved after each block. Departures from
VGG19's paper: all weights start at random (theirs were of a shallower network), the optimizer is
the config's, and images are not cropped or mirrored: they are digits.
"""

import tensorflow as tf

from rrn.files.data import PreparedData
from rrn.nn.readout import dropout
from rrn.tasks.classification.network import ConvolutionalNetwork, Model
from rrn.tasks.inputs import average_pixel
from rrn.tasks.task import Arrays, Batch, Pair, Task, Tensors
from rrn.variables.random import ExampleRandom
from rrn.variables.reading import Variable

NUM_CLASSES = 10


class Classification(Task):
    """The classification task; the images' average is the data's."""

    config: Model
    network: ConvolutionalNetwork

    def __init__(self, config: Model, data: PreparedData):
        super().__init__(config, ConvolutionalNetwork(1, NUM_CLASSES, config))
        self.average = data.constant("average", average_pixel)
        self.constants = {"average": self.average}

    # Inputs

    def num_examples(self, arrays: Arrays) -> int:
        return len(arrays["label"])

    def make_batch(
        self, arrays: Arrays, examples: tf.Tensor, random: ExampleRandom, training: bool
    ) -> Batch:
        """Takes "image" `[examples, input_size, input_size, 1]` and "label" `[examples]`.

        Pixels are differences from the training split's average, 1 from black to white.
        """
        images = self._resized(tf.gather(arrays["image"], examples))
        return {"image": images, "label": tf.gather(arrays["label"], examples)}

    def _resized(self, images):
        images = tf.cast(images, tf.float32)[..., None] / 255.0
        return tf.image.resize(images - self.average, 2 * [self.config.input_size])

    # Model

    def loss(
        self, encodings: Tensors, batch: Batch, random: ExampleRandom, training: bool
    ) -> tuple[Tensors, Tensors]:
        """Computes the cross-entropy; outputs also have "probabilities" `[examples, classes]`."""
        probabilities = [self.config.dropout] * len(self.config.dense)
        dropped = dropout(probabilities, random if training else None)
        logits = self.network(batch["image"], dropped)
        loss = tf.nn.sparse_softmax_cross_entropy_with_logits(batch["label"], logits)
        return {"loss": loss}, {"loss": loss, "probabilities": tf.nn.softmax(logits)}

    def metrics(self, batch: Batch, outputs: Tensors) -> dict[str, Pair]:
        predicted = tf.argmax(outputs["probabilities"], -1, tf.int32)
        right = tf.cast(predicted == batch["label"], tf.float32)
        return {"accuracy": (tf.reduce_sum(right), tf.cast(tf.size(right), tf.float32))}

    def regularized(self) -> list[Variable]:
        return [layer.w for layer in self.network.layers()]

    # Answers

    def inputs(self) -> dict[str, tf.TensorSpec]:
        return {"image": tf.TensorSpec([None, None, None], tf.uint8)}

    def answers(self, inputs: Tensors) -> Tensors:
        """Classifies digits.

        Args:
          inputs: "image", white on black, uint8 `[n, height, width]`.

        Returns:
          "label": the likeliest digit, int32 `[n]`. "probabilities" of the digits `[n, 10]`.
        """
        probabilities = tf.nn.softmax(self.network(self._resized(inputs["image"]), None))
        label = tf.argmax(probabilities, -1, tf.int32)
        return {"label": label, "probabilities": probabilities}


create_task = Classification
