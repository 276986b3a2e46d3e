"""What several of bAbI's tests use: small archives, and what a file holds."""

import io
import itertools
import tarfile
from pathlib import Path

from rrn.data_prep import hdf5
from rrn.data_prep.__main__ import main
from rrn.data_prep.babi.splits import FOLDERS
from rrn.data_prep.babi.stories import TASKS

TRAIN = """\
1 Mary moved to the bathroom.
2 John got the milk.
3 Where is Mary? \tbathroom\t1
4 Mary got the apple.
5 What is Mary carrying?\tmilk,apple\t4 2
1 John moved to the Bathroom.
2 Where is John?\tbathroom\t1
"""
FACT = "1 Mary moved to the bathroom.\n"


def one_story(name: str) -> str:
    return f"1 {name} moved to the garden.\n2 Where is {name}?\tgarden\t1\n"


def whole_folder(folder: str) -> dict[str, str]:
    """Returns files of every task and split with one story each, and 20 in training."""
    return {
        f"top/{folder}/qa{task}_{split}.txt": "".join(
            one_story(f"{split}{task}x{i}") for i in range(20 if split == "train" else 1)
        )
        for task in TASKS
        for split in FOLDERS[folder]
    }


def make_archive(path: Path, files: dict[str, str]) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(text.encode())
            archive.addfile(member, io.BytesIO(text.encode()))
    return path


def prepare(source: Path | str, out: Path, *options: str) -> int:
    return main(["babi", "--source", str(source), "--out", str(out), *options])


def contents(path: Path) -> tuple[dict[str, list], dict[str, str | int]]:
    """Returns all datasets, as lists by their path in the file, and the attributes."""
    found = hdf5.read(path)
    return {name: array.tolist() for name, array in found.datasets.items()}, found.attributes


def stories_of(path: Path, split: str) -> list[tuple]:
    """Returns each story of a split as its task and its sentences' texts."""
    datasets, _ = contents(path)
    sentence = [
        " ".join(datasets["vocabulary"][token] for token in tokens[:length])
        for tokens, length in zip(
            datasets["sentences/tokens"], datasets["sentences/length"], strict=True
        )
    ]
    starts = datasets[f"{split}/story_start"]
    facts = [sentence[i] for i in datasets[f"{split}/facts"]]
    stories = [(facts[a:b], []) for a, b in itertools.pairwise(starts)]
    for story, question in zip(
        datasets[f"{split}/story"], datasets[f"{split}/question"], strict=True
    ):
        stories[story][1].append(sentence[question])
    return [(*facts, *questions) for facts, questions in stories]
