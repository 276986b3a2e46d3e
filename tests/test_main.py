"""The program, in processes of its own."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import h5py
import numpy as np
import pytest
import tensorflow as tf

from tests.helpers import ROOT

SMALL = [
    *("--config.model.hidden_size=16", "--config.model.encoding_size=6"),
    *("--config.model.num_steps=2", "--config.model.num_parts=1", "--config.model.max_facts=6"),
]
LIMIT = 240  # seconds for one process: 25 where nothing else runs, beside others more than 120


def command(path, *arguments, devices="cpu:1"):
    """The command line for small bAbI."""
    return [
        *(sys.executable, "main.py", "--config", "configs/babi.py:test"),
        *(f"--config.data.path={path}", f"--devices={devices}", *SMALL, *map(str, arguments)),
    ]


def start(arguments):
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}
    return subprocess.Popen(
        arguments,
        cwd=ROOT,
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def finish(process):
    """(exit status, standard output, standard error); the process is gone afterwards."""
    try:
        out, err = process.communicate(timeout=LIMIT)
        return process.returncode, out, err
    finally:
        process.kill()
        process.wait()


def run(arguments):
    return finish(start(arguments))


def succeed(arguments):
    status, out, err = run(arguments)
    assert status == 0, err
    assert "functional_saver" not in err  # nor other notes of TensorFlow's
    return out


def read_json(path):
    return json.loads(path.read_text())


# Training, evaluating, listing variables


@pytest.fixture(scope="module")
def trained(small_babi_h5, tmp_path_factory):
    """(the folder of a run on two devices, its command, what it printed)."""
    workdir = tmp_path_factory.mktemp("trained") / "run"
    rate = "--config.train.learning_rate=0.005"
    arguments = command(small_babi_h5, rate, "--workdir", workdir, devices="cpu:2")
    return workdir, arguments, succeed(arguments)


@pytest.mark.slow
@pytest.mark.timeout(2 * LIMIT)
def test_training_writes_every_documented_file(trained):
    workdir, _, out = trained
    files = ["config.json", "metrics.jsonl", "results.json", "variables.json", "weights.h5"]
    assert sorted(os.listdir(workdir)) == sorted(["checkpoints", "events", "figures", *files])

    config = read_json(workdir / "config.json")
    assert config["config"] == "configs/babi.py:test" and config["task"] == "babi"
    assert config["train"]["learning_rate"] == 0.005 and config["model"]["hidden_size"] == 16

    lines = [json.loads(line) for line in (workdir / "metrics.jsonl").read_text().splitlines()]
    training = [line for line in lines if "split" not in line]
    assert [line["update"] for line in training] == [5, 10, 15, 20]
    for line in training:
        assert {"seconds", "examples_per_second", "loss", "gradient_norm"} < line.keys()
        assert line["learning_rate"] == pytest.approx(0.005)
        assert len(line["accuracy_by_step"]) == 2 and len(line["accuracy_by_task"]) == 20
    (valid,) = (line for line in lines if "split" in line)
    assert valid["split"] == "valid" and valid["update"] == 20
    assert {"seconds", "mean_loss", "error/mean", "error/task_02", "tasks_failed"} < valid.keys()

    results = read_json(workdir / "results.json")
    names = {"config", "data", "split", "examples", "metrics", "by_step", "notes"}
    assert results.keys() == names and results["data"] == config["data"]["path"]
    assert results["config"] == "configs/babi.py:test" and results["split"] == "test"
    assert results["examples"] == 45
    assert results["metrics"].keys() == results["by_step"].keys()
    for name, value in results["metrics"].items():
        assert len(results["by_step"][name]) == 2 and results["by_step"][name][-1] == value

    with h5py.File(workdir / "weights.h5") as file:
        assert file.attrs["config"] == "configs/babi.py:test" and file.attrs["update"] == 20
        assert file.attrs["validation_error"] == valid["error/mean"] > 0
        names = []
        file.visititems(lambda n, item: names.append(n) if isinstance(item, h5py.Dataset) else None)
    rows = read_json(workdir / "variables.json")
    assert [row["name"] for row in rows] == sorted(names)
    keys = {"name", "shape", "dtype", "bytes", "device", "readers", "stages"}
    for row in rows:
        assert row.keys() == keys and row["readers"] == {"tower 0": 1, "tower 1": 1}

    figures = ["error_by_task.png", "training.png", "validation.png"]
    assert sorted(os.listdir(workdir / "figures")) == figures
    for name in figures:
        assert (workdir / "figures" / name).read_bytes().startswith(b"\x89PNG")
    assert list((workdir / "events").glob("events.out.tfevents.*"))
    checkpoints = {p.relative_to(workdir).as_posix() for p in workdir.rglob("*.index")}
    folder = "checkpoints"
    last = {f"{folder}/last/ckpt-{u}.index" for u in (10, 20)}
    assert checkpoints == {*last, f"{folder}/best/ckpt-20.index"}
    assert "update 20/20" in out and "mean error" in out and "45 examples" in out


@pytest.mark.slow
@pytest.mark.timeout(3 * LIMIT)
def test_a_trained_run_is_evaluated_and_not_trained_again(trained, small_babi_h5, tmp_path):
    workdir, arguments, _ = trained
    metrics = (workdir / "metrics.jsonl").read_text()
    weights, results = (workdir / "weights.h5").read_bytes(), read_json(workdir / "results.json")
    (workdir / "results.json").unlink()
    flags = ["--mode=evaluate", "--weights", workdir / "weights.h5", "--workdir", tmp_path]
    evaluate = command(small_babi_h5, *flags)
    with ThreadPoolExecutor() as pool:
        again, evaluated = pool.map(succeed, (arguments, evaluate))
    assert "update" not in again and "mean error" in again
    assert (workdir / "metrics.jsonl").read_text() == metrics
    assert (workdir / "weights.h5").read_bytes() == weights
    assert read_json(workdir / "results.json") == results
    # The weights alone give the same in another folder, on another number of devices.
    assert "mean error" in evaluated
    assert sorted(os.listdir(tmp_path)) == ["figures", "results.json"]
    elsewhere = read_json(tmp_path / "results.json")
    assert elsewhere["metrics"] == pytest.approx(results["metrics"], abs=1e-5)


@pytest.mark.slow
@pytest.mark.timeout(2 * LIMIT)
def test_variables_mode_prints_each_variable_once(trained, small_babi_h5, tmp_path):
    arguments = command(small_babi_h5, "--mode=variables", "--workdir", tmp_path, devices="0,1,2,3")
    lines = succeed(arguments).splitlines()
    names = [row["name"] for row in read_json(trained[0] / "variables.json")]
    assert [line.split()[0] for line in lines[1:-1]] == names
    for line in lines[1:-1]:
        assert line.endswith("CPU:0   tower 0 1, tower 1 1, tower 2 1, tower 3 1")
    assert lines[-1].startswith(f"{len(names)} variables")
    assert [row["name"] for row in read_json(tmp_path / "variables.json")] == names


# Stopping and resuming

LONG = [
    *("--config.train.num_updates=240", "--config.train.evaluate_every_updates=60"),
    *("--config.train.checkpoint_every_updates=30", "--config.train.average_decay=0.9"),
    *("--config.train.log_every_updates=3", "--config.train.clip_norm=1.0"),
]


def state(folder):
    """name -> array of a checkpoint; how often it was saved is no part of training's state."""
    reader = tf.train.load_checkpoint(str(folder))
    names = reader.get_variable_to_shape_map()
    return {name: reader.get_tensor(name) for name in names if "save_counter" not in name}


def assert_same_end(ours, theirs):
    """The same weights, states and metrics, bit for bit."""
    with h5py.File(ours / "weights.h5") as a, h5py.File(theirs / "weights.h5") as b:
        assert dict(a.attrs) == dict(b.attrs)
        names = []
        a.visititems(lambda n, item: names.append(n) if isinstance(item, h5py.Dataset) else None)
        assert len(names) > 10
        for name in names:
            np.testing.assert_array_equal(a[name][()], b[name][()], err_msg=name)
    for which in ("last", "best"):
        a, b = (state(workdir / "checkpoints" / which) for workdir in (ours, theirs))
        assert a.keys() == b.keys()
        for name in a:
            np.testing.assert_array_equal(a[name], b[name], err_msg=name)
    assert read_json(ours / "results.json") == read_json(theirs / "results.json")
    lines = [
        [json.loads(line) for line in (workdir / "metrics.jsonl").read_text().splitlines()]
        for workdir in (ours, theirs)
    ]
    validation = [
        [(line["update"], line["mean_loss"]) for line in part if "split" in line] for part in lines
    ]
    assert validation[0] == validation[1]
    updates = [line["update"] for line in lines[0]]
    assert updates == sorted(updates)


def wait_for_update(process):
    """Reads until the process trains."""
    for line in process.stdout:
        if line.startswith("update "):
            return
    pytest.fail(f"no training: {process.stderr.read()}")


def is_done(workdir):
    return (workdir / "results.json").exists()


@pytest.fixture(scope="module")
def uninterrupted(small_babi_h5, tmp_path_factory):
    workdir = tmp_path_factory.mktemp("uninterrupted") / "run"
    succeed(command(small_babi_h5, *LONG, "--workdir", workdir))
    return workdir


@pytest.mark.slow
@pytest.mark.timeout(5 * LIMIT)
def test_stopped_runs_resume_to_the_same_bits(uninterrupted, small_babi_h5, tmp_path):
    arguments = command(small_babi_h5, *LONG, "--workdir", tmp_path)
    for number in (signal.SIGINT, signal.SIGTERM):
        process = start(arguments)
        wait_for_update(process)
        process.send_signal(number)
        status, out, err = finish(process)
        assert status == 0, err
        assert "Traceback" not in err
        last = out.splitlines()[-1]
        assert last.startswith("Stopped at update ") and "the same command resumes there" in last
        update = int(last.split()[3].rstrip(";"))
        assert 0 < update < 240
        assert (tmp_path / "checkpoints" / "last" / f"ckpt-{update}.index").exists()
        assert not is_done(tmp_path)
    out = succeed(arguments)
    first = int(out.split()[1].split("/")[0])
    assert first > update
    assert_same_end(tmp_path, uninterrupted)


@pytest.mark.slow
@pytest.mark.timeout(6 * LIMIT)
def test_killed_runs_resume_to_the_same_bits(uninterrupted, small_babi_h5, tmp_path):
    arguments = command(small_babi_h5, *LONG, "--workdir", tmp_path)
    rng = random.Random()
    for _ in range(3):
        process = start(arguments)
        wait_for_update(process)
        time.sleep(rng.uniform(0.0, 1.5))
        process.kill()
        finish(process)
        assert process.returncode in (-signal.SIGKILL, 0)
    succeed(arguments)
    assert_same_end(tmp_path, uninterrupted)


# What is wrong is said in one line


@pytest.fixture(scope="module")
def other_schema(tmp_path_factory):
    path = tmp_path_factory.mktemp("other") / "other.h5"
    with h5py.File(path, "w") as file:
        file.attrs.update({"schema": "sudoku", "version": 1})
    return path


WRONG = {
    "variant": (
        ["--config=configs/babi.py:nonsense"],
        ["variants are hour, full, supplemented, quick", "'nonsense'"],
    ),
    "config file": (["--config=configs/nothing.py"], ["configs/nothing.py"]),
    "flag": (["--mode=dance"], ["--mode=dance", "train|evaluate|variables"]),
    "field's value": (["--config.train.batch_size=many"], ["train.batch_size=many"]),
    "task": (["--config.task=nonsense"], ["task must be one of ages, babi", "'nonsense'"]),
    "compute_dtype": (["--config.model.compute_dtype=float8"], ["bfloat16", "'float8'"]),
    "field": (["--config.train.nonsense=1"], ["no such field", "nonsense"]),
    "stage": (["--config.train.stages[0].num_updates=1"], ["no such field", "out of range"]),
    "field of the default": (None, ["no such field", "nonsense"]),
    "devices": (["--devices=gpu"], ["--devices=gpu", "there: no GPU, and the CPU"]),
    "data": (["--config.data.path=none.h5"], ["none.h5: no such file", "data_prep"]),
    "schema": (["--config.data.path={other}"], ["('sudoku', 1)", "('babi', 1)"]),
    "decay": (["--config.train.decay=line"], ["train.decay: expected one of", "'line'"]),
    "policy": (["--config.variables.policy=gpu"], ["variables.policy", "'gpu'"]),
    "weights": (["--mode=evaluate", "--weights=none.h5"], ["none.h5: no such file"]),
    "untrained": (["--mode=evaluate"], ["weights.h5: no such file; a run writes it"]),
    "number": (
        ["--config.train.clip_norm=-1"],
        ["train.clip_norm: expected a number of at least 0, got -1.0"],
    ),
    "evaluated data": (["--config.evaluate.path=none.h5"], ["none.h5: no such file", "data_prep"]),
    "no cluster": (["--nosync"], ["--nosync", "are for clusters: --local_cluster or TF_CONFIG"]),
    "no folder": (["--workdir={trained}/config.json"], ["File exists", "config.json"]),
    "workdir": (["--workdir={trained}"], ["another config", "train.learning_rate: 0.005 there"]),
}


@pytest.fixture(scope="module")
def failures(trained, small_babi_h5, other_schema, tmp_path_factory):
    """Case -> (exit status, standard output, standard error); two processes at a time."""
    workdir = tmp_path_factory.mktemp("failures")

    def fail(case):
        flags = WRONG[case][0]
        if flags is None:
            return run([sys.executable, "main.py", "--config.train.nonsense=1"])
        flags = [flag.format(other=other_schema, trained=trained[0]) for flag in flags]
        if not any(flag.startswith("--workdir") for flag in flags):
            flags.append(f"--workdir={workdir / case}")
        return run(command(small_babi_h5, *flags))

    with ThreadPoolExecutor(2) as pool:
        return dict(zip(WRONG, pool.map(fail, WRONG), strict=True))


@pytest.mark.slow
@pytest.mark.timeout(4 * LIMIT)
@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_said_in_one_line(failures, case):
    status, out, err = failures[case]
    assert status == 1
    assert "Traceback" not in out + err
    lines = err.splitlines()
    (place,) = (i for i, line in enumerate(lines) if line.startswith("error: "))
    for part in WRONG[case][1]:
        assert part in "\n".join(lines[place:])
    # Differing fields and variables are listed below the line; nothing else follows it.
    assert all(line.startswith("  ") for line in lines[place + 1 :])
