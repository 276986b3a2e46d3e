"""The completion task's modules: the completion network and two joined discriminators."""

from typing import Annotated, ClassVar

import tensorflow as tf
from pydantic import Field

from rrn.config import ModelSettings
from rrn.nn.convolution import Conv2D, ConvTranspose2D
from rrn.nn.layers import Linear
from rrn.settings import LIST_TOO, Number

SCHEMAS = (("pretty_clevr", 1), ("mnist", 1))
Dilation = Annotated[int, Field(ge=1, le=256)]
Share = Annotated[float, Field(ge=0.01, lt=1)]


class Model(ModelSettings):
    """The completion network and the discriminators; the defaults are the publication's."""

    TASK: ClassVar = "completion"

    width: Annotated[int, Field(ge=2, le=1024)] = 64
    dilations: Annotated[tuple[Dilation, ...], LIST_TOO] = (2, 4, 8, 16)
    # Its sides' smallest and largest share of the image's.
    hole: Annotated[tuple[Share, Share], LIST_TOO] = (0.25, 0.5)
    patch_size: Annotated[int, Field(ge=1, le=4096)] = 64
    adversarial_weight: Number = 4e-4


class CompletionNetwork(tf.Module):
    """Fills holes: from an image and its mask to the image.

    The middle layers are dilated and work at a quarter of the size. Channels are 1, 2 and 4 times
    `width`. Layers that keep the shape compute (x + ReLU(conv(x))) / √2.
    """

    def __init__(self, channels: int, config: Model):
        super().__init__(name="completion")
        width, dtype = config.width, config.compute_dtype

        def conv(name, inputs, outputs, kernel_size=3, stride=1, dilation=1):
            return Conv2D(inputs, outputs, kernel_size, stride, dilation, dtype, name)

        def up(name, inputs, outputs):
            return ConvTranspose2D(inputs, outputs, 4, 2, dtype, name)

        with self.name_scope:
            self.layers = [
                conv("conv_0", channels + 1, width, kernel_size=5),
                conv("conv_1", width, 2 * width, stride=2),
                conv("conv_2", 2 * width, 2 * width),
                conv("conv_3", 2 * width, 4 * width, stride=2),
                conv("conv_4", 4 * width, 4 * width),
                conv("conv_5", 4 * width, 4 * width),
                *(conv(f"dilated_{d}", 4 * width, 4 * width, 3, 1, d) for d in config.dilations),
                conv("conv_6", 4 * width, 4 * width),
                conv("conv_7", 4 * width, 4 * width),
                up("up_0", 4 * width, 2 * width),
                conv("conv_8", 2 * width, 2 * width),
                up("up_1", 2 * width, width),
                conv("conv_9", width, width // 2),
                conv("conv_10", width // 2, channels),
            ]
        last = self.layers[-1].w
        last.assign(tf.zeros_like(last))

    def __call__(self, images: tf.Tensor) -> tf.Tensor:
        """Maps `[batch, size, size, channels + 1]` to `[batch, size, size, channels]`, float32."""
        first, *layers, last = self.layers
        images = tf.nn.relu(first(images))
        for layer in layers:
            outputs = tf.nn.relu(layer(images))
            keeps_shape = layer.stride == 1 and images.shape[-1] == outputs.shape[-1]
            images = (images + outputs) * 0.5**0.5 if keeps_shape else outputs
        return tf.cast(last(images), tf.float32)


class ImageDiscriminator(tf.Module):
    """Convolutions that halve an image until it is at most 4 pixels high, and a dense layer."""

    def __init__(self, size: int, channels: int, config: Model, name: str):
        super().__init__(name=name)
        width, dtype = config.width, config.compute_dtype
        self.layers = []
        with self.name_scope:
            while size > 4:
                i = len(self.layers)
                sizes = channels, width * min(2**i, 8)
                self.layers.append(Conv2D(*sizes, 5, 2, compute_dtype=dtype, name=f"conv_{i}"))
                size, channels = -(-size // 2), sizes[1]
            self.dense = Linear(size**2 * channels, 16 * width, dtype, name="dense")

    def __call__(self, images: tf.Tensor) -> tf.Tensor:
        """Maps `[batch, size, size, channels]` to features `[batch, 16 * width]`, float32."""
        for layer in self.layers:
            images = tf.nn.relu(layer(images))
        rows = tf.reshape(images, [-1, self.dense.w.shape[0]])
        return tf.cast(tf.nn.relu(self.dense(rows)), tf.float32)


class Discriminator(tf.Module):
    """A global and a local discriminator, joined by one linear layer."""

    def __init__(self, size: int, channels: int, config: Model):
        super().__init__(name="discriminator")
        with self.name_scope:
            self.whole = ImageDiscriminator(size, channels, config, "global")
            self.patch = ImageDiscriminator(config.patch_size, channels, config, "local")
            self.joint = Linear(2 * 16 * config.width, 1, name="joint")

    def __call__(self, images: tf.Tensor, patches: tf.Tensor) -> tf.Tensor:
        """Computes logits `[batch]` of being real.

        Args:
          images: `[batch, size, size, channels]`.
          patches: what is around their holes, `[batch, patch_size, patch_size, channels]`.
        """
        features = tf.concat([self.whole(images), self.patch(patches)], axis=-1)
        return self.joint(features)[:, 0]


class CompletionModules(tf.Module):
    """The network that completes images of `size` by `size`, and their discriminator."""

    def __init__(self, size: int, channels: int, config: Model):
        super().__init__(name="network")
        self.completion = CompletionNetwork(channels, config)
        self.discriminator = Discriminator(size, channels, config)
