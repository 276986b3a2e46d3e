"""Says what speaks against a folder's files being whole, and being of the tasks in their names.

A file that is cut after a whole question can be read, and so can the stories of another task. Both
may be meant, so they are notes and no errors.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from rrn.data_prep.babi import simulator
from rrn.data_prep.babi.simulator.compare import distance, shape
from rrn.data_prep.babi.stories import SPLITS, TASKS, Story

Files = Mapping[tuple[int, str], Sequence[Story]]  # by task and split
ENOUGH = 90  # questions; fewer do not tell
READ = 100  # stories of a file that are compared with simulated ones
# How much nearer another task is than the file's own. No published file comes nearer another one
# than its own: at least 0.13 lie between.
NEARER = 0.1


def doubts(files: Files, asked: Sequence[int] = TASKS) -> list[str]:
    """Returns notes, a sentence each without a full stop.

    Args:
      asked: the tasks that the notes are about.
    """
    ours = {key: stories for key, stories in files.items() if key[0] in asked}
    return [*_short_files(files, asked), *_other_tasks(ours)]


def _short_files(files: Files, asked: Sequence[int]) -> list[str]:
    """Every task has as many questions as the others: in test, and in the two others together."""
    notes = []
    for splits in ("train", "valid"), ("test",):
        present = [split for split in splits if any(key[1] == split for key in files)]
        counts = {
            task: sum(len(story.questions) for split in present for story in files[task, split])
            for task in TASKS
            if present and all((task, split) in files for split in present)
        }
        (usual, tasks), *_ = [*Counter(counts.values()).most_common(1), (0, 0)]
        if usual < ENOUGH or tasks < 2:
            continue
        named = " and ".join(SPLITS[split] for split in present)
        notes += [
            f"Task {task}: {count:,} {named} questions, {usual:,} in other tasks: is a part lost?"
            for task, count in counts.items()
            if count < usual and task in asked
        ]
    return notes


def _other_tasks(files: Files) -> list[str]:
    """A file's sentences are nearest those that the simulator tells for its task."""
    compared = {
        key: stories[:READ]
        for key, stories in files.items()
        if sum(len(story.questions) for story in stories[:READ]) >= ENOUGH
    }
    if not compared:
        return []
    rng = np.random.default_rng(0)
    usual = {task: _shapes(simulator.simulate(task, 2 * READ, rng, None)) for task in TASKS}
    notes = []
    for (task, split), stories in compared.items():
        found = _shapes(stories)
        away = {other: distance(found, shapes) for other, shapes in usual.items()}
        nearest = min(away, key=lambda other: away[other])
        if away[nearest] < away[task] - NEARER:
            notes.append(
                f"Task {task}: the {SPLITS[split]} file's sentences are those of task {nearest}:"
                " is it under a wrong name?"
            )
    return notes


def _shapes(stories: Sequence[Story]) -> Counter:
    texts = [text for s in stories for text in (*s.facts, *(q.text for q in s.questions))]
    shapes = Counter()
    for text, count in Counter(texts).items():
        shapes[shape(text)] += count
    return shapes
