"""What the input pipeline, the trainer and the evaluation ask of a task."""

from typing import Any, Protocol

import tensorflow as tf

from rrn.random import ExampleRandom

Arrays = dict[str, tf.Tensor]  # one split of a prepared file: name -> tensor
Batch = dict[str, Any]  # one device's examples


class Task(Protocol):
    """A model with its inputs, losses and results; it knows no device, file or loop over updates.

    Attributes:
      encoder: `tf.Module` that runs on the CPU, shared by all towers (without variables where
        nothing is encoded).
      network: `tf.Module` that runs on every tower's device.
    """

    encoder: tf.Module
    network: tf.Module

    def num_examples(self, arrays: Arrays) -> int:
        """The number of examples of a split."""

    def draw_examples(self, arrays: Arrays, seed: tf.Tensor, batch_size: int) -> tf.Tensor:
        """A training batch: ids `[batch_size]` of examples of the split, drawn by `seed`."""

    def sizes(self, arrays: Arrays, examples: tf.Tensor) -> tf.Tensor:
        """The examples' sizes `[examples]`; a batch is sorted by them before `make_batch`."""

    def make_batch(self, arrays: Arrays, examples, random: ExampleRandom, training: bool) -> Batch:
        """The examples' tensors. Runs in the input pipeline; `training` may change the examples."""

    def encode(self, batch: Batch) -> dict[str, tf.Tensor]:
        """What the encoder makes of a batch, for the network; gradients flow back through it."""

    def loss(self, encodings, batch: Batch, random: ExampleRandom | None):
        """(losses: name -> `[examples]`, outputs: name -> tensor `[examples, ...]`).

        random: None in evaluation, where nothing is dropped. Whatever else it takes, as
        `num_steps=None`, the stages of training may set.

        Training goes by the losses' "loss", or by those that the config's stages name. One of the
        outputs is "loss", too, by step or not; validation reports its mean.
        """

    def metrics(self, batch: Batch, outputs) -> dict[str, tuple[tf.Tensor, tf.Tensor]]:
        """name -> (sum, count) over the batch, scalars or vectors; the trainer divides the sums.

        `<loss>/...`, named after one of the losses, is reported in the stages that train it.
        """

    def regularized(self) -> list[tf.Variable]:
        """The variables w in the L2 term Σ w²/2."""

    def results(self, arrays: Arrays, examples, outputs) -> dict:
        """{"metrics": {name: value at the last step}, "by_step": {name: [values]}, "error"}, and
        whatever else the figures need. Without steps "by_step" is empty. The best weights are
        those with the lowest "error", a number, on the validation split.

        examples: the ids, an array, of examples of a split, all of them or some; outputs: name ->
        array `[examples, ...]`, in that order.
        """

    def table(self, results: dict) -> str:
        """The results in words, beside the paper's.

        Here and in `figures`, `results` also has "by_stage": the results of the weights at the end
        of each of the config's stages, by the stage's name.
        """

    def figures(self, results: dict) -> dict:
        """name -> matplotlib figure."""
