"""What happens when a process dies or does not come: `main.py` on small bAbI, real processes."""

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time

import h5py
import numpy as np
import pytest

from tests.helpers import ROOT

LIMIT = 240  # seconds for one process
STATED = 60  # seconds in which a run ends whose process has died
FLAGS = [
    *("--config=configs/babi.py:test", "--config.train.num_updates=120"),
    *("--config.train.evaluate_every_updates=120", "--config.train.checkpoint_every_updates=5"),
    *("--config.model.hidden_size=16", "--config.model.encoding_size=6"),
    *("--config.model.num_steps=1", "--config.model.num_parts=1", "--config.model.max_facts=6"),
]
CLUSTER = ["--local_cluster=ps=2,worker=2", "--config.variables.policy=balanced"]


class Run:
    """A process of main.py; `pids`: name -> id of its cluster's processes."""

    def __init__(self, data, *flags, **environment):
        self.process = subprocess.Popen(
            [sys.executable, "main.py", *FLAGS, f"--config.data.path={data}", *map(str, flags)],
            cwd=ROOT,
            env={**os.environ, "CUDA_VISIBLE_DEVICES": "", **environment},
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.pids, self.addresses = {}, {}

    def wait_for_update(self):
        for line in self.process.stdout:
            if who := re.match(r"(\w+ \d+)  (\S+)  process (\d+)", line):
                self.addresses[who[1]], self.pids[who[1]] = who[2], int(who[3])
            if line.startswith("update "):
                return
        pytest.fail(f"no training: {self.process.stderr.read()}")

    def finish(self):
        """(exit status, standard output, errors); no process is left."""
        try:
            out, err = self.process.communicate(timeout=LIMIT)
            deadline = time.monotonic() + 20
            while left := [name for name, pid in self.pids.items() if _lives(pid)]:
                assert time.monotonic() < deadline, f"still there: {left}"
                time.sleep(0.1)
            return self.process.returncode, out, err
        finally:
            for pid in (self.process.pid, *self.pids.values()):
                if _lives(pid):
                    os.kill(pid, signal.SIGKILL)
            self.process.wait()


def _lives(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def error_line(err):
    (line,) = (line for line in err.splitlines() if line.startswith("error: "))
    assert "Traceback" not in err
    return line


def weights(workdir):
    values = {}
    with h5py.File(workdir / "weights.h5") as file:
        file.visititems(
            lambda n, item: values.update({n: item[()]}) if hasattr(item, "shape") else None
        )
    return values


@pytest.mark.slow
@pytest.mark.timeout(6 * LIMIT)
def test_whoever_dies_is_named_and_the_run_resumes(small_babi_h5, tmp_path):
    """A worker, then a server, then the chief; one machine alone finishes what they began."""
    workdir = tmp_path / "run"
    for victim in ("worker 1", "ps 0", "chief 0"):
        run = Run(small_babi_h5, "--workdir", workdir, *CLUSTER)
        run.wait_for_update()
        killed_at = time.monotonic()
        os.kill(run.pids[victim], signal.SIGKILL)
        status, _, err = run.finish()
        assert time.monotonic() - killed_at < STATED
        if victim == "chief 0":
            assert status == -signal.SIGKILL
        else:
            assert status == 1
            assert f"lost {victim} ({run.addresses[victim]})" in error_line(err)
    finished = Run(small_babi_h5, "--workdir", workdir)
    alone = Run(small_babi_h5, "--workdir", tmp_path / "alone")
    assert finished.finish()[0] == alone.finish()[0] == 0
    resumed, expected = weights(workdir), weights(tmp_path / "alone")
    assert resumed.keys() == expected.keys()
    for name, value in expected.items():
        np.testing.assert_allclose(resumed[name], value, rtol=0, atol=1e-4, err_msg=name)


@pytest.mark.slow
@pytest.mark.timeout(2 * LIMIT)
@pytest.mark.parametrize("how", ["--nosync", "--replicas_to_aggregate=1"])
def test_training_goes_on_without_a_worker(small_babi_h5, tmp_path, how):
    run = Run(small_babi_h5, "--workdir", tmp_path, *CLUSTER, how)
    run.wait_for_update()
    os.kill(run.pids["worker 1"], signal.SIGKILL)
    status, out, err = run.finish()
    assert status == 0, err
    assert "update 120/120" in out and "mean error" in out
    assert "worker 1 (" in err and "ended by itself, exit code -9" in err
    lines = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    name = "staleness" if how == "--nosync" else "gradients_dropped"
    assert all(name in line for line in lines if "split" not in line)


@pytest.mark.slow
@pytest.mark.timeout(2 * LIMIT)
def test_processes_of_tf_config_play_their_roles_and_end_with_the_chief(small_babi_h5, tmp_path):
    addresses = {"chief": 1, "worker": 1, "ps": 1}
    with contextlib.ExitStack() as stack:
        for role in addresses:
            one = stack.enter_context(socket.socket())
            one.bind(("127.0.0.1", 0))
            addresses[role] = [f"127.0.0.1:{one.getsockname()[1]}"]
    flags = "--workdir", tmp_path, "--config.train.num_updates=20", "--startup_timeout=120"
    flags += "--config.train.evaluate_every_updates=20", "--config.variables.policy=fixed_shards"
    runs = {}
    for role in (*addresses, "evaluator"):
        task = {"type": role, "index": 0}
        config = json.dumps({"cluster": addresses, "task": task})
        runs[role] = Run(small_babi_h5, *flags, TF_CONFIG=config)
    ended = {role: run.finish() for role, run in runs.items()}
    for role, (status, _, err) in ended.items():
        assert status == 0, f"{role}: {err}"
    assert "mean error" in ended["chief"][1]
    for role in ("worker", "ps"):
        assert f"{role} 0 listens on" in ended[role][1] and "the chief has ended" in ended[role][1]
    last = [json.loads(line) for line in (tmp_path / "validation.jsonl").read_text().splitlines()]
    metrics = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    (chiefs,) = (line for line in metrics if "split" in line)
    assert last[-1]["update"] == chiefs["update"] == 20
    assert last[-1]["mean_loss"] == pytest.approx(chiefs["mean_loss"], abs=1e-5)


@pytest.mark.slow
@pytest.mark.timeout(2 * LIMIT)
def test_who_does_not_come_and_a_port_in_use_are_errors(small_babi_h5, tmp_path):
    with socket.socket() as taken, socket.socket() as free, socket.socket() as other:
        for each in (taken, free, other):
            each.bind(("127.0.0.1", 0))
        taken.listen()
        used, chief, nobody = (f"127.0.0.1:{s.getsockname()[1]}" for s in (taken, free, other))

        def start(role, **addresses):
            cluster = {"chief": [chief], "worker": [nobody], **addresses}
            config = json.dumps({"cluster": cluster, "task": {"type": role, "index": 0}})
            flags = "--workdir", tmp_path, "--startup_timeout=2"
            return Run(small_babi_h5, *flags, TF_CONFIG=config)

        runs = start("chief"), start("ps", ps=[used])
        errors = []
        for run in runs:
            status, _, err = run.finish()
            assert status == 1
            errors.append(error_line(err))
    assert f"worker 0 ({nobody}) did not come within 2 seconds" in errors[0]
    assert f"ps 0 cannot listen on {used}: Address already in use" in errors[1]
