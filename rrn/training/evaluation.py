"""Predictions on a split, or on a part of it."""

import time
from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from rrn.compiling import refusals
from rrn.config import Evaluate
from rrn.data_prep.progress import Progress
from rrn.distribute.towers import Tower, tower_outputs
from rrn.tasks.inputs import evaluation_inputs
from rrn.tasks.report import Report, Results
from rrn.tasks.task import Arrays
from rrn.training.progress import report_compilation
from rrn.variables.random import ExampleRandom


def spread(number: int, size: int) -> np.ndarray:
    """Chooses examples from all over a split, always the same.

    One is drawn from each of as many intervals. At equal distances they might all be of one kind.

    Returns:
      Integers `[number]` from 0 to `size` - 1, increasing, int32.
    """
    bounds = np.arange(number + 1, dtype=np.int64) * size // number
    return np.random.default_rng(0).integers(bounds[:-1], bounds[1:]).astype(np.int32)


class Evaluator:
    """Runs a task over a split on several devices.

    Positions and other random inputs are drawn by seed and example; `passes` > 1 averages the
    outputs over as many draws.

    Args:
      towers: a device's name stands for `Tower(device)`.
      num_examples: how many examples of the split to take, by `spread`; 0 for all.

    Attributes:
      examples: the ids of the examples, `[examples]`, increasing.
    """

    def __init__(
        self,
        report: Report,
        config: Evaluate,
        towers: Sequence[Tower | str],
        arrays: Arrays,
        seed: int,
        num_examples: int = 0,
    ):
        self.report, task = report, report.task
        split_size = task.num_examples(arrays)
        self.examples = spread(min(num_examples, split_size) or split_size, split_size)
        self.task, self.arrays = task, arrays
        self.towers = [Tower(tower) if isinstance(tower, str) else tower for tower in towers]
        self.inputs = [
            evaluation_inputs(task, arrays, self.examples, config.batch_size, len(towers), seed + p)
            for p in range(config.passes)
        ]
        specs = [dataset.element_spec for dataset in self.inputs[0]]
        self._compiles = self.towers[0].compiled  # with the first batch
        self._predict = tf.function(
            self._predict_batches, input_signature=[tuple(specs)], autograph=False
        )

    def _predict_batches(self, batches):
        def outputs_of(encodings, batch):
            random = ExampleRandom(batch["seed"], batch["examples"])
            return self.task.loss(encodings, batch, random, training=False)[1]

        return [
            (batch["examples"], tower_outputs(tower, self.task.encode, outputs_of, batch))
            for tower, batch in zip(self.towers, batches, strict=True)
        ]

    def outputs(self) -> dict[str, np.ndarray]:
        """Runs the task on all examples: its outputs `[examples, ...]` by name, in their order."""
        totals, progress = {}, Progress("evaluation", len(self.inputs) * len(self.examples))
        for i, inputs in enumerate(self.inputs):
            for name, values in self._one_pass(inputs, progress, i * len(self.examples)).items():
                totals[name] = totals.get(name, 0) + values
        return {name: total / len(self.inputs) for name, total in totals.items()}

    def _one_pass(self, inputs, progress, done):
        arrays, end = {}, done + len(self.examples)
        for batches in zip(*inputs, strict=True):
            started = time.monotonic()
            with refusals("evaluation"):
                results = self._predict(batches)
            if self._compiles:
                report_compilation("evaluation", time.monotonic() - started)
                self._compiles = False
            for examples, outputs in results:
                for name, values in outputs.items():
                    values = values.numpy()
                    if name not in arrays:
                        shape = [len(self.examples), *values.shape[1:]]
                        arrays[name] = np.zeros(shape, values.dtype)
                    arrays[name][np.searchsorted(self.examples, examples)] = values
                done = min(done + len(examples), end)  # a last batch is filled up
                progress.show(done)
        return arrays

    def results(self) -> tuple[Results, float]:
        """Computes the report's results, and the mean loss over the examples and all steps."""
        outputs = self.outputs()
        results = self.report.results(self.arrays, self.examples, outputs)
        return results, float(outputs["loss"].mean())
