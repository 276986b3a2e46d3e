"""A cluster's processes: their roles, how they start and connect, how they fail.

A cluster is described as TensorFlow and its Kubernetes operators do, by the environment variable
TF_CONFIG: {"cluster": {"chief": ["host:port"], "worker": [...], "ps": [...]}, "task": {"type":
"worker", "index": 0}}. Workers and parameter servers (ps) only serve; the chief trains.
"""

import contextlib
import dataclasses
import json
import logging
import multiprocessing
import multiprocessing.connection
import os
import re
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator, Sequence

import tensorflow as tf

from rrn.distribute.devices import CPU, keep_freed_memory
from rrn.distribute.listening import listening_only_on

Process = tuple[str, int, str]  # role, index, address
ROLES = "chief", "worker", "ps", "evaluator"
GONE_SECONDS = 10  # a process that refuses connections for so long has failed
SILENT_SECONDS = 20  # a machine that lets a connection wait for so long has failed
PROBE_SECONDS = 1.0


@dataclasses.dataclass(frozen=True)
class Cluster:
    """All processes of a cluster, and which of them this process is.

    Attributes:
      addresses: maps a role to the list of its processes' addresses, "host:port".
      role: this process's role, "chief", "worker", "ps" or "evaluator".
      index: this process's place in the list of its role.
      local: whether the chief starts the other processes itself, on its own machine.

    Raises:
      ValueError: the addresses do not make a cluster, or this process is not one of it.
    """

    addresses: dict[str, list[str]]
    role: str
    index: int
    local: bool = False

    def __post_init__(self):
        _check(self.addresses, self.role, self.index)

    def processes(self, *roles: str) -> list[Process]:
        """The processes of some roles: (role, index, address) of each."""
        return [(r, i, a) for r in roles for i, a in enumerate(self.addresses.get(r, ()))]

    def devices(self, role: str, kind: str = CPU) -> list[str]:
        """The full name of the device `kind` of every process of a role."""
        return [f"/job:{role}/replica:0/task:{i}{kind}" for _, i, _ in self.processes(role)]

    def unreachable(self, *roles: str) -> list[Process]:
        """The processes of some roles that cannot be reached now."""
        return [process for process in self.processes(*roles) if not is_reachable(process[2])]


def parse_tf_config(text: str) -> Cluster:
    """The cluster that a value of TF_CONFIG describes.

    Raises:
      ValueError: the text is not JSON, or does not describe a cluster that this process is part of.
        The message says what is wrong.
    """
    try:
        config = json.loads(text)
    except ValueError as error:
        raise ValueError(f"TF_CONFIG: not JSON: {error}; it begins {text[:40]!r}") from None
    try:
        addresses, task = dict(config["cluster"]), config["task"]
        role, index = task["type"], task["index"]
    except (KeyError, TypeError, ValueError):
        raise ValueError(
            'TF_CONFIG: expected {"cluster": {ROLE: ["HOST:PORT"]}, "task": {"type": ROLE, '
            f'"index": 0}}}}, got {text!r}'
        ) from None
    return Cluster(addresses, role, index)


def _check(addresses, role, index):
    for name in [*addresses, role]:
        if name not in ROLES:
            raise ValueError(f"TF_CONFIG: roles are {', '.join(ROLES)}; got {name!r}")
    for name, those in addresses.items():
        if not isinstance(those, list) or not all(
            isinstance(a, str) and re.fullmatch(r"[^:\s]+:\d{1,5}", a) for a in those
        ):
            raise ValueError(f'TF_CONFIG: {name} must be a list of "HOST:PORT", got {those!r}')
        if wrong := [a for a in those if not 0 < _host_port(a)[1] < 2**16]:
            raise ValueError(f"TF_CONFIG: {name}: ports are 1 to 65535, got {', '.join(wrong)}")
    everyone = [address for those in addresses.values() for address in those]
    if twice := sorted({address for address in everyone if everyone.count(address) > 1}):
        raise ValueError(f"TF_CONFIG: two processes cannot both be at {', '.join(twice)}")
    for name, wanted in (("chief", "one chief"), ("worker", "at least one worker")):
        count = len(addresses.get(name, ()))
        if count < 1 or (name == "chief" and count > 1):
            raise ValueError(f"TF_CONFIG: a cluster has {wanted}, got {count}")
    # An evaluator talks to nobody, so that it needs no address.
    count = 1 if role == "evaluator" else len(addresses.get(role, ()))
    if not isinstance(index, int) or not 0 <= index < count:
        raise ValueError(f"TF_CONFIG: task {role} {index!r}: the cluster has {count} {role}")


def find_cluster(local: str | None) -> Cluster | None:
    """The cluster that this process is part of, if it is part of one.

    Args:
      local: the flag --local_cluster, as "ps=2,worker=7". With it this process is the chief of so
        many processes of this machine, which `running` starts. Without it the environment variable
        TF_CONFIG describes the cluster.

    Returns:
      The cluster; None if there is neither a flag nor TF_CONFIG.

    Raises:
      ValueError: the flag or TF_CONFIG is malformed, or both are given.
    """
    text = os.environ.get("TF_CONFIG")
    if not local:
        return parse_tf_config(text) if text else None
    if text:
        raise ValueError(f"--local_cluster={local} and TF_CONFIG name two clusters; give one")
    counts = dict(re.findall(r"(ps|worker)=(\d+)", local))
    if ",".join(map("=".join, counts.items())) != local or not int(counts.get("worker", 0)):
        raise ValueError(f"--local_cluster={local}: expected ps=N,worker=M with M of at least 1")
    counts = {"chief": 1, **{role: int(count) for role, count in counts.items()}}
    ports = iter(_free_ports(sum(counts.values())))
    addresses = {r: [f"127.0.0.1:{next(ports)}" for _ in range(n)] for r, n in counts.items()}
    return Cluster(addresses, "chief", 0, local=True)


@contextlib.contextmanager
def running(cluster: Cluster) -> Iterator[None]:
    """Within it all processes of a cluster run.

    If the cluster is local, this process starts the others and ends them with the scope; they end
    by themselves if this process fails. Otherwise they are started elsewhere. Prints the addresses
    and ids of the processes that run here.
    """
    # All of them are forked from one process that has imported TensorFlow, and done nothing else.
    server = multiprocessing.get_context("forkserver")
    server.set_forkserver_preload([__name__])
    processes = []
    try:
        for role, index, address in cluster.processes("ps", "worker") if cluster.local else ():
            member = dataclasses.replace(cluster, role=role, index=index)
            name = f"{role} {index} ({address}, process {{}})"
            process = server.Process(target=_serve_parent, args=(member,), name=name, daemon=True)
            process.start()
            processes.append(process)
            print(f"{role} {index}  {address}  process {process.pid}", flush=True)
        for role, index, address in cluster.processes("chief"):
            print(f"{role} {index}  {address}  process {os.getpid()}", flush=True)
        yield
    finally:
        for process in processes:
            if process.exitcode is not None:
                ended = f"{process.name.format(process.pid)} ended by itself"
                print(f"{ended}, exit code {process.exitcode}", file=sys.stderr, flush=True)
            process.kill()
        for process in processes:
            process.join()


def _free_ports(count):
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


def _serve_parent(cluster):
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the chief, which saves first

    def end_with_parent():
        multiprocessing.connection.wait([multiprocessing.parent_process().sentinel])
        os._exit(0)

    keep_freed_memory()
    threading.Thread(target=end_with_parent, daemon=True).start()
    _start_server(cluster)
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
        tf.config.experimental.enable_op_determinism()
    config = tf.compat.v1.ConfigProto(inter_op_parallelism_threads=_threads())
    config.gpu_options.allow_growth = True
    with listening_only_on(*_host_port(address)):
        return tf.distribute.Server(
            _spec(cluster), cluster.role, cluster.index, protocol="grpc", config=config
        )


def serve(cluster: Cluster, startup_timeout: float) -> None:
    """Serves as worker or parameter server until the chief has ended, and ends this process.

    Args:
      cluster: the cluster in which this process is a worker or a parameter server.
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


def wait_for(processes: Sequence[Process], timeout: float) -> None:
    """Waits until all of the processes can be reached.

    Raises:
      ConnectionError: some cannot after `timeout` seconds; the message names them.
    """
    deadline = time.monotonic() + timeout
    while missing := [process for process in processes if not is_reachable(process[2])]:
        if time.monotonic() > deadline:
            raise ConnectionError(f"{describe(missing)} did not come within {timeout:g} seconds")
        time.sleep(0.1)


def describe(processes: Sequence[Process]) -> str:
    """The processes' roles, indices and addresses in words."""
    return ", ".join(f"{role} {index} ({address})" for role, index, address in processes)


def connect(
    cluster: Cluster, startup_timeout: float
) -> tf.distribute.ParameterServerStrategy | None:
    """Makes this process the chief: afterwards it sees the devices of all workers and servers.

    Must be called before TensorFlow's first operation. Where there are parameter servers, each
    worker is connected to them and to the chief but not to other workers, so that a worker that
    fails does not take others with it.

    Args:
      cluster: the cluster of which this process is the chief.
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
    with listening_only_on(*_host_port(address)):
        if cluster.addresses.get("ps"):
            resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(
                _spec(cluster), task_type="chief", task_id=0, rpc_layer="grpc"
            )
            return tf.distribute.ParameterServerStrategy(resolver)
        tf.config.experimental_connect_to_cluster(_spec(cluster), "chief", 0, protocol="grpc")
        tf.config.list_logical_devices()
        return None


@contextlib.contextmanager
def reporting_failures(cluster: Cluster, min_workers: int) -> Iterator[None]:
    """Within it, an error of TensorFlow's that comes from a process that has failed becomes a
    ConnectionError that names the process.

    TensorFlow usually notices at once that a process has failed. Where it does not, this process
    ends all the same: after `2 * GONE_SECONDS`, or about twice `SILENT_SECONDS` if a whole machine
    has vanished.

    Args:
      cluster: the `Cluster` to which this process is connected as its chief.
      min_workers: the run ends when fewer workers are left, and always when a server has failed.

    Raises:
      ConnectionError: a process has failed; the message names it.
    """
    over = threading.Event()
    roles = ("ps", "worker") if min_workers else ("ps",)
    num_workers = len(cluster.processes("worker"))

    def watch():
        gone_since = {}
        while not over.wait(PROBE_SECONDS):
            gone, now = cluster.unreachable(*roles), time.monotonic()
            gone_since = {p: gone_since.get(p, now) for p in gone}
            lost = [p for p, since in gone_since.items() if now - since > 2 * GONE_SECONDS]
            workers = [process for process in lost if process[0] == "worker"]
            if len(lost) > len(workers) or num_workers - len(workers) < min_workers:
                print(f"error: {_lost(lost)}", file=sys.stderr, flush=True)
                os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
    try:
        yield
    except tf.errors.OpError as error:
        if gone := cluster.unreachable("ps", "worker"):
            raise ConnectionError(_lost(gone)) from error
        found = re.search(r"/job:(ps|worker)/replica:0/task:(\d+)", str(error))
        if found and isinstance(error, (tf.errors.UnavailableError, tf.errors.AbortedError)):
            role, index = found[1], int(found[2])  # it has come back since
            raise ConnectionError(_lost([(role, index, cluster.addresses[role][index])])) from error
        raise
    finally:
        over.set()


def _lost(processes):
    return f"lost {describe(processes)}; the same command goes on from the last checkpoint"


def _spec(cluster):
    serving = {role: a for role, a in cluster.addresses.items() if role != "evaluator" and a}
    return tf.train.ClusterSpec(serving)


def _threads():
    """A server's threads: operations of several processes wait for each other in them."""
    return max(8, os.cpu_count() or 1)


def _host_port(address):
    host, _, port = address.rpartition(":")
    return host, int(port)


def _check_free(role, index, address):
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(_host_port(address))
        except OSError as error:
            raise ConnectionError(
                f"{role} {index} cannot listen on {address}: {error.strerror or error}"
            ) from None


def is_reachable(address: str) -> bool:
    """Whether a process takes connections at an address, "host:port"."""
    try:
        with socket.create_connection(_host_port(address), timeout=SILENT_SECONDS):
            return True
    except OSError:
        return False


def has_ended(address: str) -> bool:
    """Whether the process at an address has ended: it cannot be reached for `GONE_SECONDS`."""
    deadline = time.monotonic() + GONE_SECONDS
    while not is_reachable(address):
        if time.monotonic() > deadline:
            return True
        time.sleep(PROBE_SECONDS)
    return False
