"""The stories of each split: held out, supplemented, simulated."""

import re
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
    stories = parse_stories(text.encode(), 4, "qa4_train.txt")
    train, valid = hold_out(stories, seed=0)
    assert (len(train), len(valid)) == (90, 10)
    assert not set(train) & set(valid)


def test_hold_out_leaves_no_task_without_validation():
    stories = parse_stories("".join(map(one_story, "ABCD")).encode(), 4, "qa4_train.txt")
    assert [len(part) for part in hold_out(stories, seed=0)] == [3, 1]
    assert [len(part) for part in hold_out(stories[:1], seed=0)] == [1, 0]


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
    assert error.startswith("error: babi.tar.gz: missing en-valid-10k/qa3_train.txt. Ways out:")
    for way in ("--supplement FILE", "--supplement en", "--supplement simulated", "--allow-miss"):
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


@pytest.mark.parametrize("name", ["qa3_train.txt", "qa3_three-facts_train.txt", "qa3_more.txt"])
def test_supplement_file(incomplete, tmp_path, name):
    (tmp_path / name).write_text(one_story("Ann"))
    options = ("--supplement", str(tmp_path / name))
    assert prepare(incomplete, tmp_path / "babi.h5", *options) == 0
    assert contents(tmp_path / "babi.h5")[1]["notes"] == (
        f"Task 3: no en-valid-10k training file; 1 training questions from {name}"
    )


@pytest.mark.parametrize(
    ("supplement", "message"),
    [
        ("nowhere.txt", "--supplement nowhere.txt: no such file; give a bAbI text file, 'en' or"),
        ("{}/three.txt", "three.txt: the file's name does not start with qaN_, N from 1"),
        ("{}/qa21_train.txt", "qa21_train.txt: the file's name does not start with qaN_"),
        ("{}/qa3_test.txt", "missing en-valid-10k/qa3_train.txt"),
        ("{}/qa2_train.txt", "missing en-valid-10k/qa3_train.txt"),
        ("{}/qa3_known.txt", r"qa3_train.txt \(1 stories that are also in validation dropped\)"),
        ("simulated:21", "--supplement simulated:21: '21' is not a task from 1 to 20"),
    ],
)
def test_supplements_that_do_not_fit(incomplete, tmp_path, capsys, supplement, message):
    for name in ("three.txt", "qa21_train.txt", "qa2_train.txt", "qa3_test.txt"):
        (tmp_path / name).write_text(one_story("Ann"))
    (tmp_path / "qa3_known.txt").write_text(one_story("valid3x0"))
    options = ("--supplement", supplement.format(tmp_path))
    assert prepare(incomplete, tmp_path / "babi.h5", *options) == 1
    assert re.search(message, capsys.readouterr().err)


def test_a_supplement_without_need_is_not_used(tmp_path, capsys):
    archive = make_archive(tmp_path / "babi.tar.gz", whole_folder("en-valid"))
    options = ("--folder", "en-valid", "--supplement", "en")
    assert prepare(archive, tmp_path / "babi.h5", *options) == 0
    assert "--supplement is not used" in capsys.readouterr().out
    assert contents(tmp_path / "babi.h5")[1]["notes"] == ""


def test_allow_missing(incomplete, tmp_path):
    assert prepare(incomplete, tmp_path / "babi.h5", "--allow-missing") == 0
    datasets, attributes = contents(tmp_path / "babi.h5")
    assert attributes["notes"] == "Task 3: no en-valid-10k training file; left out"
    assert 3 not in datasets["train/task"] and 3 in datasets["valid/task"]


@pytest.fixture
def few_simulated(monkeypatch):
    """Simulated stories are few and short."""

    def simulate(task, num_questions, rng, num_stories):
        assert num_stories is None
        names = rng.integers(10**9, size=num_questions // 500)
        text = "".join(one_story(f"N{name}") for name in names)
        return parse_stories(text.encode(), task, "simulated")

    monkeypatch.setattr(simulator, "simulate", simulate)


@pytest.mark.parametrize("supplement", ["simulated", "simulated:3"])
@pytest.mark.usefixtures("few_simulated")
def test_supplement_simulated(incomplete, tmp_path, supplement):
    assert prepare(incomplete, tmp_path / "babi.h5", "--supplement", supplement) == 0
    assert contents(tmp_path / "babi.h5")[1]["notes"] == (
        "Task 3: no en-valid-10k training file; 18 training questions from the simulator"
    )


@pytest.mark.usefixtures("few_simulated")
def test_source_simulated(tmp_path):
    assert prepare("simulated", tmp_path / "babi.h5") == 0
    datasets, attributes = contents(tmp_path / "babi.h5")
    # 9,000 / 500 stories of each of the 20 tasks, 1,000 / 500 for validation and test.
    assert [len(datasets[f"{split}/task"]) for split in SPLITS] == [360, 40, 40]
    assert (attributes["source"], attributes["sha256"]) == ("simulated", "")
    assert attributes["notes"] == "All questions are simulated"
