"""The program, in this process: training, evaluating, listing variables, and what is wrong."""

import dataclasses
import json
import os
import re
import shutil
import sys
import threading

import h5py
import pytest

from rrn.__main__ import start
from rrn.config import replace
from rrn.data_prep import hdf5, progress
from rrn.files.weights import Weights, write_weights
from rrn.training import Request, run
from tests.helpers import load_config

SMALL = ["--config=configs/sudoku.py:test", "--config.model.hidden_size=8"]
SMALL += ["--config.model.num_steps=1", "--config.train.num_updates=10"]


@pytest.fixture
def call(monkeypatch, capsys):
    """A function: words of a command line -> (exit status, what it printed, its errors)."""

    def call(*words):
        monkeypatch.setattr(sys, "argv", ["main.py", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            start()
        return ended.value.code, *capsys.readouterr()

    return call


@pytest.fixture(scope="module")
def request_(small_sudoku_h5, tmp_path_factory):
    """A run of ten updates on two devices, to its end."""
    workdir = tmp_path_factory.mktemp("trained")
    config = replace(load_config("sudoku.py", "test"), data={"path": str(small_sudoku_h5)})
    config = replace(config, model={"hidden_size": 8, "num_steps": 1}, train={"num_updates": 10})
    found = Request(config, "configs/sudoku.py:test", workdir, devices="cpu:2")
    run(found)
    return found


def lines_of(workdir):
    return [json.loads(line) for line in (workdir / "metrics.jsonl").read_text().splitlines()]


@pytest.mark.slow
def test_training_writes_every_documented_file(request_):
    workdir = request_.workdir
    files = ["config.json", "lock", "metrics.jsonl", "results.json", "variables.json", "weights.h5"]
    files += ["checkpoints", "events", "figures", "report.html"]
    assert sorted(os.listdir(workdir)) == sorted(files)
    config = json.loads((workdir / "config.json").read_text())
    assert config["config"] == "configs/sudoku.py:test" and config["task"] == "sudoku"
    assert config["data_sha256"] and config["model"]["hidden_size"] == 8
    *training, valid = lines_of(workdir)
    assert [line["update"] for line in training] == [5, 10]
    for line in training:
        assert {"seconds", "examples_per_second", "loss", "learning_rate"} < line.keys()
    assert valid["split"] == "valid" and valid["update"] == 10
    assert {"seconds", "mean_loss", "validation_error"} < valid.keys()
    results = json.loads((workdir / "results.json").read_text())
    assert results["data"] == config["data"]["path"] and results["split"] == "test"
    assert results["examples"] == sum(results["examples_by_group"].values())
    assert results["metrics"] == {name: steps[-1] for name, steps in results["by_step"].items()}
    made = {"date", "update", "weights", "minutes", "devices", "processor", "gpus", "commit"}
    assert results["made"].keys() == made | {"rrn", "tensorflow", "python"}
    assert results["made"]["update"] == 10
    with h5py.File(workdir / "weights.h5") as file:
        assert file.attrs["update"] == 10
        assert file.attrs["validation_error"] == valid["validation_error"]
    for row in json.loads((workdir / "variables.json").read_text()):
        assert row["readers"] == {"tower 0": 1, "tower 1": 1} and row["stages"] == ["train"]
    assert list((workdir / "events").glob("events.out.tfevents.*"))
    checkpoints = {path.relative_to(workdir).as_posix() for path in workdir.rglob("*.index")}
    assert checkpoints == {f"checkpoints/last/ckpt-{update}.index" for update in (5, 10)}
    assert "learning_rate" in (workdir / "report.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_given_weights_are_evaluated_and_flags_do_not_stay(request_, call, tmp_path):
    data = f"--config.data.path={request_.config.data.path}"
    listed = tmp_path / "listed"
    status, out, _ = call(*SMALL, data, "--mode=variables", "--devices=cpu:2", "--workdir", listed)
    assert status is None and re.search(r"^lstm/linear/w .* tower 0 1, tower 1 1$", out, re.M)
    assert re.search(r"^tower 1  step_1/hidden .*CPU:1$", out, re.M)
    assert not listed.exists()
    given, workdir = request_.workdir / "weights.h5", tmp_path / "evaluated"
    command = *SMALL[:1], data, "--mode=evaluate", "--weights", given, "--workdir"
    assert f"{given.parent} holds a run" in str(call(*command, given.parent))
    call(*command, workdir)
    assert sorted(os.listdir(workdir)) == ["figures", "report.html", "results.json"]
    expected = json.loads((request_.workdir / "results.json").read_text())
    results = json.loads((workdir / "results.json").read_text())
    assert results["metrics"] == pytest.approx(expected["metrics"], abs=1e-5)
    del expected["fields"]["train"], expected["fields"]["data"]  # which the command does not know
    assert results["fields"].keys() == expected["fields"].keys()
    call(*command, workdir, "--config.model={'num_steps': 2}")
    results = json.loads((workdir / "results.json").read_text())
    assert results["fields"]["model"] == {**expected["fields"]["model"], "num_steps": 2}
    status, out, _ = call(*SMALL, data, "--workdir", request_.workdir, "--devices=cpu")
    assert status is None and "update 10/10" not in out and "report: " in out  # trained already


@pytest.mark.slow
def test_a_run_whose_output_nobody_reads_saves_and_ends_and_resumes(
    request_, tmp_path, monkeypatch
):
    """With its status for SIGHUP; what it writes afterwards it writes all the same.

    It resumes on moved data, whose digest decides, and in a thread, which gets no signals.
    """
    read, write = os.pipe()
    os.close(read)
    moved = str(shutil.copy(request_.config.data.path, tmp_path / "moved.h5"))
    config = replace(request_.config, train={"checkpoint_every_updates": 1000})
    request = Request(config, "lost", tmp_path / "run", devices="cpu")
    config = replace(config, data={"path": moved}, train={"num_updates": 15})
    more = Request(config, "moved", tmp_path / "run", devices="cpu")
    with (
        monkeypatch.context() as patch,
        open(write, "w") as lost,
        open(os.dup(write), "w", buffering=1) as errors,
    ):
        patch.setattr(sys, "stdout", lost)
        patch.setattr(sys, "stderr", errors)
        patch.setattr(progress.Progress, "show", lambda self, *_: print(self, file=sys.stderr))
        with pytest.raises(SystemExit) as ended:
            run(request)
        assert ended.value.code == 129
        assert (tmp_path / "run/checkpoints/last/ckpt-5.index").exists()
        thread = threading.Thread(target=run, args=[more])
        thread.start()
        thread.join()
    lines = lines_of(tmp_path / "run")
    assert [line["update"] for line in lines if "split" not in line] == [5, 10, 15]
    assert json.loads((tmp_path / "run/results.json").read_text())["made"]["update"] == 15
    assert (tmp_path / "run/report.html").exists()
    unfit = replace(more.config, train={"modules": ("network.none",)})
    with pytest.raises(ValueError, match=r"network\.none"):
        run(dataclasses.replace(more, config=unfit, restart=True))
    assert (tmp_path / "run/results.json").exists()  # the run has not moved
    shutil.rmtree(tmp_path / "run/checkpoints")
    with pytest.raises(ValueError, match=r"checkpoints: no checkpoint .*--restart"):
        run(more)
    run(dataclasses.replace(more, restart=True))
    assert (tmp_path / "run/earlier-1/results.json").exists()
    assert lines_of(tmp_path / "run")[0]["update"] == 5


# What is wrong is said in one line


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A folder with config files that cannot be executed, and with files of other kinds."""
    folder = tmp_path_factory.mktemp("files")
    hdf5.write(folder / "other.h5", {}, {"schema": "babi", "version": 1})
    configs = {
        "raises": "def get_config():\n    raise ValueError('not so')\n",
        "a b": "raise OSError('half')\n",
        "imports": "import nothing_there\n",
        "syntax": "def get_config(:\n",
        "none": "def get_config():\n    return None\n",
        "empty": "",
        "exits": "def get_config():\n    exit('done')\n",
        "key": "def get_config():\n    return {}['num_examples']\n",
        "field": "from configs import babi\nfrom rrn.config import replace\n\ndef get_config():\n"
        "    return replace(babi.get_config(), train={'rate': 1})\n",
    }
    for name, text in configs.items():
        (folder / f"{name}.py").write_text(text)
    (folder / "text.h5").write_text("no HDF5")
    (folder / "run").mkdir()
    (folder / "run" / "config.json").write_text('{"seed": 7}')
    write_weights(Weights(str(folder / "run" / "weights.h5"), {}, {}, {}))
    return folder


# flags, exit status, what the line says
WRONG = [
    (["--config=configs/babi.py:nonsense"], 1, ["variants are ", "'nonsense'"]),
    (["--config=configs/nothing.py"], 1, ["no file configs/nothing.py"]),
    (["--config={files}/raises.py"], 1, ["not so (raised in {files}/raises.py:2"]),
    (["--config", "{files}/a b.py"], 1, ["--config={files}/a b.py: ", "half"]),
    (["--config={files}/imports.py"], 1, ["nothing_there", "imports.py:1"]),
    (["--config={files}/syntax.py"], 1, ["invalid syntax", "syntax.py:1"]),
    (["--config={files}/field.py"], 1, ["train.rate: no such", "field.py:5"]),
    (["--config={files}/key.py"], 1, ["no entry 'num_examples' (raised in {files}/key"]),
    (["--config={files}/exits.py"], 1, ["done (raised in {files}/exits.py:2"]),
    (["--config={files}/none.py"], 1, ["get_config gave a NoneType"]),
    (["--config={files}/empty.py"], 1, ["no get_config in it"]),
    (["--mode=dance"], 2, ["--mode=dance", "train|evaluate|variables|export"]),
    (["--dance"], 2, ["Unknown command line flag 'dance'"]),
    (["dance"], 2, ["unexpected arguments: dance"]),
    (["--config.seed"], 2, ["--config.seed: has no value"]),
    (["--config.train.batch_size=many"], 2, ["train.batch_size: ", "'many'"]),
    (["--config.train.nonsense=1"], 2, ["train.nonsense: no such field"]),
    (["--config.model={{{{}}}}"], 2, ["model: "]),
    (["--devices=tpu"], 1, ["--devices=tpu: expected auto, cpu, cpu:N, gpu, gpu:N or"]),
    (["--devices=0,1,00"], 1, ["--devices=0,1,00: a device is named twice"]),
    (["--config.data.path=none.h5"], 1, ["none.h5: no such file", "the command that makes it"]),
    (["--config.data.path={files}/text.h5"], 1, ["text.h5: "]),
    (["--config.data.path={files}/other.h5"], 1, ["('babi', 1)", "('sudoku', "]),
    (["--config.evaluate.path=none.h5"], 1, ["none.h5: no such file"]),
    (["--mode=evaluate", "--weights=none.h5"], 1, ["none.h5: no such file"]),
    (["--weights={files}/text.h5"], 1, ["text.h5: it does not begin with its digest"]),
    (["--weights="], 2, ["--weights=: empty; give a value, or leave the flag out"]),
    (["--mode=evaluate"], 1, ["weights.h5: no such file; a run writes it"]),
    (["--mode=evaluate", "--workdir={files}/run"], 1, ["holds a run with another ", "data_sha256"]),
    (["--workdir={files}/run"], 1, ["holds a run with another ", "data_sha256"]),
    (["--workdir={files}/text.h5"], 1, ["--workdir={files}/text.h5: not a folder"]),
    (["--workdir={files}/run [v2]"], 1, ["--workdir={files}/run [v2]: TensorFlow reads ["]),
    (["--nosync", "--devices=cpu"], 1, ["--nosync: /device:CPU:0 is one device"]),
    (["--replicas_to_aggregate=1"], 1, ["--replicas_to_aggregate=1: expected a cluster"]),
    (["--local_cluster=ps=1"], 1, ["--local_cluster=ps=1: "]),
    (["--local_cluster=worker=1", "--nosync"], 1, ["--nosync needs parameter servers"]),
    (["--local_cluster=worker=1", "--replicas_to_aggregate=1"], 1, ["needs parameter servers"]),
    (["--mode=evaluate", "--restart"], 1, ["--restart: for training", "evaluate"]),
    (["--local_cluster=worker=1", "--mode=export"], 1, ["--mode=export runs on one machine"]),
    (["--local_cluster=worker=1", "--devices=cpu"], 1, ["--devices=cpu: a cluster's devices are"]),
    (["--replicas_to_aggregate=257"], 2, ["--replicas_to_aggregate=257"]),
    (["--profile=-1"], 2, ["--profile=-1"]),
    (["--startup_timeout=0"], 2, ["--startup_timeout=0"]),
]


@pytest.mark.parametrize(("flags", "status", "said"), WRONG)
def test_what_is_wrong_is_said_in_one_line(
    flags, status, said, files, call, small_sudoku_h5, tmp_path
):
    workdir = tmp_path / "run"
    usual = [*SMALL, f"--config.data.path={small_sudoku_h5}", f"--workdir={workdir}"]
    if any(flag.startswith("--config=") or flag == "--config" for flag in flags):
        usual = []  # fields of another config
    found, out, err = call(*usual, *(flag.format(files=files) for flag in flags))
    assert found == status, err
    (line,) = (line for line in err.splitlines() if not line.startswith("W"))
    assert line.startswith("error: ") and out == ""
    for part in said:
        assert part.format(files=files) in line


def test_with_verbosity_an_error_shows_where_it_was_raised(files, call, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["main.py", f"--config={files}/raises.py", "-v=1"])
    with pytest.raises(ValueError, match="not so"):
        start()
