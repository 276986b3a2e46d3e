"""Clusters: TF_CONFIG, servers, and `LineTask` on two workers and two servers of this machine."""

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
from rrn.distribute.cluster import (
    Cluster,
    find_cluster,
    is_reachable,
    parse_tf_config,
    reporting_failures,
    wait_for,
)
from rrn.tasks.task import Results
from rrn.training import experiment
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
        (tf_config(ps=["h:3"]), "two processes cannot both be at h:3"),
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


def test_who_does_not_come_is_named():
    with socket.socket() as there, socket.socket() as gone:
        for each in (there, gone):
            each.bind(("127.0.0.1", 0))
        there.listen()
        here, nobody = (f"127.0.0.1:{s.getsockname()[1]}" for s in (there, gone))
        wait_for([("worker", 0, here)], 1.0)
        message = rf"^worker 1 \({nobody}\) did not come within 0\.3 seconds$"
        with pytest.raises(ConnectionError, match=message):
            wait_for([("worker", 0, here), ("worker", 1, nobody)], 0.3)


@pytest.mark.parametrize(("min_workers", "ends"), [(2, True), (1, False), (0, False)])
def test_a_run_ends_even_where_tensorflow_does_not_notice(monkeypatch, capsys, min_workers, ends):
    statuses, ended = [], threading.Event()
    monkeypatch.setattr(cluster_module.os, "_exit", lambda s: (statuses.append(s), ended.set()))
    monkeypatch.setattr(cluster_module, "GONE_SECONDS", 0.2)
    monkeypatch.setattr(cluster_module, "PROBE_SECONDS", 0.02)
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket() as gone:
        gone.bind(("127.0.0.1", 0))
        here, nobody = (f"127.0.0.1:{s.getsockname()[1]}" for s in (server, gone))
        there = socket.create_server(("127.0.0.1", 0))
        workers = [nobody, f"127.0.0.1:{there.getsockname()[1]}"]
        cluster = Cluster({"chief": ["h:1"], "ps": [here], "worker": workers}, "chief", 0)
        began = time.monotonic()
        with there, reporting_failures(cluster, min_workers):
            assert ended.wait(20 if ends else 1) == ends
        assert time.monotonic() - began > 2 * 0.2
    message = f"error: lost worker 0 ({nobody}); the same command goes on from the last checkpoint"
    assert set(statuses) == ({1} if ends else set())
    assert set(capsys.readouterr().err.splitlines()) == ({message} if ends else set())


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

    monkeypatch.setattr(experiment, "has_ended", has_ended)
    monkeypatch.setattr(experiment, "wait_for", lambda processes, timeout: None)
    monkeypatch.setattr(experiment, "PROBE_SECONDS", 0.0)
    evaluator = types.SimpleNamespace(
        results=lambda: (Results(metrics={}, error=0.0), float(variable))
    )
    run = types.SimpleNamespace(
        config=types.SimpleNamespace(train=line_config(validation_examples=0)),
        data=None,
        variables=[variable],
        workdir=Workdir(tmp_path),
        _evaluator=lambda data, split, num_examples: evaluator,
    )
    experiment.Experiment.follow(run, parse_tf_config(tf_config("evaluator")), 0)
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
