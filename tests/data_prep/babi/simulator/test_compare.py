"""How alike the stories of two files are."""

import pytest

from rrn.data_prep.__main__ import main
from rrn.data_prep.babi.simulator import TASKS, compare
from rrn.data_prep.babi.stories import Question, Story


def test_distance_by_hand():
    # Sentences are in shapes of which 1/2 and 1/4 go to the office: |1/2 - 1/4| on two shapes / 2.
    go, take = "Mary went to the office.", "Mary took the milk there."
    question = Question("Where is Mary?", "office", 4, (0,))
    one = [Story(1, (go, go, take, take), (question,))] * 2
    two = [Story(1, (go, take, take, take), (question,))] * 2
    row = compare.compare(one, two)
    assert row.distances["sentences"] == pytest.approx(0.25)
    assert row.distances["facts"] == row.distances["answers"] == 0
    assert row.noise["sentences"] == 0
    assert row.words == row.shapes == ([], [])
    other = [Story(1, ("John discarded the milk.",), (question,))]
    assert compare.compare(one, other).shapes[1] == ["NAME discarded the OBJECT"]


def test_compare_command_prints_a_row_for_each_task(tmp_path, capsys):
    for seed in "01":
        options = ["--source", "simulated", "--stories", "10", "--seed", seed]
        assert main(["babi", *options, "--out", str(tmp_path / f"{seed}.h5")]) == 0
    capsys.readouterr()
    assert main(["babi", "--compare", str(tmp_path / "0.h5"), str(tmp_path / "1.h5")]) == 0
    rows = capsys.readouterr().out.splitlines()
    assert [row.split()[0] for row in rows[:21]] == ["task", *map(str, TASKS)]
    assert main(["babi", "--compare", str(tmp_path / "0.h5"), str(tmp_path / "2.h5")]) == 1
