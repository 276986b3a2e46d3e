"""Questions whose words alone tell the answer: in task 18, that no box fits in the chocolate."""

from collections.abc import Mapping, Sequence

import numpy as np

ENOUGH = 20  # occurrences; the answers to fewer questions may be the same by chance


def distinct_questions(arrays: Mapping[str, np.ndarray]) -> tuple[list[tuple], np.ndarray]:
    """Finds the questions that differ by their task or their words.

    Args:
      arrays: a split's "task" and "question" `[examples]`, and the sentences that its file has.

    Returns:
      (a task's number and the words' ids of each distinct question, which are the same in every
      file with this vocabulary; each example's place in this list `[examples]`).
    """
    tokens, lengths = arrays["sentences/tokens"], arrays["sentences/length"]
    pairs = np.stack([arrays["task"], arrays["question"]], axis=1)
    pairs, places = np.unique(pairs, axis=0, return_inverse=True)
    return [(t, *tokens[q, : lengths[q]].tolist()) for t, q in pairs.tolist()], places.reshape(-1)


def answered_alone(questions: Sequence[tuple], places: np.ndarray, answers: np.ndarray) -> set:
    """Finds the questions that have the same answer in all stories.

    Args:
      questions, places: what `distinct_questions` returned for the training split.

    Returns:
      The questions that occur at least `ENOUGH` times, always with one answer.
    """
    answer_of = np.zeros(len(questions), answers.dtype)
    answer_of[places] = answers
    others = np.bincount(places, answers != answer_of[places], minlength=len(questions))
    alone = (others == 0) & (np.bincount(places, minlength=len(questions)) >= ENOUGH)
    return {questions[i] for i in np.flatnonzero(alone).tolist()}
