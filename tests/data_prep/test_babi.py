"""The bAbI data set: hand-made archives with arrays computed by hand, and the real archive."""

import functools
import http.server
import io
import itertools
import os
import re
import subprocess
import sys
import tarfile
import threading
from pathlib import Path

import h5py
import numpy as np
import pytest

from data_prep import DataError, babi_simulator, sources
from data_prep.__main__ import main
from data_prep.babi_sources import FOLDERS, hold_out
from data_prep.babi_stories import SPLITS, TASKS, Question, Story, parse_stories

TRAIN = """\
1 Mary moved to the bathroom.
2 John got the milk.
3 Where is Mary? \tbathroom\t1
4 Mary got the apple.
5 What is Mary carrying?\tmilk,apple\t4 2
1 John moved to the Bathroom.
2 Where is John?\tbathroom\t1
"""
VALID = "1 Daniel moved to the bathroom.\n2 Where is Daniel?\tgarden\t1\n"
TEST = "1 Mary got the milk.\n2 Where is Mary?\tBathroom\t1\n"


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
    datasets = {}

    def visit(name, item):
        if isinstance(item, h5py.Dataset):
            text = h5py.check_string_dtype(item.dtype)
            datasets[name] = (item.asstr() if text else item)[:].tolist()

    with h5py.File(path) as file:
        file.visititems(visit)
        return datasets, dict(file.attrs)


# Text to stories.


def test_parse_stories():
    assert parse_stories(TRAIN.encode(), 1, "qa1_train.txt") == [
        Story(
            task=1,
            facts=("Mary moved to the bathroom.", "John got the milk.", "Mary got the apple."),
            questions=(
                Question("Where is Mary?", "bathroom", num_facts=2, supporting=(0,)),
                # Lines 4 and 2 are the third and the second fact: line 3 is a question.
                Question("What is Mary carrying?", "milk,apple", num_facts=3, supporting=(2, 1)),
            ),
        ),
        Story(
            task=1,
            facts=("John moved to the Bathroom.",),
            questions=(Question("Where is John?", "bathroom", num_facts=1, supporting=(0,)),),
        ),
    ]


def test_parse_stories_takes_windows_line_ends():
    windows = TRAIN.replace("\n", "\r\n").encode()
    assert parse_stories(windows, 1, "f") == parse_stories(TRAIN.encode(), 1, "f")


FACT = "1 Mary moved to the bathroom.\n"


@pytest.mark.parametrize(
    ("line", "text", "message"),
    [
        (1, "Mary moved.\n", "'Mary moved.' does not start with a line number; expected 1"),
        (1, "2 Mary moved.\n", "line number 2; expected 1"),
        (2, FACT + "3 John moved.\n", "line number 3; expected 2, or 1 for a new story"),
        (2, FACT + "\n", "'' does not start with a line number; expected 2, or 1"),
        (
            2,
            FACT + "2 Where is Mary? bathroom 1\n",
            "'Where is Mary? bathroom 1' is neither a fact",
        ),
        (2, FACT + "2 Where is Mary?\tbathroom\n", "has 2 fields separated by tabs; expected 3"),
        (2, FACT + "2 Where is Mary?\tbathroom\t1\t1\n", "has 4 fields separated by tabs"),
        (2, FACT + "2 Where is Mary\tbathroom\t1\n", "'Where is Mary' does not end with '?'"),
        (2, FACT + "2 Where is Mary?\t \t1\n", "answer ' '; expected one word"),
        (2, FACT + "2 Where is Mary?\tthe bathroom\t1\n", "answer 'the bathroom'; expected one"),
        (2, FACT + "2 Where is Mary?\tbathroom\t\n", "'Where is Mary?' has no supporting fact"),
        (
            2,
            FACT + "2 Where is Mary?\tbathroom\t2\n",
            "supporting fact '2' is not the line of an earlier fact of this story; expected 1",
        ),
        (2, FACT + "2 Where is Mary?\tbathroom\t1 x\n", "supporting fact 'x' is not the line"),
        (1, "1 Where is Mary?\tbathroom\t1\n", "'Where is Mary?' comes before any fact"),
        (1, FACT, "no question follows the story's last fact 'Mary moved to the bathroom.'"),
        (9, TRAIN + FACT + FACT, "no question follows the story's last fact"),
        (2, FACT + "2 .\n", "'.' has 0 words; expected 1 to 255"),
        (1, "1 " + "very " * 256 + ".\n", "has 256 words; expected 1 to 255"),
    ],
)
def test_parse_stories_says_what_is_wrong(line, text, message):
    with pytest.raises(DataError) as error:
        parse_stories(text.encode(), 1, "qa1_train.txt")
    assert str(error.value).startswith(f"qa1_train.txt, line {line}: ")
    assert message in str(error.value)


def test_parse_stories_of_an_empty_file():
    with pytest.raises(DataError, match=r"^qa1_train\.txt: empty; expected lines like '1 Mary mov"):
        parse_stories(b"", 1, "qa1_train.txt")


def test_parse_stories_of_another_encoding():
    with pytest.raises(DataError, match=r"qa1_train.txt, line 2: b'2 Zo\\xeb.' is not UTF-8 text"):
        parse_stories(FACT.encode() + b"2 Zo\xeb.\n", 1, "qa1_train.txt")


# Stories to the file.


def test_arrays_computed_by_hand(tmp_path):
    archive = make_archive(
        tmp_path / "babi.tar.gz",
        {
            "top/README.txt": "not read",
            "top/en-valid-10k/qa2_test.txt": TEST,
            "top/en-valid-10k/qa1_valid.txt": VALID,
            "top/en-valid-10k/qa1_train.txt": TRAIN,
            "top/hn-10k/qa1_train.txt": "not read",
        },
    )
    assert prepare(archive, tmp_path / "babi.h5", "--allow-missing", "--seed", "7") == 0
    datasets, attributes = contents(tmp_path / "babi.h5")
    notes = attributes.pop("notes")
    assert notes.startswith("Task 1: no en-valid-10k test file; left out. Task 2: no en-valid-10k ")
    assert attributes == {
        "schema": "babi",
        "version": 1,
        "source": "babi.tar.gz",
        "sha256": sources.checksum(archive),
        "folder": "en-valid-10k",
        "seed": 7,
    }
    assert datasets == {
        # Daniel and garden are not in the training split.
        "vocabulary": [
            *["<unk>", "apple", "bathroom", "carrying", "got", "is", "john", "mary"],
            *["milk", "milk,apple", "moved", "the", "to", "what", "where"],
        ],
        "sentences/tokens": [
            [0, 10, 12, 11, 2],  # 0 daniel moved to the bathroom
            [6, 4, 11, 8, 0],  # 1 john got the milk
            [6, 10, 12, 11, 2],  # 2 john moved to the bathroom
            [7, 4, 11, 1, 0],  # 3 mary got the apple
            [7, 4, 11, 8, 0],  # 4 mary got the milk
            [7, 10, 12, 11, 2],  # 5 mary moved to the bathroom
            [13, 5, 7, 3, 0],  # 6 what is mary carrying
            [14, 5, 0, 0, 0],  # 7 where is daniel
            [14, 5, 6, 0, 0],  # 8 where is john
            [14, 5, 7, 0, 0],  # 9 where is mary
        ],
        "sentences/length": [5, 4, 5, 4, 4, 5, 4, 3, 3, 3],
        "train/task": [1, 1, 1],
        "train/story": [0, 0, 1],
        "train/question": [9, 6, 8],
        "train/answer": [2, 9, 2],
        "train/num_facts": [2, 3, 1],
        "train/facts": [5, 1, 3, 2],
        "train/story_start": [0, 3, 4],
        "train/supporting": [0, 2, 1, 0],
        "train/supporting_start": [0, 1, 3, 4],
        "valid/task": [1],
        "valid/story": [0],
        "valid/question": [7],
        "valid/answer": [0],
        "valid/num_facts": [1],
        "valid/facts": [0],
        "valid/story_start": [0, 1],
        "valid/supporting": [0],
        "valid/supporting_start": [0, 1],
        "test/task": [2],
        "test/story": [0],
        "test/question": [9],
        "test/answer": [2],
        "test/num_facts": [1],
        "test/facts": [4],
        "test/story_start": [0, 1],
        "test/supporting": [0],
        "test/supporting_start": [0, 1],
    }
    with h5py.File(tmp_path / "babi.h5") as file:
        dtypes = {name: str(file[name].dtype) for name in ("sentences/tokens", "sentences/length")}
        assert dtypes == {"sentences/tokens": "uint16", "sentences/length": "uint8"}
        assert {name for name, array in file["train"].items() if array.dtype != np.int32} == {
            "task"
        }
        assert file["train/task"].dtype == np.uint8


def test_a_whole_archive_needs_no_option(tmp_path, capsys):
    archive = make_archive(tmp_path / "babi.tar.gz", whole_folder("en-valid-10k"))
    assert prepare(archive, tmp_path / "new" / "babi.h5") == 0
    _, attributes = contents(tmp_path / "new" / "babi.h5")
    assert attributes["notes"] == ""
    printed = capsys.readouterr().out
    assert "train            400         400         400\n" in printed
    assert "valid             20          20          20\n" in printed


def test_a_folder_gives_what_its_archive_gives(tmp_path):
    files = whole_folder("en-valid")
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    archive = make_archive(tmp_path / "babi.tar.gz", files)
    assert prepare(archive, tmp_path / "archive.h5", "--folder", "en-valid") == 0
    expected, _ = contents(tmp_path / "archive.h5")
    for folder in (tmp_path, tmp_path / "top", tmp_path / "top" / "en-valid"):
        assert prepare(folder, tmp_path / "folder.h5", "--folder", "en-valid") == 0
        found, attributes = contents(tmp_path / "folder.h5")
        assert found == expected
        assert (attributes["source"], attributes["sha256"]) == (folder.name, "")


def test_a_url_is_downloaded_beside_the_file(tmp_path):
    (tmp_path / "served").mkdir()
    archive = make_archive(tmp_path / "served" / "babi.tar.gz", whole_folder("en-valid-10k"))
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=archive.parent)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}).start()
        url = f"http://127.0.0.1:{server.server_port}/babi.tar.gz"
        out = tmp_path / "out" / "babi.h5"
        try:
            assert prepare(url, out, "--sha256", sources.checksum(archive)) == 0
        finally:
            server.shutdown()
    _, attributes = contents(out)
    assert (attributes["source"], attributes["sha256"]) == (url, sources.checksum(archive))
    assert sorted(file.name for file in out.parent.iterdir()) == ["babi.h5", "babi.tar.gz"]


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
    assert prepare(incomplete, tmp_path / "babi.h5") == 2
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
    assert prepare(incomplete, tmp_path / "babi.h5", *options) == 2
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

    monkeypatch.setattr(babi_simulator, "simulate", simulate)


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


# Wrong input.


def test_a_failing_run_keeps_the_old_file_and_leaves_nothing(tmp_path, capsys):
    files = whole_folder("en-valid-10k")
    files["top/en-valid-10k/qa7_test.txt"] = FACT + "3 John moved.\n"
    archive = make_archive(tmp_path / "babi.tar.gz", files)
    out = tmp_path / "out" / "babi.h5"
    out.parent.mkdir()
    out.write_bytes(b"old")
    assert prepare(archive, out) == 2
    assert capsys.readouterr().err == (
        "error: top/en-valid-10k/qa7_test.txt, line 2: line number 3; expected 2, or 1 for a new"
        " story\n"
    )
    assert out.read_bytes() == b"old"
    assert [file.name for file in out.parent.iterdir()] == ["babi.h5"]


@pytest.mark.parametrize("kept", [0.0, 0.5, 0.99])
def test_a_truncated_archive(tmp_path, capsys, kept):
    whole = make_archive(tmp_path / "whole.tar.gz", whole_folder("en-valid-10k")).read_bytes()
    cut = tmp_path / "cut.tar.gz"
    cut.write_bytes(whole[: int(kept * len(whole))])
    assert prepare(cut, tmp_path / "babi.h5") == 2
    assert re.match(
        r"error: .*cut\.tar\.gz: not a whole \.tar\.gz archive", capsys.readouterr().err
    )


def test_other_files_are_no_archive(tmp_path, capsys):
    (tmp_path / "page.tar.gz").write_bytes(b"<html>not found</html>")
    assert prepare(tmp_path / "page.tar.gz", tmp_path / "babi.h5") == 2
    assert "not a whole .tar.gz archive (Not a gzipped file (b'<h'))" in capsys.readouterr().err
    archive = make_archive(tmp_path / "other.tar.gz", {"top/paper.txt": "text"})
    assert prepare(archive, tmp_path / "babi.h5") == 2
    assert "other.tar.gz: no files like en-valid-10k/qa1_train.txt in it" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "top/en-valid-10k/qa21_train.txt",
            "qa21_train.txt: the file's name does not start with qaN_",
        ),
        ("other/en-valid-10k/qa1_train.txt", "task and split are those of top/en-valid-10k/qa1_tr"),
    ],
)
def test_files_that_should_not_be_there(tmp_path, capsys, name, message):
    files = whole_folder("en-valid-10k") | {name: TRAIN}
    archive = make_archive(tmp_path / "babi.tar.gz", files)
    assert prepare(archive, tmp_path / "babi.h5") == 2
    assert re.search(message, capsys.readouterr().err)


def test_wrong_options(tmp_path, capsys):
    archive = make_archive(tmp_path / "babi.tar.gz", whole_folder("en"))
    assert prepare(archive, tmp_path / "babi.h5", "--seed", "-1") == 2
    assert prepare(archive, tmp_path / "babi.h5", "--sha256", "abc") == 2
    assert prepare(tmp_path / "nothing", tmp_path / "babi.h5") == 2
    assert prepare("simulated", tmp_path / "babi.h5", "--supplement", "en") == 2
    assert main(["babi", "--compare", str(archive), str(archive)]) == 2
    errors = capsys.readouterr().err.splitlines()
    assert "a seed is at least 0" in errors[0]
    assert "expected abc" in errors[1]
    assert "no such file or folder" in errors[2]
    assert "--supplement, --sha256 and --allow-missing go with an archive" in errors[3]
    assert f"{archive}: not an HDF5 file" in errors[4]


# The real archive.


def test_real_counts(babi_h5):
    datasets, attributes = contents(babi_h5)
    counts = {split: np.bincount(datasets[f"{split}/task"], minlength=21)[1:] for split in SPLITS}
    train, valid = np.full(20, 9000), np.full(20, 1000)
    train[2] = 925  # from `en`, less 15 stories with 5 questions each
    train[17], valid[17] = 8996, 1004
    train[19], valid[19] = 9002, 998
    np.testing.assert_array_equal(counts["train"], train)
    np.testing.assert_array_equal(counts["valid"], valid)
    np.testing.assert_array_equal(counts["test"], np.full(20, 1000))
    assert len(datasets["vocabulary"]) == 177  # as many as the paper's authors had
    assert max(max(datasets[f"{split}/num_facts"]) for split in SPLITS) == 228
    assert len(datasets["sentences/length"]) == 3647
    assert attributes["notes"] == (
        "Task 3: no en-valid-10k training file; 925 training questions from en (15 stories that"
        " are also in validation dropped)"
    )


def test_real_answers(babi_h5):
    datasets, _ = contents(babi_h5)
    answers = {answer for split in SPLITS for answer in datasets[f"{split}/answer"]}
    assert 0 not in answers
    words = {datasets["vocabulary"][answer] for answer in answers}
    assert len(words) == 60 and "milk,apple" in words


@pytest.mark.parametrize(("task", "split"), [(1, "train"), (3, "valid"), (8, "test"), (20, "test")])
def test_real_questions_decode_to_their_file(babi_archive, babi_h5, task, split):
    name = f"tasks_1-20_v1-2/en-valid-10k/qa{task}_{split}.txt"
    data = sources.read_members(babi_archive, lambda member: member == name)[name]
    datasets, _ = contents(babi_h5)
    arrays = {
        key.split("/")[1]: array for key, array in datasets.items() if key.startswith(split + "/")
    }

    def text(sentence: int) -> str:
        length = datasets["sentences/length"][sentence]
        tokens = datasets["sentences/tokens"][sentence][:length]
        return " ".join(datasets["vocabulary"][token] for token in tokens)

    asked = iter([q for q, found in enumerate(arrays["task"]) if found == task])
    facts, numbers = [], []
    for line in data.decode().lower().splitlines():
        number, sentence = line.split(" ", 1)
        if number == "1":
            facts, numbers = [], []
        if "\t" not in sentence:
            facts.append(sentence.replace(".", ""))
            numbers.append(number)
            continue
        question, answer, supporting = sentence.split("\t")
        q = next(asked)
        start = arrays["story_start"][arrays["story"][q]]
        told = arrays["facts"][start : start + arrays["num_facts"][q]]
        assert [text(fact) for fact in told] == facts
        assert text(arrays["question"][q]) == question.replace("?", "").strip()
        assert datasets["vocabulary"][arrays["answer"][q]] == answer
        first, end = arrays["supporting_start"][q : q + 2]
        assert [numbers[i] for i in arrays["supporting"][first:end]] == supporting.split()
    assert next(asked, None) is None


@pytest.mark.skipif(not hasattr(os, "wait4"), reason="wait4 measures the memory")
def test_real_time_and_memory(babi_archive, tmp_path):
    command = [sys.executable, "-m", "data_prep", "babi", "--source", str(babi_archive)]
    command += ["--supplement", "en", "--out", str(tmp_path / "babi.h5")]
    root = Path(__file__).resolve().parents[2]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=root)
    with process.stdout:
        printed = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    assert usage.ru_utime + usage.ru_stime < 30
    assert usage.ru_maxrss < 2**20  # kibibytes
    assert "train        171,923" in printed
