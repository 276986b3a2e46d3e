"""Predictions on a split, or on a part of it."""

import numpy as np
import tensorflow as tf

from rrn.data import evaluation_inputs
from rrn.distribute.devices import CPU
from rrn.random import ExampleRandom
from rrn.reading import reading_scope
from rrn.training.progress import EvaluationProgress


def spread(number, size):
    """`number` of the integers from 0 to `size` - 1, increasing: one drawn from each of as many
    intervals, always the same. (At equal distances they might all be of one kind.)
    """
    bounds = np.arange(number + 1, dtype=np.int64) * size // number
    return np.random.default_rng(0).integers(bounds[:-1], bounds[1:]).astype(np.int32)


class Evaluator:
    """Runs a task over a split on several devices.

    Positions and other random inputs are drawn by seed and example; `passes` > 1 averages the
    outputs over as many draws.
    """

    def __init__(self, task, config, devices, arrays, seed, num_examples=0):
        """config: the experiment's `evaluate`; arrays: the split's, from `PreparedData.arrays`;
        num_examples: so many of the split, by `spread` (0: all).
        """
        split_size = task.num_examples(arrays)
        self.examples = spread(min(num_examples, split_size) or split_size, split_size)
        self.task, self.arrays = task, arrays
        self.devices, self.passes = devices, config.passes
        self.inputs = [
            evaluation_inputs(
                task, arrays, self.examples, config.batch_size, len(devices), seed + p
            )
            for p in range(config.passes)
        ]
        specs = [dataset.element_spec for dataset in self.inputs[0]]
        self._predict = tf.function(
            self._predict_batches, input_signature=[tuple(specs)], autograph=False
        )

    def _predict_batches(self, batches):
        results = []
        for device, batch in zip(self.devices, batches, strict=True):
            with tf.device(CPU), reading_scope():
                encodings = self.task.encode(batch)
            with tf.device(device), reading_scope():
                random = ExampleRandom(batch["seed"], batch["examples"])
                _, outputs = self.task.loss(encodings, batch, random, training=False)
            results.append((batch["examples"], outputs))
        return results

    def outputs(self):
        """name -> array `[examples, ...]`: the outputs, in the order of the split."""
        totals, progress = {}, EvaluationProgress(self.passes * len(self.examples))
        for inputs in self.inputs:
            for name, values in self._one_pass(inputs, progress).items():
                totals[name] = totals.get(name, 0) + values
        return {name: total / self.passes for name, total in totals.items()}

    def _one_pass(self, inputs, progress):
        arrays = {}
        for batches in zip(*inputs, strict=True):
            for examples, outputs in self._predict(batches):
                for name, values in outputs.items():
                    values = values.numpy()
                    if name not in arrays:
                        shape = [len(self.examples), *values.shape[1:]]
                        arrays[name] = np.zeros(shape, values.dtype)
                    arrays[name][np.searchsorted(self.examples, examples)] = values
                progress.add(len(examples))
        return arrays

    def results(self):
        """(the task's results, the mean loss over the examples and all steps)."""
        outputs = self.outputs()
        results = self.task.results(self.arrays, self.examples, outputs)
        return results, float(outputs["loss"].mean())
