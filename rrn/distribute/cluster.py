"""A cluster: its processes' roles and addresses, and which of them answer.

A cluster is described as TensorFlow and its Kubernetes operators do, by the environment variable
TF_CONFIG: {"cluster": {"chief": ["host:port"], "worker": [...], "ps": [...]}, "task": {"type":
"worker", "index": 0}}. Workers and parameter servers (ps) only serve; the chief trains.
"""

import contextlib
import dataclasses
import os
import re
import signal
import socket
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor

import tensorflow as tf

Process = tuple[str, int, str]  # role, index, address
GONE_SECONDS = 10  # a process that refuses connections for so long has ended
SILENT_SECONDS = 20  # a process that leaves a connection without an answer for so long has failed
PROBE_SECONDS = 1.0
REFUSED, SILENT, UNKNOWN = "refuses connections", "does not answer", "has a name that is not known"
TF_CONFIG = (
    '{"cluster": {"chief": ["HOST:PORT"], "worker": ["HOST:PORT"], "ps": ["HOST:PORT"]}, '
    '"task": {"type": "worker", "index": 0}} with one chief and at least one worker'
)
STOPPING = signal.SIGINT, signal.SIGTERM, signal.SIGHUP  # after these a run saves and stops


@dataclasses.dataclass(frozen=True)
class Cluster:
    """All processes of a cluster, and which of them this process is.

    Attributes:
      addresses: maps a role, "chief", "worker" or "ps", to its "host:port"s.
      role: this process's role, and `index` its index in that list.
      local: whether the chief starts the other processes itself, on its own machine.
    """

    addresses: dict[str, list[str]]
    role: str
    index: int
    local: bool = False

    def processes(self, *roles: str) -> list[Process]:
        """Lists the (role, index, address) of each process of some roles."""
        return [(r, i, a) for r in roles for i, a in enumerate(self.addresses.get(r, ()))]

    def devices(self, role: str) -> list[str]:
        """Names the CPU of every process of a role."""
        return [f"/job:{role}/replica:0/task:{i}/device:CPU:0" for _, i, _ in self.processes(role)]


def read_tf_config() -> Cluster:
    """Reads TF_CONFIG; raises ValueError where this process is part of no cluster by it."""
    resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    try:
        addresses = resolver.cluster_spec().as_dict()
        role, index = resolver.task_type, resolver.task_id
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"TF_CONFIG: {error}; expected {TF_CONFIG}") from None
    for address in (address for those in addresses.values() for address in those):
        found = re.fullmatch(r"[^:\s]+:([0-9]{1,5})", str(address))
        if not found or int(found[1]) > 65_535:
            raise ValueError(f"TF_CONFIG: {address!r} is no address; expected {TF_CONFIG}")
    count = len(addresses.get(role, ())) if role in ("chief", "worker", "ps") else 0
    complete = len(addresses.get("chief", ())) == 1 and addresses.get("worker")
    if not (complete and isinstance(index, int) and 0 <= index < count):
        got = f"{addresses} with task {role} {index}"
        raise ValueError(f"TF_CONFIG: expected {TF_CONFIG}, got {got}")
    return Cluster(addresses, role, index)


def find_cluster(local: str | None) -> Cluster | None:
    """Finds the cluster that this process is part of; None without a flag and TF_CONFIG.

    Args:
      local: the flag --local_cluster, as "ps=2,worker=7". With it this process is the chief of a
        cluster on this machine, which `running` starts. Without it TF_CONFIG describes the cluster.

    Raises:
      ValueError: the flag or TF_CONFIG is malformed, or both are given.
    """
    if not local:
        return read_tf_config() if os.environ.get("TF_CONFIG") else None
    if os.environ.get("TF_CONFIG"):
        raise ValueError(f"--local_cluster={local} and TF_CONFIG name two clusters; give one")
    counts = dict(re.findall(r"(ps|worker)=(\d{1,2})", local))
    if ",".join(map("=".join, counts.items())) != local or not int(counts.get("worker", 0)):
        raise ValueError(f"--local_cluster={local}: expected ps=N,worker=M with M of 1 to 99")
    addresses = {}
    with contextlib.ExitStack() as stack:  # holds each port until all are found
        for role, count in {"chief": 1, **counts}.items():
            sockets = [stack.enter_context(socket.socket()) for _ in range(int(count))]
            for each in sockets:
                each.bind(("127.0.0.1", 0))
            addresses[role] = [f"127.0.0.1:{each.getsockname()[1]}" for each in sockets]
    return Cluster(addresses, "chief", 0, local=True)


def host_port(address: str) -> tuple[str, int]:
    """Splits an address, "host:port"."""
    host, _, port = address.rpartition(":")
    return host, int(port)


def bypass_proxies(cluster: Cluster) -> None:
    """Lets gRPC connect to the cluster's own hosts without a proxy of the environment."""
    everyone = cluster.processes(*cluster.addresses)
    hosts = sorted({host_port(address)[0] for _, _, address in everyone})
    ours, everyones = "no_grpc_proxy", "no_proxy"  # as gRPC reads them
    before = os.environ.get(ours) or os.environ.get(everyones)
    os.environ[ours] = ",".join([*([before] if before else []), *hosts])


# Which processes answer


def probe(address: str, timeout: float = SILENT_SECONDS) -> str | None:
    """Returns `REFUSED`, `SILENT` or `UNKNOWN`, or None where one of TensorFlow's servers answers.

    The servers greet whoever connects. The system takes connections for a process that is stopped,
    but no greeting comes then.
    """
    try:
        with socket.create_connection(host_port(address), timeout=timeout) as connection:
            connection.settimeout(timeout)
            return None if connection.recv(1) else REFUSED
    except TimeoutError:
        return SILENT
    except socket.gaierror:
        return UNKNOWN
    except (OSError, UnicodeError):
        return REFUSED


def find_missing(processes: Sequence[Process], timeout: float = SILENT_SECONDS) -> dict:
    """Asks all processes at once: process -> what `probe` says, where something is wrong."""
    with ThreadPoolExecutor(max(1, len(processes))) as pool:
        said = pool.map(lambda process: probe(process[2], timeout), processes)
        return {p: what for p, what in zip(processes, said, strict=True) if what}


def wait_for(
    processes: Sequence[Process],
    timeout: float,
    find_ended: Callable[[], Sequence[Process]] = list,
) -> None:
    """Waits until servers of all of the processes answer, for `timeout` seconds at most.

    Raises:
      ConnectionError: some do not in time, or `find_ended` returns some; the message names them.
    """
    deadline = time.monotonic() + timeout
    while missing := find_missing(processes, max(deadline - time.monotonic(), 0.1)):
        if ended := find_ended():
            raise ConnectionError(f"{describe(ended)} ended before the cluster was complete")
        if time.monotonic() >= deadline:
            raise ConnectionError(
                f"{describe(missing)} did not come within {timeout:g} seconds "
                f"(--startup_timeout): {', '.join(sorted({*missing.values()}))}"
            )
        time.sleep(0.1)


def describe(processes: Iterable[Process]) -> str:
    """Names processes by their roles, indices and addresses."""
    return ", ".join(f"{role} {index} ({address})" for role, index, address in processes)


def has_ended(address: str) -> bool:
    """Finds out whether a process, which may be stopped, refuses connections for a while."""
    deadline = time.monotonic() + GONE_SECONDS
    while time.monotonic() <= deadline:
        with contextlib.suppress(OSError):
            socket.create_connection(host_port(address), timeout=SILENT_SECONDS).close()
            return False
        time.sleep(PROBE_SECONDS)
    return True
