"""Files that are cut, or under a wrong name, leave a note."""

import numpy as np
import pytest

from rrn.data_prep.babi import simulator
from rrn.data_prep.babi.doubts import doubts


@pytest.fixture(scope="module")
def files():
    """A hundred questions of each task for test."""
    return {
        (task, "test"): simulator.simulate(task, 100, np.random.default_rng(task), 100)
        for task in (1, 6, 9, 10, 11, 12, 13, 16, 19)
    }


def test_files_of_their_tasks_leave_no_note(files):
    equal = {key: stories for key, stories in files.items() if key[0] in (16, 19)}
    assert doubts(equal) == []
    assert not [note for note in doubts(files) if "wrong name" in note]


def test_a_cut_file_leaves_a_note(files):
    cut = {(4, "test"): files[16, "test"][:-1], **files}
    cut = {key: cut[key][:100] for key in cut if key[0] in (4, 16, 19)}
    notes = [note for note in doubts(cut) if "part" in note]
    assert notes == ["Task 4: 99 test questions, 100 in other tasks: is a part lost?"]
    assert doubts(cut, [4])[:1] == notes and doubts(cut, [16]) == []


@pytest.mark.parametrize(("name", "text"), [(1, 11), (11, 12), (12, 1), (9, 10), (6, 9), (13, 19)])
def test_another_tasks_text_leaves_a_note(files, name, text):
    notes = doubts({(name, "test"): files[text, "test"]})
    assert notes == [
        f"Task {name}: the test file's sentences are those of task {text}: is it under a wrong"
        " name?"
    ]
