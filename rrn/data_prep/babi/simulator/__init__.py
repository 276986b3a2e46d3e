"""Simulated bAbI: stories of the 20 tasks of Weston et al. (arXiv 1502.05698).

    python -m data_prep babi --source simulated --out data/babi_like_released.h5

The stories follow the released files closely: vocabulary, sentences, lengths and odds of events.
They are not copies: sentences and rules are written here, and answers are derived from what a story
tells.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from rrn.data_prep.babi.simulator import people, reasoning
from rrn.data_prep.babi.simulator.telling import Dice, Tale
from rrn.data_prep.babi.stories import Story

_TELL: dict[int, Callable[[Dice], Tale]] = {
    **{task: partial(people.people_story, setting) for task, setting in people.SETTINGS.items()},
    4: reasoning.direction_story,
    14: people.timeline_story,
    15: reasoning.fear_story,
    16: reasoning.colour_story,
    17: reasoning.position_story,
    18: reasoning.size_story,
    19: reasoning.path_story,
    20: reasoning.motive_story,
}


def story(task: int, key: str, index: int) -> Story:
    """Returns the story of a number, from 0, of a task's collection that `key` names."""
    return _TELL[task](Dice(f"{key}/{task}/{index}")).story(task)


def simulate(
    task: int, num_questions: int, rng: np.random.Generator, num_stories: int | None = None
) -> list[Story]:
    """Returns `num_stories` stories, or as many as have `num_questions` questions.

    The next 64 bits of `rng` are the key of their collection; nothing else is drawn from it.
    """
    key = f"{rng.bit_generator.random_raw():016x}"
    if num_stories is not None:
        return [story(task, key, index) for index in range(num_stories)]
    stories, asked = [], 0
    while asked < num_questions:
        stories.append(story(task, key, len(stories)))
        asked += len(stories[-1].questions)
    return stories
