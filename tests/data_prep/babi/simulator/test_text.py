"""Simulated stories as text, which is read back."""

import resource

import pytest

from rrn.data_prep.babi.simulator import TASKS, story, text
from rrn.data_prep.babi.stories import Question, Story, parse_stories


@pytest.mark.parametrize("task", TASKS)
def test_text_is_read_back_to_the_same_stories(task, tmp_path):
    stories = [story(task, "text", index) for index in range(30)]
    (path,) = text.write(tmp_path, {"train": stories})
    assert path.name == f"qa{task}_train.txt"
    assert parse_stories(path.read_bytes(), task, path.name) == stories


def test_a_full_disk_is_said_with_the_file_that_was_written(tmp_path):
    """Where a file may have few bytes, it fails as it does on a full disk."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, limits[1]))
    try:
        with pytest.raises(OSError, match=r"qa1_train\.txt"):
            text.write(tmp_path, {"train": [story(1, "text", 0)]})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert not [*tmp_path.iterdir()]


def test_text_has_the_format_of_the_archive():
    told = Story(
        1,
        ("Mary went to the office.", "John moved to the garden.", "John went to the office."),
        (
            Question("Where is John?", "garden", 2, (1,)),
            Question("Where is John?", "office", 3, (2,)),
        ),
    )
    assert text.format_story(told) == (
        "1 Mary went to the office.\n"
        "2 John moved to the garden.\n"
        "3 Where is John? \tgarden\t2\n"
        "4 John went to the office.\n"
        "5 Where is John? \toffice\t4\n"
    )
