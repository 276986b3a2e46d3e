"""Sampling by error: how much of a batch each group of examples gets.

A task's `groups` says to which group an example belongs (bAbI's tasks, Sudoku's numbers of givens).
Groups that validation finds wrong are drawn more often, and solved ones never stop being drawn.
"""

import numpy as np
import tensorflow as tf


def shares_by_error(errors, error_share):
    """The groups' shares of a batch `[groups]`: share_g = (1 - s) / G + s error_g / Σ error.

    Args:
      errors: validation errors `[groups]`, at least 0.
      error_share: s, from 0 to 1.

    Returns:
      The shares, whose sum is 1. Where all errors are 0 they are equal.
    """
    even = np.full(len(errors), 1.0 / len(errors))
    if not np.sum(errors):
        return even
    return (1.0 - error_share) * even + error_share * errors / np.sum(errors)


class Sampler(tf.Module):
    """The groups' last validation errors, kept with the trainer's state.

    Before the first validation all are equal.
    """

    def __init__(self, task, arrays):
        """Finds the groups.

        Args:
          task: the `rrn.tasks.task.Task`.
          arrays: the training split's.

        Raises:
          ValueError: the task has no groups.
        """
        super().__init__(name="sampler")
        groups = task.groups(arrays)
        if groups is None:
            raise ValueError("error_share above 0: this task's examples are in no groups")
        self.groups = np.unique(groups)
        self.errors = tf.Variable(
            np.ones(len(self.groups)), dtype=tf.float64, trainable=False, name="errors"
        )

    def note(self, results):
        """Takes the errors from the results of a validation; of groups that it lacks, the mean."""
        errors = results.group_errors
        mean = np.mean(list(errors.values()))
        self.errors.assign([errors.get(group, mean) for group in self.groups.tolist()])

    def shares(self, error_share):
        """{group: share} for a stage's `error_share`."""
        shares = shares_by_error(self.errors.numpy(), error_share)
        return dict(zip(self.groups.tolist(), shares.tolist(), strict=True))
