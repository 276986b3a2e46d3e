"""The classification task's network: convolutions, pooling, dense layers."""

import itertools
from collections.abc import Callable
from typing import Annotated, ClassVar

import tensorflow as tf
from pydantic import Field

from rrn.config import Dropout, ModelSettings
from rrn.nn.convolution import Conv2D, max_pool
from rrn.nn.layers import MLP, Linear
from rrn.settings import LIST_TOO, Number

SCHEMAS = (("mnist", 1),)
# Sizes over the model's `width`.
Multiples = Annotated[tuple[Annotated[int, Field(ge=1, le=1024)], ...], LIST_TOO]


class Model(ModelSettings):
    """Blocks of convolutions, then dense layers; the defaults are the tutorial's."""

    TASK: ClassVar = "classification"

    input_size: Annotated[int, Field(ge=1, le=4096)] = 28  # the images' height and width
    width: Annotated[int, Field(ge=1, le=1024)] = 32
    kernel_size: Annotated[int, Field(ge=1, le=63)] = 5
    blocks: Annotated[tuple[Multiples, ...], LIST_TOO] = ((1,), (2,))  # channels, over width
    dense: Multiples = (32,)  # hidden layers' sizes, over width
    dropout: Dropout = 0.5
    kernel_deviation: Number = 0.0  # initially, of a truncated normal distribution; 0: uniform
    initial_bias: Number = 0.0


class ConvolutionalNetwork(tf.Module):
    """Blocks of convolutions, each with a ReLU; 2 x 2 max-pooling after each block; an MLP.

    Kernels start as `rrn.nn.convolution` and `rrn.nn.layers` say, or with `kernel_deviation` above
    0 from a normal distribution of this standard deviation, cut off at twice the deviation. Biases
    start at `initial_bias`.
    """

    def __init__(self, channels: int, num_classes: int, config: Model):
        super().__init__(name="network")
        dtype, size = config.compute_dtype, config.input_size
        self.blocks = []
        for i, multiples in enumerate(config.blocks, 1):
            sizes = [channels, *(config.width * m for m in multiples)]
            block = [
                Conv2D(*pair, config.kernel_size, compute_dtype=dtype, name=f"conv_{i}_{j}")
                for j, pair in enumerate(itertools.pairwise(sizes), 1)
            ]
            self.blocks.append(block)
            size, channels = -(-size // 2), sizes[-1]
        hidden = [config.width * multiple for multiple in config.dense]
        self.dense = MLP([size**2 * channels, *hidden, num_classes], dtype, name="dense")
        for layer in self.layers():
            if config.kernel_deviation:
                deviation = config.kernel_deviation
                layer.w.assign(tf.random.truncated_normal(tf.shape(layer.w), stddev=deviation))
            if config.initial_bias:
                layer.b.assign(tf.fill(layer.b.shape, config.initial_bias))

    def layers(self) -> list[Conv2D | Linear]:
        """Lists the layers that have a kernel: convolutions, then dense layers, in their order."""
        return [*itertools.chain.from_iterable(self.blocks), *self.dense.layers]

    def __call__(
        self, images: tf.Tensor, after_relu: Callable[[tf.Tensor, int], tf.Tensor] | None = None
    ) -> tf.Tensor:
        """Computes logits `[batch, classes]`.

        Args:
          images: `[batch, input_size, input_size, channels]`.
          after_relu: a function (x, i) for the i-th hidden dense layer's output, as for dropout.
        """
        for block in self.blocks:
            for layer in block:
                images = tf.nn.relu(layer(images))
            images = max_pool(images)
        rows = tf.reshape(images, [-1, self.dense.layers[0].w.shape[0]])
        return tf.cast(self.dense(rows, after_relu), tf.float32)
