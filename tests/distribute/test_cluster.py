"""Clusters: TF_CONFIG, servers, and `LineTask` on two workers and two servers of this machine."""

import contextlib
import itertools
import json
import os
import socket
import subprocess
import sys
import threading
import time
import types

import numpy as np
import pytest

from rrn.distribute import processes
from rrn.distribute.cluster import (
    REFUSED,
    SILENT,
    UNKNOWN,
    Cluster,
    bypass_proxies,
    find_cluster,
    probe,
    wait_for,
)
from rrn.training import Request, run
from tests.helpers import ROOT, load_config, make_small, parse_tf_config

ADDRESSES = {"chief": ["h:1"], "worker": ["h:2", "h:3"], "ps": ["h:4"]}
LIMIT = 240  # seconds for one process


def tf_config(role="worker", index=0, **addresses):
    task = {"type": role, "index": index}
    return json.dumps({"cluster": {**ADDRESSES, **addresses}, "task": task})


def test_tf_config_is_read():
    cluster = parse_tf_config(tf_config("worker", 1))
    assert cluster == Cluster(ADDRESSES, "worker", 1)
    workers = [("worker", 0, "h:2"), ("worker", 1, "h:3")]
    assert cluster.processes("ps", "worker") == [("ps", 0, "h:4"), *workers]
    assert cluster.devices("ps") == ["/job:ps/replica:0/task:0/device:CPU:0"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("worker 0", "Expecting value"),
        ("[1]", "got {} with task None None"),
        ('{"cluster": ["a"], "task": {}}', "must be a dictionary"),
        (tf_config("master"), "with task master 0"),
        (tf_config("worker", 2), "with task worker 2"),
        (tf_config("worker", -1), "with task worker -1"),
        (tf_config("evaluator", evaluator=["h:5"]), "with task evaluator 0"),
        (tf_config(chief=[]), "one chief and at least one worker, got "),
        (tf_config(worker=[]), "one chief and at least one worker, got "),
        (tf_config(ps=["h"]), "'h' is no address"),
        (tf_config(ps=["h:65536"]), "'h:65536' is no address"),
        (tf_config(ps="h:4"), "must be a list"),
    ],
)
def test_a_tf_config_that_does_not_fit_is_an_error(text, message):
    with pytest.raises(ValueError, match=f"^TF_CONFIG: .*{message}") as error:
        parse_tf_config(text)
    assert "\n" not in str(error.value)


def test_local_clusters_have_addresses_of_their_own(monkeypatch):
    monkeypatch.delenv("TF_CONFIG", raising=False)
    cluster = find_cluster("ps=2,worker=7")
    counts = {role: len(addresses) for role, addresses in cluster.addresses.items()}
    assert counts == {"chief": 1, "ps": 2, "worker": 7}
    assert all(address.startswith("127.0.0.1:") for _, _, address in cluster.processes("ps"))
    assert find_cluster(None) is None and cluster.role == "chief"
    for wrong in ("ps=2", "worker=0", "worker=2,gpu=1", "worker=two", "2"):
        with pytest.raises(ValueError, match=f"--local_cluster={wrong}: expected ps=N,worker=M"):
            find_cluster(wrong)
    monkeypatch.setenv("TF_CONFIG", tf_config())
    with pytest.raises(ValueError, match="TF_CONFIG name two clusters"):
        find_cluster("worker=1")


def test_the_clusters_own_hosts_bypass_proxies(monkeypatch):
    monkeypatch.setenv("no_proxy", "example.org")
    name = "no_grpc_proxy"
    monkeypatch.setenv(name, "")
    bypass_proxies(Cluster(ADDRESSES, "chief", 0))
    assert os.environ[name] == "example.org,h"


GREETING = b"\0\0\x18\4\0\0\0\0\0"  # the head of HTTP/2's frame of settings


@contextlib.contextmanager
def listener(greeting=None):
    """Yields the address of a process that greets whoever connects, or says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server, contextlib.ExitStack() as connections:

        def greet():
            with contextlib.suppress(OSError):
                while True:
                    connection = connections.enter_context(server.accept()[0])
                    connection.sendall(greeting)

        if greeting:
            threading.Thread(target=greet, daemon=True).start()
        yield f"127.0.0.1:{server.getsockname()[1]}"
        with contextlib.suppress(OSError):
            server.shutdown(socket.SHUT_RDWR)  # ends `accept`


def test_a_loopback_address_under_a_name_is_warned_of(monkeypatch, capsys):
    for name, value in {"_start_server": None, "wait_for": None, "has_ended": True}.items():
        monkeypatch.setattr(processes, name, lambda *_, value=value: value)
    monkeypatch.setattr(processes.os, "_exit", lambda status: None)
    known = {"pod": "127.0.1.1", "node": "10.0.0.1", "localhost": "127.0.0.1"}
    monkeypatch.setattr(processes.socket, "gethostbyname", known.get)
    for host in known:
        processes.serve(parse_tf_config(tf_config(worker=[f"{host}:7"])), 1)
        out = capsys.readouterr().out
        assert "worker 0 listens on port 7 of all addresses" in out
        assert ("warning: pod is 127.0.1.1 here" in out) == (host == "pod")


def test_who_does_not_answer_is_named():
    with listener(GREETING) as here, listener() as silent, socket.socket() as gone:
        gone.bind(("127.0.0.1", 0))
        nobody = f"127.0.0.1:{gone.getsockname()[1]}"
        assert probe(here, 5) is None
        wait_for([("worker", 0, here)], 5)
        for absent, what in ((nobody, REFUSED), (silent, SILENT), ("a.invalid:1", UNKNOWN)):
            began = time.monotonic()
            message = rf"^worker 1 \({absent}\) did not come within 0\.3 seconds .*: {what}$"
            with pytest.raises(ConnectionError, match=message):
                wait_for([("worker", 0, here), ("worker", 1, absent)], 0.3)
            assert 0.3 < time.monotonic() - began < 10


def test_a_port_in_use_and_a_worker_that_does_not_come_are_named(
    monkeypatch, small_babi_h5, tmp_path
):
    monkeypatch.setenv("no_grpc_proxy", "")
    monkeypatch.setattr(processes, "start_forkserver", lambda: None)
    config = make_small(load_config("babi.py", "test"), small_babi_h5)
    with listener() as used:
        cluster = parse_tf_config(tf_config("ps", ps=[used]))
        message = f"^ps 0 cannot listen on {used}: Address already in use$"
        with pytest.raises(ConnectionError, match=message):
            processes.serve(cluster, 1)
        cluster = Cluster({"chief": ["127.0.0.1:1"], "worker": [used]}, "chief", 0)
        request = Request(config, "babi", tmp_path, cluster=cluster, startup_timeout=0.3)
        with pytest.raises(ConnectionError, match=rf"^worker 0 \({used}\) did not come within 0.3"):
            run(request)


WORKER, OTHER, SERVER = (("worker", 0, "h:2"), ("worker", 1, "h:3"), ("ps", 0, "h:4"))


@pytest.mark.parametrize(
    ("missing", "min_workers", "ends"),
    [
        ({}, 2, False),
        ({WORKER: REFUSED}, 2, True),
        ({WORKER: REFUSED}, 1, False),
        ({WORKER: SILENT}, 1, True),
        ({WORKER: REFUSED, OTHER: REFUSED}, 1, True),
        ({SERVER: REFUSED}, 1, True),
    ],
)
def test_a_run_ends_where_tensorflow_does_not_notice(
    monkeypatch, capsys, missing, min_workers, ends
):
    killed, clock = [], itertools.count(0, 8)
    monkeypatch.setattr(processes, "_wait_for_parent", lambda seconds: next(clock) >= 64)
    monkeypatch.setattr(processes, "find_missing", lambda those: missing)
    monkeypatch.setattr(processes, "time", types.SimpleNamespace(monotonic=lambda: next(clock)))
    monkeypatch.setattr(processes.os, "kill", lambda pid, signal: killed.append(pid))
    processes.watch(Cluster(ADDRESSES, "chief", 0), [7, 8], min_workers)
    printed = capsys.readouterr()
    assert killed == ([7, 8] if ends else [])
    for role, index, address in missing:
        assert f"{role} {index} ({address})" in (printed.err if ends else printed.out)


# On real processes


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    """Name -> what tests/distribute/chief.py reports."""
    process = subprocess.run(
        [sys.executable, "-m", "tests.distribute.chief", str(tmp_path_factory.mktemp("chief"))],
        cwd=ROOT,
        env={**os.environ, "CUDA_VISIBLE_DEVICES": "", "TF_CPP_MIN_LOG_LEVEL": "3"},
        capture_output=True,
        text=True,
        timeout=LIMIT,
    )
    assert process.returncode == 0, process.stderr
    lines = [json.loads(line) for line in process.stdout.splitlines() if line.startswith("{")]
    return {line["name"]: line for line in lines}


def difference(reports, one, other):
    return np.abs(np.subtract(reports[one]["values"], reports[other]["values"])).max()


@pytest.mark.slow
@pytest.mark.timeout(LIMIT + 30)
def test_synchronous_updates_equal_one_devices(reports):
    servers = {f"/job:ps/task:{i}/CPU:0" for i in range(2)}
    # The first are cut along their columns, the last along their rows.
    for name in ("sync fixed_shards", "first_2 balanced"):
        variables, *slots = reports[name]["places"]
        assert set(variables) == servers and slots == [variables] * 3
        assert reports[name]["update"] == 5
        # Variables, averages, and Adam's slots
        assert difference(reports, "one cpu", name) <= 1e-5
        ours, theirs = reports[name]["metrics"], reports["one cpu"]["metrics"]
        for metric, value in theirs.items():
            assert ours[metric] == pytest.approx(value, abs=1e-5), metric
    assert reports["first_2 balanced"]["metrics"]["gradients_dropped"] == 0


@pytest.mark.slow
@pytest.mark.timeout(LIMIT + 30)
def test_checkpoints_go_from_cluster_to_one_machine_and_back(reports):
    assert difference(reports, "sync fixed_shards", "one restored") == 0
    assert difference(reports, "one cpu", "sync restored") == 0
    assert reports["sync went on"]["update"] == reports["one went on"]["update"] == 7
    assert difference(reports, "sync restored", "sync went on") > 1e-3
    assert difference(reports, "sync went on", "one went on") <= 1e-5
    assert difference(reports, "same went on", "undisturbed") == 0


@pytest.mark.slow
@pytest.mark.timeout(LIMIT + 30)
def test_late_gradients_are_dropped_and_counted(reports):
    dropped = [reports[f"first_1 {n}"]["metrics"]["gradients_dropped"] for n in (20, 40)]
    assert reports["first_1 40"]["update"] == 40
    # Two workers, one gradient an update: what is not taken is late, but for those under way.
    assert 0 < sum(dropped) <= 40
    assert reports["first_1 40"]["whole_loss"] < 0.7 * reports["first_1 0"]["whole_loss"]


@pytest.mark.slow
@pytest.mark.timeout(LIMIT + 30)
def test_asynchronous_updates_and_their_staleness(reports):
    for name, update in (("async 20", 20), ("async 40", 40)):
        report = reports[name]
        metrics = report["metrics"]
        assert report["update"] == update and metrics["bad"] == -1
        counts = metrics["staleness_counts"]
        assert len(counts) == 5 and sum(counts) == 20
        assert 0 <= metrics["staleness"] <= metrics["staleness_max"] < 20
        assert np.dot(counts, range(5)) <= 20 * metrics["staleness"]
    assert reports["async 40"]["whole_loss"] < 0.7 * reports["async 0"]["whole_loss"]
