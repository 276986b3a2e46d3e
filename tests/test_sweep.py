"""Sweeps: several runs in turn and side by side, their table, and how they stop and go on."""

import json
import os
import re
import signal
import statistics
import sys
import time

import pytest

from rrn import sweep
from tests.program import LIMIT, SMALL, read_json

CONFIG = "configs/babi.py:test"
# What takes the place of the program: it needs no time, and fails or waits where it is told to.
PROGRAM = """
import json, pathlib, signal, sys, time

flags = dict(flag.split("=", 1) for flag in sys.argv[1:])
folder, seed = pathlib.Path(flags["--workdir"]), int(flags["--config.seed"])
with (folder / "starts").open("a") as starts:
    starts.write(flags["--devices"] + "\\n")
signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
if pathlib.Path("wait").exists():
    time.sleep(60)
if pathlib.Path("fail").exists() and seed == 1:
    sys.exit("error: loss: not finite")
if pathlib.Path("fail").exists() and seed == 2:
    sys.exit("TypeError: an error of the program\\n\\n")
rate = float(flags.get("--config.train.learning_rate", 1))
metrics = {"error/all": seed + 10 * rate, "error/task_1": 7.0, "length": None}
(folder / "results.json").write_text(json.dumps({"metrics": metrics}))
"""


@pytest.fixture
def sweep_in(tmp_path, monkeypatch, capsys):
    """A function: options -> (status, what was printed), of a sweep of `PROGRAM`."""
    configs = os.path.abspath("configs")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "configs").symlink_to(configs)
    (tmp_path / "program.py").write_text(PROGRAM)
    monkeypatch.setattr(sweep, "PROGRAM", [sys.executable, "program.py"])

    def run(*options):
        status = sweep.main([CONFIG, "--workdir=w", *options])
        printed = capsys.readouterr()
        return status, printed.out + printed.err

    return run


def starts(folder):
    return [path.read_text().splitlines() for path in sorted(folder.rglob("starts"))]


def test_every_setting_has_a_row_with_its_mean_and_deviation(sweep_in, tmp_path):
    options = "--seeds=0,1,4", "--set", "train.learning_rate=0.5,1.5"
    status, said = sweep_in(*options, "--devices", "cpu", "cpu:2")
    assert status == 0
    rows = [line.split() for line in said.splitlines() if line.startswith("train.learning_rate=")]
    rows = [row for row in rows if "of" in row]
    deviation = f"{statistics.stdev([0, 1, 4]):.2g}"
    assert rows == [
        ["train.learning_rate=0.5", "3", "of", "3", f"{5 + 5 / 3:.4g}", "±", deviation],
        ["train.learning_rate=1.5", "3", "of", "3", f"{15 + 5 / 3:.4g}", "±", deviation],
    ]
    written = json.loads((tmp_path / "w/sweep.json").read_text())
    first, second = written["settings"]
    assert second["setting"] == {"train.learning_rate": "1.5"}
    assert first["metrics"]["error/all"] == {
        **{"mean": pytest.approx(5 + 5 / 3), "std": pytest.approx(13**0.5 / 3**0.5), "runs": 3}
    }
    assert first["metrics"].keys() == {"error/all", "error/task_1"}
    assert [run["seed"] for run in first["runs"]] == [0, 1, 4]
    assert {line for lines in starts(tmp_path / "w") for line in lines} == {"cpu", "cpu:2"}
    status, said = sweep_in(*options)  # nothing is left to do
    assert status == 0 and said.startswith("6 of 6 runs have ended before\nsetting")
    sweep_in("--seeds=0", "--set", "train.learning_rate=0.5", "--set", "train.batch_size=8")
    assert list(map(len, starts(tmp_path / "w"))) == [1] * 7


def test_a_run_that_fails_is_named_and_made_again(sweep_in, tmp_path):
    (tmp_path / "fail").touch()
    status, said = sweep_in("--seeds=0,1,2,3")
    assert status == 1
    assert "seed=1: failed with status 1: loss: not finite\n" in said
    assert "seed=2: failed with status 1: TypeError: an error of the program\n" in said
    assert "error: seed=1: failed; see w/seed=1/output.txt\n" in said
    assert re.search(r"2 of 4 +11\.5 ± 2\.1\n", said)
    (tmp_path / "fail").unlink()
    status, said = sweep_in("--seeds=0,1,2,3", "--parallel=3")
    assert status == 0 and re.search(r"4 of 4 +11\.5 ± 1\.3\n", said)
    assert list(map(len, starts(tmp_path / "w"))) == [1, 2, 2, 1]


def test_a_signal_stops_all_runs_and_the_same_command_goes_on(sweep_in, tmp_path, monkeypatch):
    (tmp_path / "wait").touch()
    processes = []

    def interrupt(seconds):
        if len(starts(tmp_path / "w")) == 2:
            raise KeyboardInterrupt
        wait(seconds)

    wait, start_run = time.sleep, sweep.Run.start
    monkeypatch.setattr(sweep.time, "sleep", interrupt)
    monkeypatch.setattr(
        sweep.Run, "start", lambda *args: processes.append(start_run(*args)) or processes[-1]
    )
    status, said = sweep_in("--seeds=0,1,2", "--parallel=2")
    assert status == 130 and "2 runs save their states" in said
    assert "error: interrupted; the same command goes on" in said
    # Each has its own session, so that a terminal's Ctrl-C does not reach it.
    assert len(processes) == 2 and all(p.poll() in (143, -signal.SIGTERM) for p in processes)
    monkeypatch.setattr(sweep.time, "sleep", wait)
    (tmp_path / "wait").unlink()
    status, said = sweep_in("--seeds=0,1,2")
    assert status == 0 and list(map(len, starts(tmp_path / "w"))) == [2, 2, 1]


def test_another_config_is_trained_again(sweep_in, tmp_path):
    sweep_in("--set", "train.batch_size=8")
    folder = tmp_path / "w/train.batch_size=8/seed=0"
    fields = json.loads((folder / "ended.json").read_text())
    assert fields["train"]["batch_size"] == 8
    (folder / "ended.json").write_text(json.dumps({**fields, "seed": 5}))
    sweep_in("--set", "train.batch_size=8")
    assert list(map(len, starts(tmp_path / "w"))) == [2]


@pytest.mark.parametrize(
    ("options", "status", "said"),
    [
        (["--seeds=0,a"], 2, "--seeds 0,a: expected different numbers, such as 0,1,2"),
        (["--seeds=1,1"], 2, "--seeds 1,1: expected different numbers"),
        (["--seeds=0,00"], 2, "--seeds 0,00: expected different numbers"),
        (["--set=train.batch_size"], 2, "--set train.batch_size: expected a field of the config"),
        (["--set=train.batch_size=8,8"], 2, "--set train.batch_size=8,8: expected a field"),
        (["--set=train.batch_size=8,"], 2, "--set train.batch_size=8,: expected a field"),
        (["--set=seed=1,2"], 2, "seed: this field is given by --seeds"),
        (["--config.seed=1"], 2, "seed: this field is given by --seeds"),
        (["--set=train.batch_size=8,many"], 2, "train.batch_size: expected a valid integer"),
        (["--set=train.nothing=8"], 2, "train.nothing: no such field"),
        (["--parallel=0"], 2, "--parallel 0: expected 1 to 256"),
        (["--devices", "cpu", "tpu"], 1, "--devices=tpu: expected auto, cpu,"),
    ],
)
def test_what_is_wrong_is_said_before_a_run_begins(sweep_in, tmp_path, options, status, said):
    found, printed = sweep_in(*options)
    assert found == status and printed.startswith(f"error: {said}") and printed.count("\n") == 1
    assert not (tmp_path / "w").exists()


def test_commas_in_brackets_belong_to_a_value():
    chosen = sweep._settings(["train.modules=('a', 'b'),('c',)", "seeds=3"])
    assert chosen == [
        (("train.modules", "('a', 'b')"), ("seeds", "3")),
        (("train.modules", "('c',)"), ("seeds", "3")),
    ]


@pytest.mark.slow
@pytest.mark.timeout(LIMIT)
def test_a_run_is_an_ordinary_run_of_the_program(small_babi_h5, tmp_path, capsys):
    fields = *SMALL, "--config.train.num_updates=2", f"--config.data.path={small_babi_h5}"
    status = sweep.main([CONFIG, "--seeds=1", "--devices", "cpu", f"--workdir={tmp_path}", *fields])
    printed = capsys.readouterr()
    assert status == 0, printed.err
    (setting,) = read_json(tmp_path / "sweep.json")["settings"]
    (found,) = map(read_json, tmp_path.rglob("results.json"))
    assert setting["metrics"]["error/mean"]["mean"] == found["metrics"]["error/mean"]
    (config,) = map(read_json, tmp_path.rglob("config.json"))
    assert config["seed"] == 1 and "1 of 1" in printed.out
