"""Images are embedded so that those of the same digit are near each other.

The network never sees a digit's name: an example is an image (the query), another one of the same
digit (the match) and one of another digit (the other), and all three go through the same network
(Hoffer and Ailon 2015, "Deep metric learning using triplet network"; Schroff et al. 2015).

With the embeddings q, m and o, which have length 1, the loss of an example is

max(0, margin - q·(m - o))

For a query all matches are equally likely, and so are all others. An image that is the only one of
its digit in its split is its own match.
"""

import numpy as np
import tensorflow as tf

from rrn.files.data import PreparedData
from rrn.tasks.inputs import average_pixel
from rrn.tasks.task import Arrays, Batch, Pair, Task, Tensors
from rrn.tasks.triplet.network import EmbeddingNetwork, Model
from rrn.variables.random import ExampleRandom

IMAGES = "query", "match", "other"


class Triplet(Task):
    """The triplet task; the images' average and size are the data's.

    Raises:
      ValueError: a split has images of one digit alone.
    """

    config: Model
    network: EmbeddingNetwork

    def __init__(self, config: Model, data: PreparedData):
        for split, arrays in data.splits.items():
            if len(np.unique(arrays["label"])) < 2:
                raise ValueError(f"{data.path}: its {split} split needs images of two digits")
        self.size = int(data.constant("size", lambda train: train["image"].shape[1]))
        self.average = data.constant("average", average_pixel)
        super().__init__(config, EmbeddingNetwork(self.size, config))
        self.constants = {"size": self.size, "average": self.average}

    # Inputs

    def num_examples(self, arrays: Arrays) -> int:
        return len(arrays["label"])

    def make_batch(
        self, arrays: Arrays, examples: tf.Tensor, random: ExampleRandom, training: bool
    ) -> Batch:
        """Makes "query", "match" and "other", images `[examples, size, size, 1]`.

        Pixels are differences from the training split's average, 1 from black to white.
        """
        choices = examples, *draw_triplets(arrays["label"].numpy(), examples, random.uniform([2]))
        images = [self._centred(tf.gather(arrays["image"], choice)) for choice in choices]
        return dict(zip(IMAGES, images, strict=True))

    def _centred(self, images):
        return tf.cast(images, tf.float32)[..., None] / 255.0 - self.average

    # Model

    def loss(
        self, encodings: Tensors, batch: Batch, random: ExampleRandom, training: bool
    ) -> tuple[Tensors, Tensors]:
        """Computes the loss above.

        Outputs also have "closer" `[examples]`, whether the match is nearer than the other, and
        "embedding", the query's `[examples, embedding_size]`.
        """
        embeddings = self.network(tf.concat([batch[name] for name in IMAGES], axis=0))
        query, match, other = tf.split(embeddings, 3)
        closer = tf.reduce_sum(query * (match - other), axis=-1)
        loss = tf.nn.relu(self.config.margin - closer)
        return {"loss": loss}, {"loss": loss, "closer": closer > 0, "embedding": query}

    def metrics(self, batch: Batch, outputs: Tensors) -> dict[str, Pair]:
        closer = tf.cast(outputs["closer"], tf.float32)
        percent = 100.0 * tf.reduce_sum(closer)  # as in validation
        return {"closer": (percent, tf.cast(tf.size(closer), tf.float32))}

    # Answers

    def inputs(self) -> dict[str, tf.TensorSpec]:
        return {"image": tf.TensorSpec([None, self.size, self.size], tf.uint8)}

    def answers(self, inputs: Tensors) -> Tensors:
        """Embeds digits.

        Args:
          inputs: "image", white on black, uint8 `[n, size, size]`.

        Returns:
          "embedding": vectors of length 1, `[n, embedding_size]`.
        """
        return {"embedding": self.network(self._centred(inputs["image"]))}


def draw_triplets(
    labels: np.ndarray, examples: tf.Tensor, draws: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor]:
    """Draws a match and another image for every query: their ids, both `[examples]`, int32.

    Args:
      labels: the split's labels, integers `[images]`.
      examples: the queries' ids in the split `[examples]`, int32.
      draws: numbers in [0, 1) `[examples, 2]`.
    """
    # Sorted by label, a query's label has the positions from `start` to `start + count` - 1.
    order = np.argsort(labels, kind="stable").astype(np.int32)
    position = np.argsort(order).astype(np.int32)
    ordered = labels[order]
    start = np.searchsorted(ordered, labels, side="left").astype(np.int32)
    count = np.searchsorted(ordered, labels, side="right").astype(np.int32) - start
    position, start, count = (tf.gather(array, examples) for array in (position, start, count))

    def draw(draws, number):
        return tf.cast(draws * tf.cast(number, tf.float32), tf.int32)

    match = start + (position - start + 1 + draw(draws[:, 0], count - 1)) % count
    other = (start + count + draw(draws[:, 1], len(labels) - count)) % len(labels)
    return tf.gather(order, match), tf.gather(order, other)


create_task = Triplet
