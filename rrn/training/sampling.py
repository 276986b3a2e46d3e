"""Sampling by error: how much of a batch each group of examples gets.

A task's `groups` says to which group an example belongs (bAbI's tasks, Sudoku's numbers of givens).
Groups that validation finds wrong are drawn more often, and solved ones never stop being drawn.
"""

import numpy as np
import tensorflow as tf

from rrn.tasks.report import Results
from rrn.tasks.task import Arrays, Task


def shares_by_error(errors: np.ndarray, error_share: float, power: float = 1.0) -> np.ndarray:
    """The groups' shares of a batch `[groups]`: share_g = (1 - s) / G + s error_g^p / Σ error^p.

    Their sum is 1. Where all errors are 0 they are equal.

    Args:
      errors: validation errors `[groups]`, at least 0.
      error_share: s, from 0 to 1.
      power: p, at least 0; the larger, the more the groups get that are most wrong.
    """
    even = np.full(len(errors), 1.0 / len(errors))
    if not np.sum(errors):
        return even
    weights = errors**power
    return (1.0 - error_share) * even + error_share * weights / np.sum(weights)


class Sampler(tf.Module):
    """The groups' last validation errors, kept with the trainer's state.

    Before the first validation all are equal. A run that draws its first batches by error begins
    with a validation.

    Raises:
      ValueError: the task has no groups.
    """

    def __init__(self, task: Task, arrays: Arrays):
        super().__init__(name="sampler")
        groups = task.groups(arrays)
        if groups is None:
            raise ValueError("error_share above 0: this task's examples are in no groups")
        self.groups = np.unique(groups)
        self.errors = tf.Variable(
            tf.ones(len(self.groups), tf.float64), trainable=False, name="errors"
        )

    def take(self, results: Results) -> None:
        """Takes the `group_errors` of a validation.

        A group that was not validated gets the mean of the others.

        Raises:
          ValueError: the task's report gives no `group_errors`.
        """
        errors = results.group_errors
        if not errors:
            raise ValueError("error_share above 0: this task's results have no group_errors")
        mean = np.mean(list(errors.values()))
        self.errors.assign([errors.get(group, mean) for group in self.groups.tolist()])

    def shares(self, error_share: float, power: float) -> dict[int, float]:
        """Computes each group's share of a batch; the sum is 1."""
        shares = shares_by_error(self.errors.numpy(), error_share, power)
        return dict(zip(self.groups.tolist(), shares.tolist(), strict=True))
