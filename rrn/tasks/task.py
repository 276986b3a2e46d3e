"""What a task is: its inputs, its losses and its results. Most of it has a usual default."""

import abc
import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import tensorflow as tf

from rrn.pages import Example, Table
from rrn.random import ExampleRandom, uniform
from rrn.reading import Variable

if TYPE_CHECKING:  # only drawing needs it
    from matplotlib.figure import Figure

Arrays = dict[str, tf.Tensor]  # one split of a prepared file: name -> tensor
Batch = dict[str, Any]  # one device's examples
Pair = tuple[tf.Tensor, tf.Tensor]  # a sum and a count


@dataclasses.dataclass(frozen=True)
class Results:
    """What a model reaches on a split, or on a part of it.

    Attributes:
      metrics: name -> the number at the last step.
      error: the number by which the best weights are chosen; the lowest is the best.
      by_step: name -> the numbers by step; empty where there are no steps.
      group_errors: group of `Task.groups` -> its error; examples are drawn by these errors where
        the config's `error_share` is above 0.
      samples: whatever else the task's figures show.
      by_stage: stage -> the results of the weights at its end; empty where there are no stages.
    """

    metrics: dict[str, float]
    error: float
    by_step: dict[str, list[float]] = dataclasses.field(default_factory=dict)
    group_errors: dict[int, float] = dataclasses.field(default_factory=dict)
    samples: Any = None
    by_stage: dict[str, "Results"] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Quantity:
    """What the figures say of a kind of metric.

    Attributes:
      title: what it is in words, and its unit.
      factor: by what its numbers are multiplied, 100 where a share is shown in percent.
      counted: if it is a list, what its places are, in a word.
      first: the number of the list's first place.
    """

    title: str
    factor: float = 1
    counted: str = ""
    first: int = 0


class Task(abc.ABC):
    """A model with its inputs, losses and results; it knows no device, file or loop over updates.

    A task must have `num_examples`, `make_batch` and `loss`. Everything else has a default.

    Args:
      config: the experiment's `model`.
      network: the modules that run on every tower's device.
      encoder: the modules that run on the CPU, shared by all towers; a module without variables if
        not given.

    Attributes:
      config, network, encoder: the arguments.
      constants: name -> what the model took from its data, numbers or words. A weights file keeps
        it, and the model is made again from it. By default nothing.
      fixed_shapes: whether `make_batch` is to make tensors whose shapes depend on the number of
        examples alone. XLA compiles anew for every set of shapes. Whoever trains sets it before the
        inputs are made; by default False.
      quantities: kind of metric -> what figures say of it. A kind is a metric's name, up to the
        slash and with it if there is one: "error/" is that of "error/task_01".
    """

    constants: ClassVar[dict[str, Any]] = {}
    quantities: ClassVar[Mapping[str, Quantity]] = {}
    fixed_shapes: bool = False

    def __init__(self, config: Any, network: tf.Module, encoder: tf.Module | None = None):
        self.config, self.network = config, network
        self.encoder = tf.Module(name="encoder") if encoder is None else encoder

    # Inputs

    @abc.abstractmethod
    def num_examples(self, arrays: Arrays) -> int:
        """Counts the examples of a split.

        Args:
          arrays: the split's tensors.

        Returns:
          Their number.
        """

    def draw_examples(self, arrays: Arrays, seed: tf.Tensor, batch_size: int) -> tf.Tensor:
        """Draws a training batch; by default all examples are equally likely.

        Args:
          arrays: the split's tensors.
          seed: integers `[2]`; the draws depend on nothing else.
          batch_size: the number of examples to draw.

        Returns:
          Ids of examples of the split `[batch_size]`, int32.
        """
        return uniform(seed, [batch_size], 0, self.num_examples(arrays), tf.int32)

    def groups(self, arrays: Arrays) -> np.ndarray | None:
        """Says which examples belong together: errors are counted by group.

        Args:
          arrays: the split's tensors.

        Returns:
          Each example's group, integers `[examples]`; by default None: no groups.
        """
        return None

    def sizes(self, arrays: Arrays, examples: tf.Tensor) -> tf.Tensor:
        """Measures the examples by which a batch is sorted.

        Args:
          arrays: the split's tensors.
          examples: ids of examples `[examples]`.

        Returns:
          The sizes, integers `[examples]`; by default zeros.
        """
        return tf.zeros_like(examples)

    @abc.abstractmethod
    def make_batch(
        self, arrays: Arrays, examples: tf.Tensor, random: ExampleRandom, training: bool
    ) -> Batch:
        """Makes the examples' tensors. It runs in the input pipeline.

        Args:
          arrays: the split's tensors.
          examples: ids of examples `[examples]`, sorted by size.
          random: the examples' draws.
          training: whether the batch is for training, which may change the examples.

        Returns:
          name -> tensor, or a nest of tensors.
        """

    # Model

    def encode(self, batch: Batch) -> dict[str, tf.Tensor]:
        """Runs the encoder, on the CPU.

        Args:
          batch: what `make_batch` returned.

        Returns:
          name -> what the network takes; gradients flow back through it. By default nothing.
        """
        return {}

    def training_only(self) -> list[Variable]:
        """Lists variables of the network that only training needs.

        Weights with which a training begins may lack them.

        Returns:
          Whole variables; by default none.
        """
        return []

    def initial_state(self, num_examples: int) -> Any:
        """Makes the state of examples that have made no step.

        A task with a state takes it in `loss` as the argument `state`. Its outputs have the "state"
        after the steps, and "solved", booleans `[examples]`.

        Args:
          num_examples: the number of examples.

        Returns:
          A nest of `[num_examples, ...]`; by default None: the network carries no state from one
          update to the next.
        """
        return None

    @abc.abstractmethod
    def loss(
        self, encodings: dict[str, tf.Tensor], batch: Batch, random: ExampleRandom, training: bool
    ) -> tuple[dict[str, tf.Tensor], dict[str, tf.Tensor]]:
        """Runs the network and computes the losses.

        The stages of training may set further arguments, such as `num_steps=None`.

        Args:
          encodings: what `encode` returned.
          batch: what `make_batch` returned.
          random: the examples' draws.
          training: whether the losses are for training; in evaluation nothing is dropped.

        Returns:
          (losses, outputs). Losses are name -> `[examples]`; training minimizes "loss", or those
          that the config's stages name. Outputs are name -> `[examples, ...]`; one of them is
          "loss", by step or not, and validation reports its mean.
        """

    def regularized(self) -> list[tf.Variable]:
        """Lists the variables w in the L2 term Σ w²/2.

        Returns:
          Whole variables; by default none.
        """
        return []

    # Answers

    def inputs(self) -> dict[str, tf.TensorSpec]:
        """Says what `predict` takes.

        Returns:
          name -> its shape and type, of which the first axis counts examples; by default nothing:
          the task has no `predict`.
        """
        return {}

    def predict(self, inputs: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        """Answers, without data sets and draws. `rrn.export` writes it as a SavedModel.

        Args:
          inputs: name -> tensor, as `inputs` says.

        Returns:
          name -> tensor, of which the first axis counts examples.

        Raises:
          NotImplementedError: the task has no `predict`.
        """
        raise NotImplementedError(f"{type(self).__name__} has no predict")

    # Results

    def metrics(self, batch: Batch, outputs: dict[str, tf.Tensor]) -> dict[str, Pair]:
        """Computes what training reports beside the losses.

        Args:
          batch: what `make_batch` returned.
          outputs: what `loss` returned.

        Returns:
          name -> (sum, count) over the batch, scalars or vectors; the trainer divides the sums. A
          name `<loss>/...` is reported in the stages that train this loss. By default nothing.
        """
        return {}

    def results(
        self, arrays: Arrays, examples: np.ndarray, outputs: dict[str, np.ndarray]
    ) -> Results:
        """Computes the results; by default the mean loss, which is also the error.

        Args:
          arrays: the split's tensors.
          examples: ids of all examples of the split, or of some.
          outputs: name -> `[examples, ...]`, in the order of `examples`.

        Returns:
          The results.
        """
        loss = np.mean(outputs["loss"], axis=0)
        last = float(loss[-1] if loss.ndim else loss)
        by_step = {"loss": loss.tolist()} if loss.ndim else {}
        return Results({"loss": last}, error=last, by_step=by_step)

    def table(self, results: Results) -> Table | str:
        """Makes a table of the results; by default a row for each metric.

        Args:
          results: what `results` returned.

        Returns:
          The table, or text of any form.
        """
        rows = [(name, f"{value:.4f}") for name, value in results.metrics.items()]
        return Table(("", "value"), rows)

    def figures(self, results: Results) -> dict[str, "Figure"]:
        """Draws the results.

        Args:
          results: what `results` returned.

        Returns:
          name -> figure; by default none.
        """
        return {}

    def examples(self, arrays: Arrays, examples: np.ndarray, seed: int) -> list[Example]:
        """Shows what the network makes of a few examples, step by step.

        It runs outside of `tf.function`, and should take a few seconds.

        Args:
          arrays: the split's tensors.
          examples: ids of the examples that were evaluated, increasing.
          seed: the experiment's, for `rrn.data.evaluation_batch`.

        Returns:
          The examples, for the page of the run; by default none.
        """
        return []
