"""Makes the stories of each split of bAbI.

They are read from the archive's folder. Missing files can be supplemented, all stories can be
simulated, and validation stories are held out of training where the folder has none.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from rrn.data_prep import DataError
from rrn.data_prep.babi import simulator
from rrn.data_prep.babi.doubts import doubts
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
FILE_NAME = re.compile(r"qa[0-9]+_(.*_)?(train|valid|test)\.txt")


def folder_of(name: str) -> str | None:
    """Returns the folder that directly holds a task's file, or None for another file.

    Args:
      name: the file's name in the archive, with its folders.
    """
    *folders, file = name.split("/")
    return folders[-1] if folders and FILE_NAME.fullmatch(file) else None


def _parse_folder(members: Mapping[str, bytes], folder: str) -> dict[tuple[int, str], list[Story]]:
    """Returns the stories of every file of `folder`, by task and split."""
    parsed, names = {}, {}
    for name, data in members.items():
        if folder_of(name) == folder:
            key = _task_of(name), _split_of(name)
            if key in names:
                raise DataError(f"{name}: task and split are those of {names[key]}; keep only one")
            names[key] = name
            parsed[key] = parse_stories(data, key[0], name)
    return parsed


def _task_of(name: str) -> int:
    match = re.match(r"qa([0-9]{1,9})_", name.split("/")[-1])
    if not match or int(match[1]) not in TASKS:
        raise DataError(f"{name}: the file's name does not start with qaN_, N from 1 to 20")
    return int(match[1])


def _split_of(name: str) -> str:
    return Path(name).stem.split("_")[-1]


# Takes a task and a split. Returns where the stories are from and the stories, which may be none.
Supply = Callable[[int, str], tuple[str, list[Story]]]


def collect(
    members: Mapping[str, bytes],
    source: str,
    folder: str,
    supply: Supply,
    allow_missing: bool,
    tasks: Sequence[int] = TASKS,
) -> tuple[dict[str, list[Story]], list[str]]:
    """Reads the stories of a folder, and has missing ones supplied.

    Supplied stories that another split of the same task also has are dropped.

    Args:
      members: the archive's files by name.
      source: names the archive in error messages.
      folder: the archive's folder to read, one of `FOLDERS`.
      supply: supplies the stories of a missing file.
      allow_missing: whether a file may be missing that nothing is supplied for.
      tasks: the tasks to read.

    Returns:
      stories: the stories of each split, in order of task. notes: what was missing and what was
      done about it, a sentence each without a full stop.

    Raises:
      DataError: the folder has no files, a file is missing, there are two files of one task and
        split, a file is malformed, or there is no training file.
    """
    parsed = _parse_folder(members, folder)
    if not parsed:
        raise DataError(
            f"{source}: no files like {folder}/qa1_train.txt in it; give the bAbI archive"
            " tasks_1-20_v1-2.tar.gz, or another --folder"
        )
    notes, missing = doubts(parsed, tasks), []
    for task in tasks:
        for split in FOLDERS[folder]:
            if (task, split) in parsed:
                continue
            note = f"Task {task}: no {folder} {SPLITS[split]} file"
            origin, supplied = supply(task, split)
            kept, dropped = _drop_shared(supplied, task, parsed)
            if kept:
                questions = sum(len(story.questions) for story in kept)
                notes.append(
                    f"{note}; {questions} {SPLITS[split]} questions from {origin}{dropped}"
                )
                parsed[task, split] = kept
            elif allow_missing:
                notes.append(f"{note}; left out{dropped}")
            else:
                name = "" if "valid" in FOLDERS[folder] else "NAME_"
                missing.append(f"{folder}/qa{task}_{name}{split}.txt{dropped}")
    if missing:
        raise DataError(
            f"{source}: missing {_listed(missing)}. Ways out: --supplement FILE (a bAbI text file"
            " qaN_....txt from elsewhere), --supplement en (the questions of the same"
            " archive's folder en), --supplement simulated, or --allow-missing (go on without)"
        )
    stories = {
        split: [story for task in tasks for story in parsed.get((task, split), [])]
        for split in SPLITS
    }
    if not stories["train"]:
        raise DataError(f"{source}: no training file in folder {folder}; the vocabulary needs one")
    return stories, notes


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - 5} more files" if len(names) > 5 else ""
    return ", ".join(names[:5]) + more


def _drop_shared(
    supplied: list[Story], task: int, parsed: Mapping[tuple[int, str], list[Story]]
) -> tuple[list[Story], str]:
    """Returns the supplied stories that no split of the task has, and a remark on the others."""
    shared = {split: set(parsed.get((task, split), [])) for split in SPLITS}
    kept = [story for story in supplied if not any(story in shared[split] for split in SPLITS)]
    if len(kept) == len(supplied):
        return kept, ""
    where = [SPLITS[split] for split in SPLITS if shared[split].intersection(supplied)]
    dropped = len(supplied) - len(kept)
    return kept, f" ({dropped} stories that are also in {' or '.join(where)} dropped)"


def supplier(
    supplement: str | None, members: Mapping[str, bytes], folder: str, seed: int
) -> Supply:
    """Returns a function that supplies the stories of missing files.

    Args:
      supplement: what --supplement says; None supplies nothing.
      members: the archive's files by name.
      folder: the archive's folder that is read, one of `FOLDERS`.
      seed: the simulated stories' seed.

    Raises:
      DataError: `supplement` names no such task or file, or the file is malformed.
    """
    if supplement is None:
        return lambda task, split: ("", [])
    if supplement == "en":
        smaller = _parse_folder(members, "en")
        return lambda task, split: ("en", smaller.get((task, split), []))
    if supplement.split(":")[0] == "simulated":
        _, _, only = supplement.partition(":")
        if only and only not in map(str, TASKS):
            raise DataError(f"--supplement {supplement}: {only!r} is not a task from 1 to 20")

        def simulated(task: int, split: str) -> tuple[str, list[Story]]:
            if only and task != int(only):
                return "", []
            return "the simulator", _simulate(task, split, FOLDERS[folder][split], seed)

        return simulated
    path = Path(supplement)
    if not path.is_file():
        raise DataError(
            f"--supplement {supplement}: no such file; give a bAbI text file, 'en' or 'simulated'"
        )
    its_task, its_split = _task_of(path.name), _split_of(path.name)
    its_stories = parse_stories(path.read_bytes(), its_task, path.name)

    def from_file(task: int, split: str) -> tuple[str, list[Story]]:
        # A file whose name does not end with a split's name, such as qa3_more.txt, fits any split.
        fits = task == its_task and (split == its_split or its_split not in SPLITS)
        return path.name, its_stories if fits else []

    return from_file


def simulate_all(
    tasks: Sequence[int], folder: str, seed: int, num_stories: int | None
) -> dict[str, list[Story]]:
    """Returns simulated stories of each split, in order of task.

    If a task has few different stories, one story may occur in several splits, as it may in the
    archive.

    Args:
      tasks: the tasks to simulate.
      folder: the archive's folder, one of `FOLDERS`, whose splits are simulated.
      seed: the stories' seed.
      num_stories: the number of stories of each task for training; a tenth of it for validation and
        for test. None simulates about as many questions as the folder holds.

    Raises:
      DataError: `num_stories` is less than 1.
    """
    if num_stories is not None and num_stories < 1:
        raise DataError(f"--stories {num_stories}: at least 1 is needed")
    stories: dict[str, list[Story]] = {split: [] for split in SPLITS}
    for split, num_questions in FOLDERS[folder].items():
        count = num_stories
        if count is not None and split != "train":
            count = max(1, count // 10)
        for task in tasks:
            stories[split] += _simulate(task, split, num_questions, seed, count)
    return stories


def _simulate(
    task: int, split: str, num_questions: int, seed: int, num_stories: int | None = None
) -> list[Story]:
    """Returns simulated stories with about `num_questions` questions, or `num_stories` of them."""
    rng = np.random.default_rng((seed, task, list(SPLITS).index(split)))
    return simulator.simulate(task, num_questions, rng, num_stories)


def hold_out(stories: Sequence[Story], seed: int) -> tuple[list[Story], list[Story]]:
    """Splits off a tenth of each task's stories for validation.

    All copies of a story are on the same side. A task's draw depends only on the seed and on the
    task's own stories.

    Args:
      stories: the stories of all tasks.
      seed: the draw's seed.

    Returns:
      train: the training stories, in the order given. valid: the validation stories, in the order
      given.
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
