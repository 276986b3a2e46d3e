"""Images are classified by convolutions and dense layers, to measure how such networks train on
several machines: TensorFlow's tutorial network for MNIST, and VGG19 (Simonyan and Zisserman 2015).

`blocks` of the config gives each block's convolutions by their output channels, `dense` the hidden
layers' sizes, both as multiples of `width`. The image is halved after each block. Departures from
VGG19's paper: weights start as `rrn.convolution` and `rrn.layers` say (theirs were of a shallower
network), the optimizer is the config's, and images are not cropped or mirrored: they are digits.
"""

import itertools

import numpy as np
import tensorflow as tf

from rrn.convolution import Conv2D
from rrn.layers import MLP
from rrn.random import uniform
from rrn.readout import dropout

# The prepared files' names and versions of schema.
SCHEMAS = (("mnist", 1),)
NUM_CLASSES = 10


def create_task(config, data):
    return Classification(config, data)


class ConvolutionalNetwork(tf.Module):
    """Blocks of convolutions, each with a ReLU; 2 x 2 max-pooling after each block; an MLP."""

    def __init__(self, channels, num_classes, config):
        super().__init__(name="network")
        dtype, size = config.compute_dtype, config.input_size
        self.blocks = []
        for i, multiples in enumerate(config.blocks, 1):
            sizes = [channels, *(config.width * m for m in multiples)]
            pairs = enumerate(itertools.pairwise(sizes), 1)
            self.blocks.append(
                [
                    Conv2D(*pair, config.kernel_size, compute_dtype=dtype, name=f"conv_{i}_{j}")
                    for j, pair in pairs
                ]
            )
            size, channels = -(-size // 2), sizes[-1]
        hidden = [config.width * multiple for multiple in config.dense]
        self.dense = MLP([size**2 * channels, *hidden, num_classes], dtype, name="dense")

    def __call__(self, images, after_relu=None):
        """Logits `[batch, classes]` of `[batch, input_size, input_size, channels]`.

        `after_relu(x, i)`, if given, is applied to the i-th hidden dense layer's output (dropout).
        """
        for block in self.blocks:
            for layer in block:
                images = tf.nn.relu(layer(images))
            images = tf.nn.max_pool2d(images, 2, 2, "SAME")
        rows = tf.reshape(images, [-1, self.dense.layers[0].w.shape[0]])
        return tf.cast(self.dense(rows, after_relu), tf.float32)


class Classification:
    """The classification task; see `rrn.tasks.task.Task` for what each method is for.

    Nothing is encoded, so the encoder has no variables.
    """

    def __init__(self, config, data):
        self.config = config
        images = data.splits["train"]["image"]
        self.average = np.float32(images.mean(dtype=np.float64) / 255.0)
        self.encoder = tf.Module(name="encoder")
        self.network = ConvolutionalNetwork(1, NUM_CLASSES, config)

    # Inputs

    def num_examples(self, arrays):
        return len(arrays["label"])

    def draw_examples(self, arrays, seed, batch_size):
        """Images uniformly."""
        return uniform(seed, [batch_size], 0, self.num_examples(arrays), tf.int32)

    def sizes(self, arrays, examples):
        return tf.zeros_like(examples)

    def make_batch(self, arrays, examples, random, training):
        """ "image" `[examples, input_size, input_size, 1]`: differences from the training split's
        average, 1 from black to white; "label" `[examples]`.
        """
        images = tf.cast(tf.gather(arrays["image"], examples), tf.float32)[..., None] / 255.0
        images = tf.image.resize(images - self.average, 2 * [self.config.input_size])
        return {"image": images, "label": tf.gather(arrays["label"], examples)}

    # Model

    def encode(self, batch):
        return {}

    def loss(self, encodings, batch, random):
        """Cross-entropy; outputs: "loss" `[examples]` and "probabilities" `[examples, classes]`."""
        probabilities = [self.config.dropout] * len(self.config.dense)
        logits = self.network(batch["image"], dropout(probabilities, random))
        loss = tf.nn.sparse_softmax_cross_entropy_with_logits(batch["label"], logits)
        return {"loss": loss}, {"loss": loss, "probabilities": tf.nn.softmax(logits)}

    def regularized(self):
        convolutions = itertools.chain.from_iterable(self.network.blocks)
        return [layer.w for layer in (*convolutions, *self.network.dense.layers)]

    # Results

    def metrics(self, batch, outputs):
        predicted = tf.argmax(outputs["probabilities"], -1, tf.int32)
        right = tf.cast(predicted == batch["label"], tf.float32)
        return {"accuracy": (tf.reduce_sum(right), tf.cast(tf.size(right), tf.float32))}

    def results(self, arrays, examples, outputs):
        """`accuracy/digit_0` ... `accuracy/digit_9` and `accuracy/all` (percent), `loss`."""
        labels = arrays["label"].numpy()[examples]
        right = 100.0 * (outputs["probabilities"].argmax(-1) == labels)
        metrics = {f"accuracy/digit_{k}": right[labels == k].mean() for k in np.unique(labels)}
        metrics |= {"accuracy/all": right.mean(), "loss": outputs["loss"].mean()}
        metrics = {name: float(value) for name, value in metrics.items()}
        return {"metrics": metrics, "by_step": {}, "error": 100.0 - metrics["accuracy/all"]}

    def table(self, results):
        numbers = results["metrics"].items()
        lines = [f"{n.replace('_', ' '):<20}{v:8.2f}" for n, v in numbers if n != "loss"]
        return "\n".join(
            [f"{'':<20}{'%':>8}", *lines, f"{'loss':<20}{results['metrics']['loss']:8.4f}"]
        )

    def figures(self, results):
        """`accuracy`: bars of the accuracy by digit."""
        from matplotlib.figure import Figure  # only drawing needs it

        metrics = results["metrics"]
        digits = {int(n[-1]): v for n, v in metrics.items() if n.startswith("accuracy/digit_")}
        figure = Figure(figsize=(6, 3.5), layout="constrained")
        axes = figure.subplots()
        axes.bar(list(digits), list(digits.values()))
        axes.set_xticks(list(digits))
        axes.set_ylim(min(digits.values()) - 1.0, 100.0)
        axes.set_xlabel("digit")
        axes.set_ylabel("accuracy, %")
        axes.set_title(f"{metrics['accuracy/all']:.2f} %", fontsize=9)
        return {"accuracy": figure}
