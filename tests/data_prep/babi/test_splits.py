"""The stories of each split: held out, supplemented, simulated."""

from pathlib import Path

import pytest

from rrn.data_prep.babi import simulator
from rrn.data_prep.babi.splits import hold_out
from rrn.data_prep.babi.stories import SPLITS, TASKS, parse_stories
from tests.data_prep.babi.helpers import (
    contents,
    make_archive,
    one_story,
    prepare,
    stories_of,
    whole_folder,
)


def test_without_validation_files_a_tenth_of_the_stories_is_held_out(tmp_path):
    archive = make_archive(tmp_path / "babi.tar.gz", whole_folder("en"))
    found = {}
    for name, seed in (("a", "1"), ("b", "1"), ("c", "2")):
        assert prepare(archive, tmp_path / name, "--folder", "en", "--seed", seed) == 0
        found[name] = [stories_of(tmp_path / name, split) for split in ("train", "valid")]
    train, _ = found["a"]
    datasets, attributes = contents(tmp_path / "a")
    # 2 of the 20 stories of each task.
    assert datasets["valid/task"] == [task for task in TASKS for _ in range(2)]
    assert len(set(train)) == len(train) == 20 * 18
    assert found["a"] == found["b"] != found["c"]
    assert attributes["notes"].startswith("Validation is a tenth of the training stories")


def test_hold_out_keeps_equal_stories_on_one_side():
    text = "".join(one_story(f"P{i % 10}") for i in range(100))
    other = text.replace("\t1\n", "\n")  # the same, without supporting facts
    stories = parse_stories((text + other).encode(), 4, "qa4_train.txt")
    train, valid = hold_out(stories, seed=0)
    assert (len(train), len(valid)) == (180, 20)
    assert not {s.facts for s in train} & {s.facts for s in valid}
    few = parse_stories("".join(map(one_story, "ABCD")).encode(), 4, "qa4_train.txt")
    assert [len(part) for part in hold_out(few, seed=0)] == [3, 1]  # no task without validation


# Missing files.


@pytest.fixture
def incomplete(tmp_path) -> Path:
    """An archive without task 3's training file; its `en` shares a story with validation."""
    files = whole_folder("en-valid-10k") | whole_folder("en")
    del files["top/en-valid-10k/qa3_train.txt"]
    files["top/en/qa3_train.txt"] = one_story("Ann") + one_story("valid3x0") + one_story("Bob")
    return make_archive(tmp_path / "babi.tar.gz", files)


def test_a_missing_file_is_named_with_the_ways_out(incomplete, tmp_path, capsys):
    assert prepare(incomplete, tmp_path / "babi.h5") == 1
    error = capsys.readouterr().err
    assert error.startswith("error: babi.tar.gz: missing en-valid-10k/qa3_train.txt; give ")
    for way in ("--supplement en", "--tasks"):
        assert way in error
    assert not (tmp_path / "babi.h5").exists()


def test_supplement_en_drops_stories_of_other_splits(incomplete, tmp_path, capsys):
    assert prepare(incomplete, tmp_path / "babi.h5", "--supplement", "en") == 0
    note = (
        "Task 3: no en-valid-10k training file; 2 training questions from en"
        " (1 stories that are also in validation dropped)"
    )
    assert contents(tmp_path / "babi.h5")[1]["notes"] == note
    assert note in capsys.readouterr().out
    train = stories_of(tmp_path / "babi.h5", "train")
    assert train[40:42] == [
        ("ann moved to the garden", "where is ann"),
        ("bob moved to the garden", "where is bob"),
    ]


@pytest.fixture
def few_simulated(monkeypatch):
    """Simulated stories are few and short."""

    def simulate(task, num_questions, rng, num_stories):
        assert num_stories is None
        names = rng.integers(10**9, size=num_questions // 500)
        text = "".join(one_story(f"N{name}") for name in names)
        return parse_stories(text.encode(), task, "simulated")

    monkeypatch.setattr(simulator, "simulate", simulate)


@pytest.mark.usefixtures("few_simulated")
def test_source_simulated(tmp_path):
    assert prepare("simulated", tmp_path / "babi.h5") == 0
    datasets, attributes = contents(tmp_path / "babi.h5")
    # 9,000 / 500 stories of each of the 20 tasks, 1,000 / 500 for validation and test.
    assert [len(datasets[f"{split}/task"]) for split in SPLITS] == [360, 40, 40]
    assert (attributes["source"], attributes["sha256"]) == ("simulated", "")
    assert attributes["notes"] == "All questions are simulated"
