"""The processes of a cluster: how they start, connect, serve and fail.

Workers and parameter servers (ps) only serve; the chief trains.
"""

import contextlib
import dataclasses
import logging
import multiprocessing
import multiprocessing.connection
import multiprocessing.forkserver
import os
import signal
import socket
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import tensorflow as tf

from rrn.distribute.cluster import (
    GONE_SECONDS,
    PROBE_SECONDS,
    SILENT,
    STOPPING,
    Cluster,
    Process,
    bypass_proxies,
    describe,
    find_missing,
    has_ended,
    host_port,
    wait_for,
)
from rrn.distribute.devices import tune_cpu
from rrn.hardware import count_cores
from rrn.variables.order import keep_order

THREADS = max(8, count_cores())  # in which operations of several processes wait for each other
OPEN = "TensorFlow's servers obey whoever reaches their ports: keep them on a private network."


@contextlib.contextmanager
def running(cluster: Cluster, startup_timeout: float, min_workers: int = 1) -> Iterator[None]:
    """Within it all processes of a cluster run, of which this one is the chief.

    If the cluster is local, this process starts the others and ends them with the scope. They end
    by themselves if this process fails. TensorFlow usually notices at once that a process has
    failed. Where it does not, a process beside this one ends the run; see `watch`.

    Raises:
      ConnectionError: a worker or server did not come in time, or has failed.
    """
    print(OPEN, flush=True)
    members, server = cluster.processes("ps", "worker"), start_forkserver()
    processes, watchers = [], []
    try:
        for role, index, address in members if cluster.local else ():
            member = dataclasses.replace(cluster, role=role, index=index)
            name = f"{role} {index} ({address}, process {{}})"
            process = server.Process(target=_serve_parent, args=(member,), name=name, daemon=True)
            process.start()
            processes.append(process)
            print(f"{role} {index}  {address}  process {process.pid}", flush=True)
        print(f"chief 0  {cluster.addresses['chief'][0]}  process {os.getpid()}", flush=True)

        def find_ended():
            return [m for m, p in zip(members, processes, strict=False) if not p.is_alive()]

        wait_for(members, startup_timeout, find_ended)
        pids = [*(process.pid for process in processes), os.getpid()]
        watchers = [server.Process(target=watch, args=(cluster, pids, min_workers), daemon=True)]
        watchers[0].start()
        yield
    except tf.errors.OpError as error:
        if gone := find_missing(members):
            raise ConnectionError(lost_message(gone)) from error
        raise
    finally:
        for process in processes:
            if (code := process.exitcode) is not None:
                name = process.name.format(process.pid)
                print(f"{name} ended by itself, exit code {code}", file=sys.stderr, flush=True)
        for process in [*watchers, *processes]:
            process.kill()
            process.join()


def start_forkserver() -> Any:
    """Starts the process that imports TensorFlow once, and from which others are forked.

    It and its forks ignore the signals that ask a run to stop, which a terminal sends to all
    processes: the chief needs the others to save, and then ends them.
    """
    server = multiprocessing.get_context("forkserver")
    server.set_forkserver_preload([__name__])
    ours = {number: signal.signal(number, signal.SIG_IGN) for number in STOPPING}
    try:
        multiprocessing.forkserver.ensure_running()
    finally:
        for number, handler in ours.items():
            signal.signal(number, handler)
    return server


def _wait_for_parent(seconds=None):
    """Whether the process that has started this one ends within the time."""
    parent = multiprocessing.parent_process()
    assert parent is not None  # this process is a fork of the server's
    return bool(multiprocessing.connection.wait([parent.sentinel], seconds))


def _serve_parent(cluster):
    tune_cpu()
    try:
        _start_server(cluster)
    except ConnectionError as error:
        sys.exit(f"error: {error}")
    _wait_for_parent()
    os._exit(0)


def _start_server(cluster):
    """TensorFlow's server of this process; raises ConnectionError where its port is not free."""
    _prepare(cluster)
    gpus = tf.config.list_physical_devices("GPU")
    if cluster.role == "ps":
        tf.config.set_visible_devices([], "GPU")
    elif cluster.local and gpus:  # one each
        tf.config.set_visible_devices(gpus[cluster.index % len(gpus)], "GPU")
    if cluster.role == "ps" or not gpus:
        keep_order()
    config = tf.compat.v1.ConfigProto(inter_op_parallelism_threads=THREADS)
    config.gpu_options.allow_growth = True
    return tf.distribute.Server(_spec(cluster), cluster.role, cluster.index, "grpc", config)


def serve(cluster: Cluster, startup_timeout: float) -> None:
    """Serves as worker or parameter server until the chief has ended, and ends this process.

    Raises:
      ConnectionError: this process's port is not free, or in `startup_timeout` seconds the chief,
        or this process by its own address, could not be reached.
    """
    server, own = _start_server(cluster), cluster.processes(cluster.role)[cluster.index]
    (host, port), chief = host_port(own[2]), cluster.addresses["chief"][0]
    print(f"{own[0]} {own[1]} listens on port {port} of all addresses. {OPEN}", flush=True)
    wait_for([own, ("chief", 0, chief)], startup_timeout)
    if (ip := socket.gethostbyname(host)).startswith("127.") and host not in ("localhost", ip):
        print(f"warning: {host} is {ip} here, which no other machine can reach", flush=True)
    while not has_ended(chief):
        time.sleep(PROBE_SECONDS)
    print("the chief has ended", flush=True)
    del server  # not before
    os._exit(0)  # TensorFlow's server cannot be stopped otherwise


def connect(cluster: Cluster) -> tf.distribute.ParameterServerStrategy | None:
    """Makes this process the chief: afterwards it sees the devices of all workers and servers.

    Must be called before TensorFlow's first operation. If there are parameter servers, it returns
    the strategy that TensorFlow's coordinator needs. Each worker is then connected to them and to
    the chief alone, so that a worker that fails does not take others with it.

    Raises:
      ConnectionError: this process's port is not free.
    """
    _prepare(cluster)
    tf.config.threading.set_inter_op_parallelism_threads(THREADS)
    tf.config.set_visible_devices([], "GPU")  # GPUs are the workers'
    for logger in ("absl", "tensorflow"):  # they log a lot here
        logging.getLogger(logger).setLevel(logging.ERROR)
    if cluster.addresses.get("ps"):
        resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(
            _spec(cluster), task_type="chief", task_id=0, rpc_layer="grpc"
        )
        return tf.distribute.ParameterServerStrategy(resolver)
    tf.config.experimental_connect_to_cluster(_spec(cluster), "chief", 0, protocol="grpc")
    tf.config.list_logical_devices()
    return None


def watch(cluster: Cluster, pids: Sequence[int], min_workers: int) -> None:
    """Kills a run's processes, `pids`, where a server is lost or too few workers are left.

    A process that refuses connections is lost after `2 * GONE_SECONDS`. One that does not answer,
    because it is stopped or its machine has vanished, always ends the run: TensorFlow would wait
    for it. Meanwhile no other thread of the chief may run, so that this is a process of its own.
    """
    missing_since, noted = {}, set()
    while not _wait_for_parent(PROBE_SECONDS):
        missing, now = find_missing(cluster.processes("ps", "worker")), time.monotonic()
        missing_since = {p: missing_since.get(p, now) for p in missing}
        lost = {p for p, since in missing_since.items() if now - since > 2 * GONE_SECONDS}
        needed = any(process[0] == "ps" or missing[process] == SILENT for process in lost)
        if needed or len(cluster.addresses["worker"]) - len(lost) < min_workers:
            print(f"error: {lost_message(lost)}", file=sys.stderr, flush=True)
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):  # it has ended meanwhile
                    os.kill(pid, signal.SIGKILL)
            return
        if new := sorted(lost - noted):
            print(f"lost {describe(new)}; the run continues without it", flush=True)
        noted = lost


def lost_message(processes: Iterable[Process]) -> str:
    """Says in a line which processes have failed and what to do."""
    return f"lost {describe(processes)}; the same command resumes from the last checkpoint"


def _spec(cluster):
    serving = {role: a for role, a in cluster.addresses.items() if a}
    return tf.train.ClusterSpec(serving)


def _prepare(cluster):
    """What comes before TensorFlow's server starts in this process."""
    bypass_proxies(cluster)
    address = cluster.addresses[cluster.role][cluster.index]
    with socket.socket() as own:
        own.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            own.bind(("", host_port(address)[1]))
        except OSError as error:
            raise ConnectionError(
                f"{cluster.role} {cluster.index} cannot listen on {address}: "
                f"{error.strerror or error}"
            ) from None
