"""What a task is: its inputs, its model and its losses. Most of it has a usual default.

What is made of a model's outputs to be read is the task's report: see `rrn/tasks/report.py`.
"""

import abc
import inspect
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
import tensorflow as tf
from pydantic import create_model

from rrn.config import ModelSettings
from rrn.settings import Settings
from rrn.tasks.checks import Range, checked_inputs
from rrn.variables.random import ExampleRandom, Seed, uniform
from rrn.variables.reading import Variable

Tensors = dict[str, tf.Tensor]
Arrays = Tensors  # one split of a prepared file
Batch = dict[str, Any]  # one device's examples: name -> tensor, or a nest of tensors
Pair = tuple[tf.Tensor, tf.Tensor]  # a sum and a count


class Task(abc.ABC):
    """A model with its inputs and losses; it knows no device, file or loop over updates.

    A task must have `num_examples`, `make_batch` and `loss`. Everything else has a default.

    Args:
      config: the model's settings, which also say which further arguments of `loss` and of
        `make_batch` a stage of training may give; None for what every model has.
      network: the modules that run on every tower's device.
      encoder: the modules that run on the CPU, shared by all towers; None without any.

    Attributes:
      constants: name -> what the model took from its data, numbers or words. A weights file keeps
        it, and the model is made again from it.
      fixed_shapes: whether `make_batch` is to make tensors whose shapes depend on the number of
        examples alone, since XLA compiles again for other shapes. It is set before inputs are made.
      metric_losses: metric -> its loss: stages that do not train this loss leave the metric out.
        All stages report the other metrics.
    """

    constants: Mapping[str, Any] = MappingProxyType({})
    metric_losses: ClassVar[Mapping[str, str]] = {}
    fixed_shapes: bool = False

    def __init__(
        self, config: ModelSettings | None, network: tf.Module, encoder: tf.Module | None = None
    ):
        self.config, self.network = config or ModelSettings(), network
        self.encoder = tf.Module(name="encoder") if encoder is None else encoder

    # Inputs

    @abc.abstractmethod
    def num_examples(self, arrays: Arrays) -> int:
        """Counts the examples of a split."""

    def draw_examples(self, arrays: Arrays, seed: Seed, batch_size: int) -> tf.Tensor:
        """Draws a training batch: ids `[batch_size]`, int32; by default all are equally likely.

        The draws depend on the seed alone.
        """
        return uniform(seed, [batch_size], 0, self.num_examples(arrays), tf.int32)

    def groups(self, arrays: Arrays) -> np.ndarray | None:
        """Gives each example's group, integers `[examples]`: errors are counted by group."""
        return None

    def sizes(self, arrays: Arrays, examples: tf.Tensor) -> tf.Tensor:
        """Gives the sizes `[examples]`, integers, by which a batch is sorted; by default zeros."""
        return tf.zeros_like(examples)

    @abc.abstractmethod
    def make_batch(
        self, arrays: Arrays, examples: tf.Tensor, random: ExampleRandom, training: bool
    ) -> Batch:
        """Makes the examples' tensors, in the input pipeline.

        Args:
          examples: ids of examples `[examples]`, sorted by size.
          training: whether the batch is for training, which may change the examples.
        """

    # Model

    def encode(self, batch: Batch) -> Tensors:
        """Runs the encoder on the CPU; gradients flow back through the tensors that it returns."""
        return {}

    def training_only(self) -> list[Variable]:
        """Lists variables of the network that only training needs, whole; weights may lack them."""
        return []

    def initial_state(self, num_examples: int) -> Any:
        """Makes the state of examples before the first step, a nest of `[num_examples, ...]`.

        A task with a state takes it in `loss` as the argument `state`. Its outputs have the "state"
        after the steps, and "solved", booleans `[examples]`. By default None: there is none.
        """
        return None

    @abc.abstractmethod
    def loss(
        self, encodings: Tensors, batch: Batch, random: ExampleRandom, training: bool
    ) -> tuple[Tensors, Tensors]:
        """Runs the network and computes the losses.

        The stages of training may set further arguments, which the config's `LOSS_OPTIONS` has.

        Args:
          training: whether the losses are for training; in evaluation nothing is dropped.

        Returns:
          (losses, outputs). Losses are `[examples]`; training minimizes "loss", or those that the
          config's stages name. Outputs are `[examples, ...]`; one of them is "loss", by step or
          not, and validation reports its mean.
        """

    def metrics(self, batch: Batch, outputs: Tensors) -> dict[str, Pair]:
        """Computes what training reports beside the losses.

        Returns:
          name -> (sum, count) over the batch, scalars or vectors; the trainer divides the sums.
        """
        return {}

    def regularized(self) -> list[Variable]:
        """Lists the variables w, whole, in the L2 term Σ w²/2; by default none."""
        return []

    # Answers

    def inputs(self) -> dict[str, tf.TensorSpec]:
        """Declares what `predict` takes; first axes count examples. Without it none is there."""
        return {}

    def ranges(self) -> dict[str, Range]:
        """Declares (lowest, highest) of inputs for which not all values of their type are right.

        They are numbers, or lists with one for each index of the last axis.
        """
        return {}

    def predict(self, inputs: Mapping[str, Any]) -> Tensors:
        """Answers, without data sets and draws. `rrn.models.export` writes it as a SavedModel.

        Args:
          inputs: name -> a tensor, an array or nested lists, as `inputs` and `ranges` say.

        Returns:
          What `answers` returns.

        Raises:
          ValueError: the inputs are not as declared.
          NotImplementedError: the task has no `predict`.
        """
        if not self.inputs():
            raise NotImplementedError(f"{type(self).__name__} has no predict")
        return self.answers(self.checked(inputs))

    def checked(self, inputs: Mapping[str, Any]) -> Tensors:
        """Makes tensors of what `predict` is given; ValueError: the inputs are not as declared."""
        name = f"{type(self).__name__}.predict"
        return checked_inputs(name, self.inputs(), self.ranges(), inputs)

    def answers(self, inputs: Tensors) -> Tensors:
        """Answers `predict`, which has checked the inputs; first axes count examples."""
        raise NotImplementedError


def options(method: Callable[..., Any]) -> type[Settings]:
    """Makes settings of what a stage may give to a task's `loss` or `make_batch`.

    These are the arguments that `Task`'s own method does not have, but for a `state`: their types,
    ranges and defaults.
    """
    inherited = *inspect.signature(getattr(Task, method.__name__)).parameters, "state"
    arguments = inspect.signature(method).parameters.items()
    fields = {n: (a.annotation, a.default) for n, a in arguments if n not in inherited}
    return create_model("Options", __base__=Settings, **fields)  # pyright: ignore
