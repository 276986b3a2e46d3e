"""The triplet task's network: two convolutions and a linear layer."""

from typing import Annotated, ClassVar

import tensorflow as tf
from pydantic import Field

from rrn.config import ModelSettings, Size
from rrn.nn.convolution import Conv2D
from rrn.nn.layers import Linear

SCHEMAS = (("mnist", 1),)


class Model(ModelSettings):
    """The network that embeds images."""

    TASK: ClassVar = "triplet"

    width: Annotated[int, Field(ge=1, le=1024)] = 16  # channels; the second layer has twice as many
    embedding_size: Size = 32
    margin: Annotated[float, Field(ge=0, le=2)] = 0.5  # of a difference of cosines


class EmbeddingNetwork(tf.Module):
    """Maps an image to a vector of length 1.

    Two convolutions, each with a ReLU, halve the image, and a linear layer sees all of it.
    """

    def __init__(self, image_size: int, config: Model):
        super().__init__(name="network")
        width, dtype = config.width, config.compute_dtype
        self.convolutions = [
            Conv2D(1, width, 5, stride=2, compute_dtype=dtype, name="conv_0"),
            Conv2D(width, 2 * width, 5, stride=2, compute_dtype=dtype, name="conv_1"),
        ]
        pixels = (-(-image_size // 4)) ** 2
        self.linear = Linear(pixels * 2 * width, config.embedding_size, dtype, name="linear")

    def __call__(self, images: tf.Tensor) -> tf.Tensor:
        """Maps `[batch, image_size, image_size, 1]` to `[batch, embedding_size]`, float32."""
        for layer in self.convolutions:
            images = tf.nn.relu(layer(images))
        rows = tf.reshape(images, [-1, self.linear.w.shape[0]])
        return tf.math.l2_normalize(tf.cast(self.linear(rows), tf.float32), axis=-1)
