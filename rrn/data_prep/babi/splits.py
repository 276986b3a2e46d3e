"""Makes the stories of each split of bAbI.

They are read from the archive's folder, or simulated. Its folder `en` can supplement missing files.
Validation stories are held out of training where the folder has none.
"""

import itertools
import re
from collections.abc import Mapping, Sequence

import numpy as np

from rrn.data_prep import DataError
from rrn.data_prep.babi import simulator
from rrn.data_prep.babi.stories import SPLITS, TASKS, Story, parse_stories

# The files of each kind of folder and about how many questions each holds. Where there is no
# validation file, a tenth of the training stories becomes validation.
SIZES = {
    "-valid-10k": {"train": 9000, "valid": 1000, "test": 1000},
    "-10k": {"train": 10000, "test": 1000},
    "-valid": {"train": 900, "valid": 100, "test": 1000},
    "": {"train": 1000, "test": 1000},
}
# English, Hindi, and English with other letters; "nosf": without supporting facts.
FOLDERS = {
    f"{language}{size}{without}": files
    for language in ("en", "hn", "shuffled")
    for size, files in SIZES.items()
    for without in ("", "-nosf")
}
FILE_NAME = re.compile(r"qa([0-9]+)_(?:.*_)?(train|valid|test)\.txt")


def folder_of(name: str) -> str | None:
    """Returns the folder that directly holds a task's file, or None for another file."""
    *folders, file = name.split("/")
    return folders[-1] if folders and FILE_NAME.fullmatch(file) else None


def _parse_folder(members: Mapping[str, bytes], folder: str) -> dict[tuple[int, str], list[Story]]:
    """Returns the stories of every file of `folder`, by task and split."""
    parsed, names = {}, {}
    for name, data in members.items():
        match = FILE_NAME.fullmatch(name.split("/")[-1])
        if folder_of(name) != folder or not match:
            continue
        task, split = int(match[1]), match[2]
        if task not in TASKS:
            raise DataError(f"{name}: the file's name does not start with qaN_, N from 1 to 20")
        if (task, split) in names:
            raise DataError(f"{name}: task and split are those of {names[task, split]}")
        names[task, split] = name
        parsed[task, split] = parse_stories(data, task, name)
    return parsed


def collect(
    members: Mapping[str, bytes],
    source: str,
    folder: str,
    supplement: bool,
    tasks: Sequence[int] = TASKS,
) -> tuple[dict[str, list[Story]], list[str]]:
    """Reads the stories of a folder; the folder `en` may supplement missing files.

    Its stories that another split of the same task also has are dropped.

    Args:
      members: the archive's files by name.
      source: names the archive in error messages.

    Returns:
      stories: the stories of each split, in order of task. notes: a sentence for each missing file.

    Raises:
      DataError: a file is missing or malformed, or two are of one task and split.
    """
    parsed = _parse_folder(members, folder)
    if not parsed:
        raise DataError(
            f"{source}: no files like {folder}/qa1_train.txt in it; give the bAbI archive"
            " tasks_1-20_v1-2.tar.gz, or another --folder"
        )
    smaller = _parse_folder(members, "en") if supplement else {}
    notes, missing = [], []
    for task, split in itertools.product(tasks, FOLDERS[folder]):
        if (task, split) in parsed:
            continue
        supplied = smaller.get((task, split), [])
        present = {s: split for split in SPLITS for s in parsed.get((task, split), [])}
        kept = [story for story in supplied if story not in present]
        where = " or ".join({SPLITS[present[s]]: None for s in supplied if s in present})
        number = len(supplied) - len(kept)
        dropped = f" ({number} stories that are also in {where} dropped)" if number else ""
        if kept:
            questions = sum(len(story.questions) for story in kept)
            notes.append(
                f"Task {task}: no {folder} {SPLITS[split]} file; {questions} {SPLITS[split]}"
                f" questions from en{dropped}"
            )
            parsed[task, split] = kept
        else:
            missing.append(f"{folder}/qa{task}_{split}.txt{dropped}")
    if missing:
        more = f" and {len(missing) - 5} more files" if len(missing) > 5 else ""
        raise DataError(
            f"{source}: missing {', '.join(missing[:5])}{more}; give --supplement en (the questions"
            " of the archive's folder en), or --tasks without them"
        )
    stories = {
        split: [story for task in tasks for story in parsed.get((task, split), [])]
        for split in SPLITS
    }
    return stories, notes


def simulate_all(
    tasks: Sequence[int], folder: str, seed: int, num_stories: int | None
) -> dict[str, list[Story]]:
    """Returns simulated stories of each split of a folder, in order of task.

    They are `num_stories` of each task for training, a tenth of it for validation and for test, or
    else about as many as have the folder's numbers of questions.
    """
    stories: dict[str, list[Story]] = {split: [] for split in SPLITS}
    for split, num_questions in FOLDERS[folder].items():
        count = num_stories if split == "train" or not num_stories else max(1, num_stories // 10)
        for task in tasks:
            rng = np.random.default_rng((seed, task, list(SPLITS).index(split)))
            stories[split] += simulator.simulate(task, num_questions, rng, count)
    return stories


def hold_out(stories: Sequence[Story], seed: int) -> tuple[list[Story], list[Story]]:
    """Splits off a tenth of each task's stories for validation: (training, validation).

    All copies of a story are on the same side. A task's draw depends only on the seed and on the
    task's own stories.
    """
    valid = set()
    for task in TASKS:
        distinct = list(dict.fromkeys(story for story in stories if story.task == task))
        rng = np.random.default_rng((seed, task))
        tenth = max(round(len(distinct) / 10), int(len(distinct) > 1))
        drawn = rng.permutation(len(distinct))[:tenth]
        valid.update(distinct[i] for i in drawn)
    return (
        [story for story in stories if story not in valid],
        [story for story in stories if story in valid],
    )
