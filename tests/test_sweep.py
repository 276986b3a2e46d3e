"""Sweeps: several runs in turn and side by side, their results, and what fails."""

import json
import statistics
import sys

import pytest

from rrn import sweep
from rrn.config_file import read_config
from rrn.data_prep.failures import exit_status

CONFIG = "configs/babi.py:test"
# What takes the place of the program: it fails, or waits for other runs, where it is asked to.
PROGRAM = """
import json, pathlib, sys, time

flags = dict(flag.split("=", 1) for flag in sys.argv[1:])
folder, seed = pathlib.Path(flags["--workdir"]), int(flags["--config.seed"])
with (folder / "starts").open("a") as starts:
    starts.write(flags["--devices"] + "\\n")
if pathlib.Path("fail").exists() and seed == 1:
    sys.exit("error: loss: not finite")
while pathlib.Path("slow").exists() and seed == 0 and len([*pathlib.Path().rglob("starts")]) < 3:
    time.sleep(0.1)
changes = [flag for flag in sys.argv[1:] if flag.startswith("--config.")]
config = json.loads(pathlib.Path("configs.json").read_text())[" ".join(changes)]
rate = float(flags.get("--config.train.learning_rate", 1))
metrics = {"l1/all": seed + 10 * rate, "error/task_1": 7.0, "length": None}
(folder / "results.json").write_text(json.dumps({"metrics": metrics, "fields": config}))
"""


@pytest.fixture
def sweep_in(tmp_path, monkeypatch, capsys):
    """A function: options -> (status, what was printed), of a sweep of `PROGRAM`."""
    configs = {}

    def read(config, changes):  # the program would load TensorFlow for it
        found = read_config(config, changes)
        flags = " ".join(f"--config.{field}={value}" for field, value in changes)
        configs[flags] = found.to_dict()
        (tmp_path / "configs.json").write_text(json.dumps(configs))
        return found

    monkeypatch.setattr(sweep, "read_config", read)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "program.py").write_text(PROGRAM)
    monkeypatch.setattr(sweep, "PROGRAM", [sys.executable, "program.py"])

    def run(*options):
        status = exit_status(lambda: sweep.sweep([CONFIG, "--workdir=w", *options]))
        printed = capsys.readouterr()
        return status, printed.out + printed.err

    return run


def starts(folder):
    return [path.read_text().splitlines() for path in sorted(folder.rglob("starts"))]


def test_every_setting_is_printed_and_finished_runs_are_skipped(sweep_in, tmp_path):
    options = "--seeds=0,1,4", "--set", "train.learning_rate=0.5,1.5,0.5"  # each value once
    status, said = sweep_in(*options, "--devices", "cpu", "cpu:2")
    deviation = f"{statistics.stdev([0, 1, 4]):.2g}"
    printed = "".join(
        f"train.learning_rate={rate}, 3 of 3 runs\n"
        f"  l1/all {10 * rate + 5 / 3:.4g} ± {deviation}\n  error/task_1 7 ± 0\n"
        for rate in (0.5, 1.5)
    )
    assert status == 0 and said.endswith(printed)
    assert {device for (device,) in starts(tmp_path)} == {"cpu", "cpu:2"}
    assert sweep_in(*options) == (0, printed)
    sweep_in("--seeds=0", "--set", "train.learning_rate=0.5", "--config.train.batch_size=8")
    assert sum(map(len, starts(tmp_path))) == 7  # another config is trained


def test_a_run_that_fails_is_named_and_made_again(sweep_in, tmp_path):
    (tmp_path / "fail").touch()
    status, said = sweep_in("--seeds=0,1,2")
    assert status == 1 and "error: w/seed=1: failed, see output.txt\n" in said
    assert f"{CONFIG}, 2 of 3 runs\n  l1/all 11 ± 1.4\n" in said
    (tmp_path / "fail").unlink()
    status, said = sweep_in("--seeds=0,1,2")
    assert status == 0 and "3 of 3 runs\n  l1/all 11 ± 1\n" in said
    assert list(map(len, starts(tmp_path))) == [1, 2, 1]


@pytest.mark.timeout(60)
def test_a_device_that_is_free_takes_the_next_run(sweep_in, tmp_path):
    (tmp_path / "slow").touch()
    assert sweep_in("--seeds=0,1,2", "--devices", "cpu", "cpu:2")[0] == 0
    assert starts(tmp_path) == [["cpu"], ["cpu:2"], ["cpu:2"]]


def test_damaged_results_are_named(sweep_in, tmp_path):
    sweep_in()
    (tmp_path / "w/seed=0/results.json").write_text('{"metrics": ')
    status, said = sweep_in()
    assert status == 1 and said.startswith("error: w/seed=0/results.json: damaged")
    assert said.count("\n") == 1


def test_folders_have_no_characters_of_patterns_and_commas_in_brackets_are_a_values(
    sweep_in, tmp_path
):
    field = "train.stages[0].modules=('network',),('encoder','network')"
    assert sweep.split_values("((1,),(2,)),3") == ["((1,),(2,))", "3"]
    assert sweep_in("--set", field)[0] == 0
    folders = [path.parent.parent.name for path in sorted(tmp_path.rglob("results.json"))]
    assert folders == [
        "train.stages_0_.modules=__encoder_,_network__",
        "train.stages_0_.modules=__network_,_",
    ]


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("--set=train.batch_size=8,many", "train.batch_size: "),
        ("--set=train.nothing=8", "train.nothing: no such field"),
        ("--config.seed=5", "seed: give --seeds"),
    ],
)
def test_what_is_wrong_is_said_before_a_run_begins(sweep_in, tmp_path, option, said):
    status, printed = sweep_in(option)
    assert status == 1 and printed.startswith(f"error: {said}") and printed.count("\n") == 1
    assert not (tmp_path / "w").exists()
