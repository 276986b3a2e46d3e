"""Simulated bAbI is reproducible."""

import hashlib

import numpy as np

from rrn.data_prep.__main__ import main
from rrn.data_prep.babi.simulator import simulate, story
from rrn.data_prep.babi.stories import TASKS
from tests.data_prep.babi.helpers import contents, stories_of

# Of three stories of each task. If it changes, so does everybody's simulated data.
PINNED = "46a0bdf2c2b09a9f7246d5cc79ae7ff25b97f10a595f5f567381729257ac17ae"


def prepare(path, *options):
    arguments = ["--source", "simulated", "--stories", "20", *options, "--out", str(path)]
    return main(["babi", *arguments])


def test_stories_depend_on_key_task_and_index_only():
    jobs = [(task, "seed 0", index) for task in TASKS for index in range(5)]
    forward = [story(*job) for job in jobs]
    assert [story(*job) for job in reversed(jobs)][::-1] == forward
    assert all(story(task, "seed 1", 0) != story(task, "seed 0", 0) for task in TASKS)


def test_stories_are_the_same_on_every_machine():
    """Also under another PYTHONHASHSEED, as the digest was made in another process."""
    stories = [story(task, "k", index) for task in TASKS for index in range(3)]
    assert hashlib.sha256(repr(stories).encode()).hexdigest() == PINNED


def test_files_have_the_same_bytes_for_the_same_seed(tmp_path):
    for name, seed in (("a.h5", "3"), ("b.h5", "3"), ("c.h5", "4")):
        assert prepare(tmp_path / name, "--seed", seed, "--tasks", "1,3") == 0
    a, b, c = ((tmp_path / name).read_bytes() for name in ("a.h5", "b.h5", "c.h5"))
    assert a == b != c


def test_a_task_alone_has_the_stories_that_it_has_among_all(tmp_path):
    one, among = tmp_path / "one.h5", tmp_path / "all.h5"
    assert prepare(among, "--tasks", "1,2,3") == prepare(one, "--tasks", "3") == 0
    assert set(contents(one)[0]["train/task"]) == {3}
    # The words of a file are those of its training stories.
    known = {word for told in stories_of(one, "train") for text in told for word in text.split()}
    assert known <= set(contents(among)[0]["vocabulary"])
    assert stories_of(among, "train")[40:] == stories_of(one, "train")


def test_simulate_counts_questions_or_stories():
    rng = np.random.default_rng
    assert sum(len(s.questions) for s in simulate(1, 11, rng(0))) == 15
    assert len(simulate(1, 11, rng(0), num_stories=2)) == 2
    assert simulate(2, 50, rng(0))[:3] == simulate(2, 11, rng(0))[:3]
    assert simulate(2, 11, rng(0)) != simulate(2, 11, rng(1))
