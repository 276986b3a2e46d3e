"""Questions whose words alone tell the answer: in task 18, that no box fits in the chocolate."""

import numpy as np

ENOUGH = 20  # occurrences; an answer to fewer questions may be the same by chance


def pair_keys(tasks: np.ndarray, questions: np.ndarray) -> np.ndarray:
    """Makes one number of a task and a question.

    Args:
      tasks: the tasks' numbers `[n]`.
      questions: the questions' sentences, numbers `[n]`.

    Returns:
      The keys `[n]`, int64.
    """
    return tasks.astype(np.int64) << 32 | questions


def answered_alone(tasks: np.ndarray, questions: np.ndarray, answers: np.ndarray) -> np.ndarray:
    """Finds the questions that have the same answer in all stories.

    Args:
      tasks, questions: of all training examples, as of `pair_keys`.
      answers: their answers `[n]`.

    Returns:
      The `pair_keys` of tasks and questions that occur at least `ENOUGH` times, always with one
      answer.
    """
    keys, pairs, counts = np.unique(
        pair_keys(tasks, questions), return_inverse=True, return_counts=True
    )
    order = np.argsort(pairs, kind="stable")
    starts = np.cumsum(counts) - counts
    lowest = np.minimum.reduceat(answers[order], starts)
    highest = np.maximum.reduceat(answers[order], starts)
    return keys[(lowest == highest) & (counts >= ENOUGH)]
