"""Clusters: TF_CONFIG, servers, and `LineTask` on two workers and two servers of this machine."""

import contextlib
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
import tensorflow as tf

from rrn.distribute import cluster as cluster_module
from rrn.distribute import processes
from rrn.distribute.cluster import (
    REFUSED,
    Cluster,
    find_cluster,
    find_missing,
    is_reachable,
    parse_tf_config,
    probe,
    wait_for,
)
from rrn.distribute.processes import reporting_failures
from rrn.tasks.report import Results
from rrn.training import Request, evaluate
from rrn.training.files import Files
from rrn.training.identity import identity
from rrn.training.workdir import Workdir
from tests.helpers import ROOT, line_config

ADDRESSES = {"chief": ["h:1"], "worker": ["h:2", "h:3"], "ps": ["h:4"]}
LIMIT = 240  # seconds for one process


def tf_config(role="worker", index=0, **addresses):
    task = {"type": role, "index": index}
    return json.dumps({"cluster": {**ADDRESSES, **addresses}, "task": task})


def test_tf_config_is_read():
    cluster = parse_tf_config(tf_config("worker", 1))
    assert cluster == Cluster(ADDRESSES, "worker", 1)
    assert cluster.processes("ps", "worker") == [
        ("ps", 0, "h:4"),
        ("worker", 0, "h:2"),
        ("worker", 1, "h:3"),
    ]
    assert cluster.devices("ps") == ["/job:ps/replica:0/task:0/device:CPU:0"]
    assert parse_tf_config(tf_config("evaluator")).role == "evaluator"  # it needs no address


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("worker 0", "TF_CONFIG: not JSON: .*'worker 0'"),
        ("[1]", 'TF_CONFIG: expected {"cluster": '),
        ('{"cluster": {}}', 'TF_CONFIG: expected {"cluster": '),
        ('{"cluster": ["a"], "task": {}}', 'TF_CONFIG: expected {"cluster": '),
        (tf_config("master"), "roles are chief, worker, ps, evaluator; got 'master'"),
        (tf_config(tpu=["h:9"]), "roles are chief, worker, ps, evaluator; got 'tpu'"),
        (tf_config("worker", 2), "task worker 2: the cluster has 2 worker"),
        (tf_config("worker", -1), "task worker -1: the cluster has 2 worker"),
        (tf_config("worker", "0"), "task worker '0': the cluster has 2 worker"),
        (tf_config("evaluator", 1), "task evaluator 1: the cluster has 1 evaluator"),
        (tf_config(chief=[]), "a cluster has one chief, got 0"),
        (tf_config(worker=[]), "a cluster has at least one worker, got 0"),
        (tf_config(ps=["h"]), "ps must be a list of \"HOST:PORT\", got \\['h'\\]"),
        (tf_config(ps="h:4"), "ps must be a list of \"HOST:PORT\", got 'h:4'"),
        (tf_config(ps=["h:99999"]), "ps: ports are 1 to 65535, got h:99999"),
        (tf_config(ps=["h:3"]), "two processes cannot both be at h:3, h:3"),
        (tf_config("worker", True), "task worker True: the cluster has 2 worker"),
        ("[" * 100_000, "TF_CONFIG: not JSON: "),
    ],
)
def test_a_tf_config_that_does_not_fit_is_an_error(text, message):
    with pytest.raises(ValueError, match=message) as error:
        parse_tf_config(text)
    assert "\n" not in str(error.value)


def test_local_clusters_have_addresses_of_their_own(monkeypatch):
    monkeypatch.delenv("TF_CONFIG", raising=False)
    cluster = find_cluster("ps=2,worker=7")
    assert {role: len(a) for role, a in cluster.addresses.items()} == {
        "chief": 1,
        "ps": 2,
        "worker": 7,
    }
    assert all(address.startswith("127.0.0.1:") for _, _, address in cluster.processes("ps"))
    assert find_cluster(None) is None and cluster.role == "chief"
    for wrong in ("ps=2", "worker=0", "worker=2,gpu=1", "worker=two", "2"):
        with pytest.raises(ValueError, match=f"--local_cluster={wrong}: expected ps=N,worker=M"):
            find_cluster(wrong)
    monkeypatch.setenv("TF_CONFIG", tf_config())
    with pytest.raises(ValueError, match="TF_CONFIG name two clusters"):
        find_cluster("worker=1")
    assert find_cluster(None).role == "worker"


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


@contextlib.contextmanager
def nobody():
    """Yields an address where nobody listens."""
    with socket.socket() as gone:
        gone.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{gone.getsockname()[1]}"


def test_who_answers():
    with listener(GREETING) as server, listener(b"HTTP/1.1 ") as other, listener() as silent:
        assert probe(server, 5) is None
        assert probe(other, 5) == "is no server of TensorFlow's"
        assert probe(silent, 0.1) == "does not answer"
        with nobody() as gone:
            assert probe(gone, 5) == REFUSED
            members = [("worker", i, a) for i, a in enumerate([server, silent, gone])]
            missing = {members[1]: "does not answer", members[2]: REFUSED}
            assert find_missing(members, 0.1) == missing


def test_who_does_not_come_is_named():
    with listener(GREETING) as here, listener() as silent, nobody() as gone:
        wait_for([("worker", 0, here)], 5)
        for absent, what in ((gone, "refuses connections"), (silent, "does not answer")):
            began = time.monotonic()
            message = rf"^worker 1 \({absent}\) did not come within 0\.3 seconds .*: {what}$"
            with pytest.raises(ConnectionError, match=message):
                wait_for([("worker", 0, here), ("worker", 1, absent)], 0.3)
            assert time.monotonic() - began < 5


# Who is not there -> (min_workers, return_seconds) of runs that end, and of runs that do not
FAILURES = {
    "a worker is gone": ([(2, None)], [(1, None), (1, 0.0)]),
    "a worker is silent": ([(2, None), (1, 60.0)], [(1, None)]),
    "both workers are gone": ([(2, None), (1, None), (1, 0.0)], [(1, 60.0)]),
    "the server is silent": ([(2, None), (1, None), (1, 60.0)], []),
}


@pytest.mark.parametrize(
    ("failure", "settings", "ends"),
    [
        (failure, settings, ends)
        for failure, (end, go_on) in FAILURES.items()
        for ends, those in ((True, end), (False, go_on))
        for settings in those
    ],
)
def test_a_run_ends_even_where_tensorflow_does_not_notice(
    monkeypatch, capsys, failure, settings, ends
):
    statuses, ended = [], threading.Event()
    monkeypatch.setattr(processes.os, "_exit", lambda s: (statuses.append(s), ended.set()))
    monkeypatch.setattr(processes, "GONE_SECONDS", 0.2)
    monkeypatch.setattr(processes, "PROBE_SECONDS", 0.02)
    monkeypatch.setattr(processes, "find_missing", lambda those: find_missing(those, 0.1))
    with contextlib.ExitStack() as stack:
        here = [stack.enter_context(listener(GREETING)) for _ in range(3)]
        gone = [stack.enter_context(nobody()) for _ in range(2)]
        silent = stack.enter_context(listener())
        server, workers, lost = {
            "a worker is gone": (here[0], [gone[0], here[1]], f"worker 0 ({gone[0]})"),
            "a worker is silent": (here[0], [here[1], silent], f"worker 1 ({silent})"),
            "both workers are gone": (here[0], gone, f"worker 0 ({gone[0]}), worker 1 ({gone[1]})"),
            "the server is silent": (silent, here[1:], f"ps 0 ({silent})"),
        }[failure]
        cluster = Cluster({"chief": ["h:1"], "ps": [server], "worker": workers}, "chief", 0)
        began = time.monotonic()
        with reporting_failures(cluster, *settings):
            assert ended.wait(20 if ends else 1) == ends
        assert time.monotonic() - began > 2 * 0.2
    message = f"error: lost {lost}; the same command goes on from the last checkpoint"
    printed = capsys.readouterr()
    assert set(statuses) == ({1} if ends else set())
    assert (message in printed.err) == ends
    assert ends or all(f"{who}) " in printed.out for who in lost.removesuffix(")").split("), "))


def test_a_machine_that_has_vanished_does_not_answer(monkeypatch):
    monkeypatch.setattr(cluster_module, "SILENT_SECONDS", 0.3)
    with socket.socket() as silent, socket.socket() as first, socket.socket() as second:
        silent.bind(("127.0.0.1", 0))
        silent.listen(0)
        address = silent.getsockname()
        assert is_reachable(f"127.0.0.1:{address[1]}")
        for waiting in (first, second):  # the queue is full: nothing comes back from now on
            waiting.setblocking(False)
            waiting.connect_ex(address)
        assert not is_reachable(f"127.0.0.1:{address[1]}")
        assert probe(f"127.0.0.1:{address[1]}", 0.3) == "does not answer"


def test_one_address_under_two_names_is_an_error(monkeypatch):
    names = {"localhost": "127.0.0.1", "a": "10.0.0.1", "also_a": "10.0.0.1", "b": "10.0.0.2"}

    def look_up(host):
        if host not in names:
            raise socket.gaierror(-2, "Name or service not known")
        return names[host]

    monkeypatch.setattr(cluster_module.socket, "gethostbyname", look_up)
    for twice in (["127.0.0.1:7", "localhost:7"], ["a:7", "also_a:7"], ["10.0.0.1:7", "a:7"]):
        with pytest.raises(ValueError, match=f"two .* cannot both be at {', '.join(twice)}"):
            parse_tf_config(tf_config(worker=twice))
    for other in (["127.0.0.1:7", "localhost:8"], ["a:7", "b:7"], ["unknown:7", "a:7"]):
        parse_tf_config(tf_config(worker=other))


def test_the_evaluator_takes_each_new_checkpoint_and_does_not_miss_the_last(monkeypatch, tmp_path):
    variable = tf.Variable(0.0)
    trainer = tf.train.Checkpoint(model_variables=[variable])
    manager = tf.train.CheckpointManager(
        tf.train.Checkpoint(trainer=trainer), str(tmp_path / "checkpoints" / "last"), 2
    )
    # What the chief has saved since it was last asked for, and whether it has ended
    asked = iter([(None, False), (10, False), (None, False), (20, False), (30, True)])

    def has_ended(address):
        update, ended = next(asked)
        if update:
            variable.assign(update)
            manager.save(update)
            variable.assign(0.0)
        return ended

    monkeypatch.setattr(evaluate, "has_ended", has_ended)
    monkeypatch.setattr(evaluate, "wait_for", lambda processes, timeout: None)
    monkeypatch.setattr(evaluate, "PROBE_SECONDS", 0.0)
    evaluator = types.SimpleNamespace(
        results=lambda: (Results(metrics={}, error=0.0), float(variable))
    )
    setup = types.SimpleNamespace(
        data=None,
        identity=identity({}, None),
        variables=[variable],
        workdir=Workdir(tmp_path),
        arrays=lambda data, split: split,
        evaluator=lambda arrays, num_examples: evaluator,
    )
    monkeypatch.setattr(evaluate, "set_up", lambda *_: setup)
    config = types.SimpleNamespace(seed=0, train=line_config(validation_examples=0))
    cluster = parse_tf_config(tf_config("evaluator"))
    evaluate.follow(Request(config, "line", tmp_path, devices="cpu", cluster=cluster), Files())
    lines = (tmp_path / "validation.jsonl").read_text().splitlines()
    found = [(line["update"], line["mean_loss"]) for line in map(json.loads, lines)]
    assert found == [(10, 10.0), (20, 20.0), (30, 30.0)]


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


@pytest.mark.slow
@pytest.mark.timeout(LIMIT + 30)
def test_servers_listen_on_their_address_and_nowhere_else(reports):
    assert reports["elsewhere"]["answers"] == [False] * 5


def difference(reports, one, other):
    return np.abs(np.subtract(reports[one]["values"], reports[other]["values"])).max()


@pytest.mark.slow
@pytest.mark.timeout(LIMIT + 30)
def test_synchronous_updates_equal_one_devices(reports):
    servers = {f"/job:ps/task:{i}/CPU:0" for i in range(2)}
    # The second are cut along their columns, the last along their rows.
    for name in ("sync round_robin", "sync fixed_shards", "first_2 balanced"):
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
