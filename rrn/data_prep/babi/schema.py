"""What holds of every prepared bAbI file; `data_prep.babi.prepare` describes it."""

from collections.abc import Mapping

import numpy as np

from rrn.data_prep import DataError
from rrn.data_prep.layout import SPLITS, check_all, check_layout, check_range

UNKNOWN = "<unk>"
LAYOUT = {
    "vocabulary": ("object", ("V",)),
    "sentences/tokens": ("uint16", ("S", "L")),
    "sentences/length": ("uint8", ("S",)),
    "{split}/task": ("uint8", ("Q",)),
    "{split}/story": ("int32", ("Q",)),
    "{split}/question": ("int32", ("Q",)),
    "{split}/answer": ("int32", ("Q",)),
    "{split}/num_facts": ("int32", ("Q",)),
    "{split}/facts": ("int32", ("F",)),
    "{split}/story_start": ("int32", ("stories+1",)),
    "{split}/supporting": ("int32", ("P",)),
    "{split}/supporting_start": ("int32", ("Q+1",)),
}


def check(datasets: Mapping[str, np.ndarray]) -> None:
    """Refuses wrong arrays with a `DataError`."""
    check_layout(datasets, LAYOUT)
    words = list(datasets["vocabulary"])
    if words[:1] != [UNKNOWN] or words[1:] != sorted(set(words) - {UNKNOWN}):
        raise DataError(f"vocabulary: expected {UNKNOWN!r} and then distinct words, sorted")
    tokens, length = datasets["sentences/tokens"], datasets["sentences/length"]
    check_range("sentences/tokens", tokens, 0, len(words))
    check_range("sentences/length", length, 1, tokens.shape[1] + 1)
    padding = np.arange(tokens.shape[1]) >= length[:, None]
    check_all("sentences/tokens", ~padding | (tokens == 0), tokens, "0 after the sentence's end")
    for split in SPLITS:
        own = {
            name.removeprefix(f"{split}/"): array.astype(np.int64)
            for name, array in datasets.items()
            if name.startswith(f"{split}/")
        }
        _check_split(split, own, len(tokens), len(words))


def _check_split(split: str, own: dict[str, np.ndarray], sentences: int, words: int) -> None:
    starts, story, task = own["story_start"], own["story"], own["task"]
    _check_starts(f"{split}/story_start", starts, len(own["facts"]), least=1)
    _check_starts(f"{split}/supporting_start", own["supporting_start"], len(own["supporting"]), 0)
    check_range(f"{split}/task", task, 1, 21)
    check_range(f"{split}/question", own["question"], 0, sentences)
    check_range(f"{split}/facts", own["facts"], 0, sentences)
    check_range(f"{split}/answer", own["answer"], int(split == "train"), words)
    steps = np.diff(story, prepend=-1)
    in_order = (steps == 1) | ((steps == 0) & (np.arange(len(story)) > 0))
    check_all(f"{split}/story", in_order, story, "stories in order, from 0, none left out")
    if story.max(initial=-1) != len(starts) - 2:
        raise DataError(f"{split}/story: expected questions for all {len(starts) - 1:,} stories")
    in_order = (np.diff(task) == 0) | ((np.diff(task) > 0) & (steps[1:] == 1))
    check_all(f"{split}/task", in_order, task[1:], "tasks in order, and one in each story")
    told = np.diff(starts)[story]
    check_range(f"{split}/num_facts", own["num_facts"], 1, told + 1)
    grows = (np.diff(own["num_facts"]) >= 0) | (np.diff(story) == 1)
    check_all(f"{split}/num_facts", grows, own["num_facts"][1:], "not fewer than before")
    limit = own["num_facts"].repeat(np.diff(own["supporting_start"]))
    check_range(f"{split}/supporting", own["supporting"], 0, limit)


def _check_starts(name: str, starts: np.ndarray, end: int, least: int) -> None:
    if starts[0] != 0 or starts[-1] != end:
        raise DataError(f"{name}: runs from {starts[0]} to {starts[-1]}; expected 0 to {end}")
    check_all(name, np.diff(starts) >= least, starts[1:], f"at least {least} more than before")
