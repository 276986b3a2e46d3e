"""What happens when a process fails or is stopped: `main.py` on small bAbI."""

import contextlib
import json
import os
import re
import signal
import socket
import time

import pytest
import tensorflow as tf

from tests.program import LIMIT, wait_until

STATED = 60  # seconds in which a run ends that is asked to
FLAGS = [
    "--config=configs/babi.py:test",
    *("--config.train.evaluate_every_updates=40", "--config.train.checkpoint_every_updates=40"),
    *("--config.model.hidden_size=16", "--config.model.encoding_size=6"),
    *("--config.model.num_steps=1", "--config.model.num_parts=1", "--config.model.max_facts=6"),
]
CLUSTER = ["--local_cluster=ps=1,worker=2", "--config.variables.policy=balanced"]


def members(run):
    """Name -> process id, of a run's local cluster once all are there."""
    run.wait_for("^chief 0 ")
    lines = re.findall(r"^(\w+ \d+)  \S+  process (\d+)$", run.output(), re.MULTILINE)
    return {name: int(pid) for name, pid in lines}


@pytest.fixture
def start(small_babi_h5, start_program):
    """Starts a `Run` of main.py with flags, on small bAbI."""

    def start_run(*flags, **environment):
        words = ["main.py", *FLAGS, f"--config.data.path={small_babi_h5}", *map(str, flags)]
        return start_program(words, **environment)

    return start_run


def error_line(err):
    (line,) = (line for line in err.splitlines() if line.startswith("error: "))
    assert "Traceback" not in err
    return line


def saved_update(workdir):
    latest = tf.train.latest_checkpoint(str(workdir / "checkpoints" / "last"))
    return int(latest.rsplit("-", 1)[1]) if latest else 0


def last_update(run):
    return int(re.findall(r"^update (\d+)/", run.output(), re.MULTILINE)[-1])


@pytest.mark.slow
@pytest.mark.timeout(4 * LIMIT)
def test_a_run_resumes_survives_a_worker_whose_gradients_it_does_not_need_and_saves_at_ctrl_c(
    start, tmp_path
):
    """A proxy of the environment that nobody reaches is in nobody's way."""
    proxy = {"https_proxy": "http://127.0.0.1:9", "http_proxy": "http://127.0.0.1:9"}
    flags = "--workdir", tmp_path, *CLUSTER
    run = start(*flags, "--config.train.num_updates=10", **proxy)
    status, out, err = run.finish()  # none of its processes is left
    assert status == 0 and "gradients_dropped" not in out, err
    assert json.loads((tmp_path / "results.json").read_text())["made"]["update"] == 10
    endless = "--replicas_to_aggregate=1", "--config.train.num_updates=1000000"
    run = start(*flags, *endless)
    assert run.first_update() == 10 + 5
    os.kill(members(run)["worker 1"], signal.SIGKILL)
    run.wait_for("^/job:worker/.*task:1/.* has failed; 1 others continue$")
    update = last_update(run)
    wait_until(lambda: last_update(run) > update)
    os.killpg(run.pid, signal.SIGINT)  # as a terminal does, to all processes
    began = time.monotonic()
    status, out, err = run.finish()
    saved = saved_update(tmp_path)
    assert status == 0 and f"Stopped at update {saved};" in out and "Traceback" not in err, err
    assert time.monotonic() - began < STATED and saved > update


@pytest.mark.slow
@pytest.mark.timeout(4 * LIMIT)
def test_roles_of_tf_config_and_a_worker_that_comes_back(start, tmp_path):
    """A worker fails and is started again; then the server fails, and all end with the chief."""
    addresses = {"chief": 1, "ps": 1, "worker": 2}
    with contextlib.ExitStack() as stack:
        for role, count in addresses.items():
            those = [stack.enter_context(socket.socket()) for _ in range(count)]
            for one in those:
                one.bind(("127.0.0.1", 0))
            addresses[role] = [f"127.0.0.1:{one.getsockname()[1]}" for one in those]

    def play(role, index=0):
        task = {"type": role, "index": index}
        config = json.dumps({"cluster": addresses, "task": task})
        flags = "--workdir", tmp_path, "--nosync", f"--startup_timeout={LIMIT}"
        flags += "--config.variables.policy=fixed_shards", "--config.train.num_updates=1000000"
        return start(*flags, TF_CONFIG=config)

    def staleness():
        """The largest of each line's updates."""
        return [float(s) for s in re.findall(r"staleness_max ([\d.]+)", chief.output())]

    chief, victim, server = play("chief"), play("worker", 1), play("ps")
    other = play("worker")
    chief.wait_for(r"staleness_max [1-9]")  # both workers are at it
    victim.kill()
    before = len(staleness())
    wait_until(lambda: len(staleness()) >= before + 6)
    alone = staleness()
    assert max(alone[before + 3 :]) == 0  # no worker is late that is alone
    again = play("worker", 1)
    wait_until(lambda: max(staleness()[len(alone) :], default=0) > 0)
    server.kill()

    status, _, err = chief.finish()
    assert status == 1 and f"lost ps 0 ({addresses['ps'][0]})" in error_line(err)
    for run, name in ((again, "worker 1"), (other, "worker 0")):
        status, _, err = run.finish()
        assert status == 0, err
        assert f"{name} listens on" in run.output() and "the chief has ended" in run.output()
