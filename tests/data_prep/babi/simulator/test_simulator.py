"""Simulated bAbI is reproducible, like the archive, and fast."""

import hashlib
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from rrn.data_prep.__main__ import main
from rrn.data_prep.babi import stories as babi_stories
from rrn.data_prep.babi.simulator import TASKS, compare, simulate, story

# Of three stories of each task. If it changes, so does everybody's simulated data.
PINNED = "46a0bdf2c2b09a9f7246d5cc79ae7ff25b97f10a595f5f567381729257ac17ae"


def digest(stories):
    return hashlib.sha256(repr(stories).encode()).hexdigest()


# Reproducibility.


def test_every_task_is_simulated():
    assert tuple(babi_stories.TASKS) == TASKS


def test_stories_depend_on_key_task_and_index_only():
    jobs = [(task, "seed 0", index) for task in TASKS for index in range(5)]
    forward = [story(*job) for job in jobs]
    backward = [story(*job) for job in reversed(jobs)][::-1]
    with ThreadPoolExecutor(3) as pool:
        threaded = list(pool.map(lambda job: story(*job), jobs))
    assert forward == backward == threaded
    assert all(story(task, "seed 1", 0) != story(task, "seed 0", 0) for task in TASKS)


def test_stories_are_the_same_on_every_machine():
    """Also under another PYTHONHASHSEED, as the digest was made in another process."""
    assert digest([story(task, "k", index) for task in TASKS for index in range(3)]) == PINNED


def test_files_have_the_same_bytes_for_the_same_seed(tmp_path):
    def prepare(name, *options):
        path = tmp_path / name
        source = ["--source", "simulated", "--stories", "20", "--out", str(path)]
        assert main(["babi", *source, *options]) == 0
        return path.read_bytes()

    assert prepare("a.h5", "--seed", "3") == prepare("b.h5", "--seed", "3")
    assert prepare("c.h5", "--seed", "4") != prepare("d.h5", "--seed", "3")


def test_a_task_alone_has_the_stories_that_it_has_among_all(tmp_path):
    for name, tasks in (("all", "1,2,3"), ("one", "3")):
        path, out = tmp_path / name, tmp_path / f"{name}.h5"
        options = ["--source", "simulated", "--stories", "9", "--tasks", tasks]
        assert main(["babi", *options, "--text", str(path), "--out", str(out)]) == 0
    for split in babi_stories.SPLITS:
        one, among = (tmp_path / name / f"qa3_{split}.txt" for name in ("one", "all"))
        assert one.read_bytes() == among.read_bytes()
    assert not (tmp_path / "one" / "qa1_train.txt").exists()


def test_simulate_counts_questions_or_stories():
    rng = np.random.default_rng
    assert sum(len(s.questions) for s in simulate(1, 11, rng(0))) == 15
    assert len(simulate(1, 11, rng(0), num_stories=2)) == 2
    assert simulate(2, 50, rng(0))[:3] == simulate(2, 11, rng(0))[:3]
    assert simulate(2, 11, rng(0)) != simulate(2, 11, rng(1))


def test_options_are_checked(tmp_path, capsys):
    out = ["--out", str(tmp_path / "babi.h5")]
    assert main(["babi", "--source", "simulated", "--stories", "0", *out]) == 1
    assert "--stories 0" in capsys.readouterr().err
    assert main(["babi", "--source", str(tmp_path), "--stories", "5", *out]) == 1
    assert "--source simulated only" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["babi", "--source", "simulated", "--tasks", "1,21", *out])


# Likeness.


def test_simulated_stories_are_like_the_archive(babi_h5):
    """The same words and shapes; distances under 0.05, plus what the samples' sizes explain."""
    for task, real in compare.read(babi_h5).items():
        simulated = simulate(task, 10_000, np.random.default_rng(task))
        row = compare.compare(real, simulated)
        assert row.words == ([], []), task
        assert row.shapes == ([], []), task
        for measure, distance in row.distances.items():
            # Task 3 has 385 real stories; their halves say little about 200 different lengths.
            limit = 0.12 if (task, measure) == (3, "facts") else 0.05 + row.noise[measure]
            assert distance < limit, (task, measure)


# Speed.


def test_rate():
    """At least 3,333 questions a second, so that 200,000 take less than a minute."""
    start = time.process_time()
    questions = sum(
        len(told.questions)
        for task in TASKS
        for told in simulate(task, 300, np.random.default_rng(0))
    )
    assert questions / (time.process_time() - start) > 3333
