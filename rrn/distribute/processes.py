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
import re
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator

import tensorflow as tf

from rrn.distribute.cluster import (
    GONE_SECONDS,
    PROBE_SECONDS,
    REFUSED,
    Cluster,
    Process,
    begin_to_import,
    describe,
    find_missing,
    has_ended,
    host_port,
    leave_signals_to_chief,
    lost_message,
    wait_for,
    watch_chief,
)
from rrn.distribute.devices import tune_cpu
from rrn.distribute.listening import listening_only_on
from rrn.order import keep_order


@contextlib.contextmanager
def running(cluster: Cluster) -> Iterator[Callable[[], list[Process]]]:
    """Within it all processes of a cluster run, of which this one is the chief.

    If the cluster is local, this process starts the others and ends them with the scope; they end
    by themselves if this process fails. Otherwise they are started elsewhere. Prints the addresses
    and ids of the processes that run here.

    Yields:
      A function that finds which of the processes that this one has started have ended.
    """
    begin_to_import()
    server = multiprocessing.get_context("forkserver")
    processes, members = [], cluster.processes("ps", "worker") if cluster.local else []
    try:
        for role, index, address in members:
            member = dataclasses.replace(cluster, role=role, index=index)
            name = f"{role} {index} ({address}, process {{}})"
            process = server.Process(target=_serve_parent, args=(member,), name=name, daemon=True)
            process.start()
            processes.append(process)
            print(f"{role} {index}  {address}  process {process.pid}", flush=True)
        for role, index, address in cluster.processes("chief"):
            print(f"{role} {index}  {address}  process {os.getpid()}", flush=True)
        yield lambda: [m for m, p in zip(members, processes, strict=True) if not p.is_alive()]
    finally:
        for process in processes:
            if process.exitcode is not None:
                ended = f"{process.name.format(process.pid)} ended by itself"
                print(f"{ended}, exit code {process.exitcode}", file=sys.stderr, flush=True)
            process.kill()
        for process in processes:
            process.join()


def _serve_parent(cluster):
    leave_signals_to_chief()

    def end_with_parent():
        parent = multiprocessing.parent_process()
        assert parent is not None  # `local_cluster` has started this process
        multiprocessing.connection.wait([parent.sentinel])
        os._exit(0)

    tune_cpu()
    threading.Thread(target=end_with_parent, daemon=True).start()
    try:
        _start_server(cluster)
    except ConnectionError as error:  # the chief names who does not come
        sys.exit(f"error: {error}")
    threading.Event().wait()


def _start_server(cluster):
    """TensorFlow's server of this process; raises ConnectionError where its address is not free."""
    address = cluster.addresses[cluster.role][cluster.index]
    _check_free(cluster.role, cluster.index, address)
    gpus = tf.config.list_physical_devices("GPU")
    if cluster.role == "ps":
        tf.config.set_visible_devices([], "GPU")
    elif cluster.local and gpus:  # one each
        tf.config.set_visible_devices(gpus[cluster.index % len(gpus)], "GPU")
    if cluster.role == "ps" or not gpus:
        keep_order()
    config = tf.compat.v1.ConfigProto(inter_op_parallelism_threads=_threads())
    config.gpu_options.allow_growth = True
    with listening_only_on(*host_port(address)):
        return tf.distribute.Server(
            _spec(cluster), cluster.role, cluster.index, protocol="grpc", config=config
        )


def serve(cluster: Cluster, startup_timeout: float) -> None:
    """Serves as worker or parameter server until the chief has ended, and ends this process.

    Args:
      startup_timeout: the seconds within which the chief must be reachable.

    Raises:
      ConnectionError: this process's address is not free, or the chief did not come in time.
    """
    server = _start_server(cluster)
    chief = cluster.addresses["chief"][0]
    print(f"{cluster.role} {cluster.index} listens on {server.target}", flush=True)
    wait_for([("chief", 0, chief)], startup_timeout)
    while not has_ended(chief):
        time.sleep(PROBE_SECONDS)
    print("the chief has ended", flush=True)
    os._exit(0)  # TensorFlow's server cannot be stopped otherwise


def connect(
    cluster: Cluster, startup_timeout: float
) -> tf.distribute.ParameterServerStrategy | None:
    """Makes this process the chief: afterwards it sees the devices of all workers and servers.

    Must be called before TensorFlow's first operation. Where there are parameter servers, each
    worker is connected to them and to the chief but not to other workers, so that a worker that
    fails does not take others with it.

    Args:
      startup_timeout: the seconds within which all workers and servers must be reachable.

    Returns:
      Where there are parameter servers, the strategy that TensorFlow's coordinator needs.

    Raises:
      ConnectionError: a worker or server did not come in time, or this process's address is not
        free.
    """
    wait_for(cluster.processes("ps", "worker"), startup_timeout)
    ((role, index, address),) = cluster.processes("chief")
    _check_free(role, index, address)
    tf.config.threading.set_inter_op_parallelism_threads(_threads())
    tf.config.set_visible_devices([], "GPU")  # GPUs are the workers'
    for logger in ("absl", "tensorflow"):  # their notes on it are many
        logging.getLogger(logger).setLevel(logging.ERROR)
    with listening_only_on(*host_port(address)):
        if cluster.addresses.get("ps"):
            resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(
                _spec(cluster), task_type="chief", task_id=0, rpc_layer="grpc"
            )
            return tf.distribute.ParameterServerStrategy(resolver)
        tf.config.experimental_connect_to_cluster(_spec(cluster), "chief", 0, protocol="grpc")
        tf.config.list_logical_devices()
        return None


@contextlib.contextmanager
def reporting_failures(
    cluster: Cluster, min_workers: int, return_seconds: float | None = None
) -> Iterator[None]:
    """Within it, an error of TensorFlow's that comes from a failed process names the process.

    It becomes a ConnectionError. TensorFlow usually notices at once that a process has failed.
    Where it does not, this process ends all the same: a process of the cluster that refuses
    connections is lost after `2 * GONE_SECONDS`, and one that does not answer, because it is
    stopped or its machine has vanished, after about twice `SILENT_SECONDS`. Where TensorFlow waits
    for such a process and lets no other Python thread run meanwhile, as when it hands out a new
    function, a process beside this one notices it.

    Args:
      min_workers: the run ends when fewer workers are left, and always when a server is lost.
      return_seconds: None if no worker that is lost comes back. Otherwise workers that refuse
        connections may come back within so many seconds, and the run ends if all do so for longer.
        A worker that does not answer ends it, too: TensorFlow would wait for its update for ever.

    Raises:
      ConnectionError: a process has failed; the message names it.
    """
    over = threading.Event()
    processes = cluster.processes("ps", "worker")
    members = {child.name: child.pid for child in multiprocessing.active_children()}
    beats, ours = multiprocessing.Pipe(duplex=False)
    beside = multiprocessing.get_context("forkserver").Process(
        target=watch_chief, args=(beats, os.getpid(), processes, members), daemon=True
    )
    beside.start()

    def watch():
        missing_since, noted = {}, set()
        while not over.wait(PROBE_SECONDS):
            with contextlib.suppress(OSError):  # the process beside this one may have been killed
                ours.send(None)
            missing, now = find_missing(processes), time.monotonic()
            missing_since = {p: missing_since.get(p, now) for p in missing}
            lost = {p: now - t for p, t in missing_since.items() if now - t > 2 * GONE_SECONDS}
            if _too_few_left(cluster, lost, missing, min_workers, return_seconds):
                print(f"error: {lost_message(lost)}", file=sys.stderr, flush=True)
                for child in multiprocessing.active_children():  # also one that is stopped
                    child.kill()
                os._exit(1)
            for process in lost.keys() - noted:
                what = f"{describe([process])} {missing[process]}"
                print(f"{what}; the run goes on without it", flush=True)
            noted = set(lost)

    threading.Thread(target=watch, daemon=True).start()
    try:
        yield
    except tf.errors.OpError as error:
        if gone := find_missing(processes):
            raise ConnectionError(lost_message(gone)) from error
        found = re.search(r"/job:(ps|worker)/replica:0/task:(\d+)", str(error))
        if found and isinstance(error, (tf.errors.UnavailableError, tf.errors.AbortedError)):
            role, index = found[1], int(found[2])  # it has come back since
            raise ConnectionError(
                lost_message([(role, index, cluster.addresses[role][index])])
            ) from error
        raise
    finally:
        over.set()
        beside.kill()
        beside.join()


def _too_few_left(cluster, lost, missing, min_workers, return_seconds):
    """lost: process -> seconds; missing: process -> what `probe` says; see `reporting_failures`."""
    workers = [process for process in lost if process[0] == "worker"]
    if len(workers) < len(lost):
        return True
    num_workers = len(cluster.addresses["worker"])
    if return_seconds is None:
        return num_workers - len(workers) < min_workers
    if any(missing[worker] != REFUSED for worker in workers):
        return True
    return sum(lost[worker] > return_seconds for worker in workers) == num_workers


def _spec(cluster):
    serving = {role: a for role, a in cluster.addresses.items() if role != "evaluator" and a}
    return tf.train.ClusterSpec(serving)


def _threads():
    """A server's threads: operations of several processes wait for each other in them."""
    return max(8, os.cpu_count() or 1)


def _check_free(role, index, address):
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(host_port(address))
        except OSError as error:
            raise ConnectionError(
                f"{role} {index} cannot listen on {address}: {error.strerror or error}"
            ) from None
