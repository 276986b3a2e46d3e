"""A cluster: its processes' roles and addresses, and which of them answer. Needs no TensorFlow.

A cluster is described as TensorFlow and its Kubernetes operators do, by the environment variable
TF_CONFIG: {"cluster": {"chief": ["host:port"], "worker": [...], "ps": [...]}, "task": {"type":
"worker", "index": 0}}. Workers and parameter servers (ps) only serve; the chief trains.
"""

import contextlib
import dataclasses
import ipaddress
import json
import multiprocessing.connection
import multiprocessing.forkserver
import os
import re
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

Process = tuple[str, int, str]  # role, index, address
ROLES = "chief", "worker", "ps", "evaluator"
GONE_SECONDS = 10  # a chief that refuses connections for so long has ended
MOST_LOCAL = 256  # processes of a cluster of one machine
SILENT_SECONDS = 20  # a process that leaves a connection without an answer for so long has failed
PROBE_SECONDS = 1.0
REFUSED = "refuses connections"
# After these a run saves and stops. Windows has no SIGHUP.
STOPPING = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
]


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
        """Lists the (role, index, address) of each process of some roles."""
        return [(r, i, a) for r in roles for i, a in enumerate(self.addresses.get(r, ()))]

    def devices(self, role: str) -> list[str]:
        """Names the CPU of every process of a role."""
        return [f"/job:{role}/replica:0/task:{i}/device:CPU:0" for _, i, _ in self.processes(role)]


def parse_tf_config(text: str) -> Cluster:
    """Reads a value of TF_CONFIG.

    Raises:
      ValueError: the text is not JSON, or does not describe a cluster that this process is part of;
        the message says what is wrong.
    """
    try:
        config = json.loads(text)
    except (ValueError, RecursionError) as error:
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
            isinstance(a, str) and re.fullmatch(r"[^:\s]+:[0-9]{1,5}", a) for a in those
        ):
            raise ValueError(f'TF_CONFIG: {name} must be a list of "HOST:PORT", got {those!r}')
        if wrong := [a for a in those if not 0 < host_port(a)[1] < 2**16]:
            raise ValueError(f"TF_CONFIG: {name}: ports are 1 to 65535, got {', '.join(wrong)}")
    everyone = [address for those in addresses.values() for address in those]
    places = _places(everyone)
    if twice := [a for a, place in zip(everyone, places, strict=True) if places.count(place) > 1]:
        raise ValueError(f"TF_CONFIG: two processes cannot both be at {', '.join(twice)}")
    for name, wanted in (("chief", "one chief"), ("worker", "at least one worker")):
        count = len(addresses.get(name, ()))
        if count < 1 or (name == "chief" and count > 1):
            raise ValueError(f"TF_CONFIG: a cluster has {wanted}, got {count}")
    # An evaluator talks to nobody, so that it needs no address.
    count = 1 if role == "evaluator" else len(addresses.get(role, ()))
    if type(index) is not int or not 0 <= index < count:
        raise ValueError(f"TF_CONFIG: task {role} {index!r}: the cluster has {count} {role}")


def find_cluster(local: str | None) -> Cluster | None:
    """Finds the cluster that this process is part of; None without a flag and TF_CONFIG.

    Args:
      local: the flag --local_cluster, as "ps=2,worker=7". With it this process is the chief of so
        many processes of this machine, which `running` starts. Without it the environment variable
        TF_CONFIG describes the cluster.

    Raises:
      ValueError: the flag or TF_CONFIG is malformed, or both are given.
    """
    text = os.environ.get("TF_CONFIG")
    if not local:
        return parse_tf_config(text) if text else None
    if text:
        raise ValueError(f"--local_cluster={local} and TF_CONFIG name two clusters; give one")
    counts = dict(re.findall(r"(ps|worker)=(\d{1,9})", local))
    if ",".join(map("=".join, counts.items())) != local or not int(counts.get("worker", 0)):
        raise ValueError(f"--local_cluster={local}: expected ps=N,worker=M with M of at least 1")
    counts = {"chief": 1, **{role: int(count) for role, count in counts.items()}}
    if sum(counts.values()) > MOST_LOCAL:
        raise ValueError(f"--local_cluster={local}: expected at most {MOST_LOCAL:,} processes")
    ports = iter(_free_ports(sum(counts.values())))
    addresses = {r: [f"127.0.0.1:{next(ports)}" for _ in range(n)] for r, n in counts.items()}
    return Cluster(addresses, "chief", 0, local=True)


def _free_ports(count):
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


def _places(addresses):
    """The addresses as (IP, port), as far as their hosts' names are known here."""
    hosts = {}
    for host, port in map(host_port, addresses):
        hosts.setdefault(port, set()).add(host)
    # Names are looked up only where it matters: it may take seconds.
    shared = {host for those in hosts.values() if len(those) > 1 for host in those}
    ips = {host: _ip(host) for host in shared}
    return [(ips.get(host, host), port) for host, port in map(host_port, addresses)]


def _ip(host):
    with contextlib.suppress(ValueError):
        return str(ipaddress.ip_address(host))
    try:
        return socket.gethostbyname(host)
    except (OSError, UnicodeError):  # it may be known to others
        return host


def begin_to_import() -> None:
    """Begins to import TensorFlow in the process from which a local cluster's are forked.

    It has done nothing else, so that it can be forked. Where this process imports TensorFlow
    meanwhile, the cluster is there sooner. It and its forks hear none of the signals to stop, of
    which some come to all processes of a terminal or of a job: a process keeps ignoring what the
    one that has started it ignored.
    """
    server = multiprocessing.get_context("forkserver")
    server.set_forkserver_preload(["rrn.fast_start", "rrn.distribute.processes"])
    ours = {number: signal.getsignal(number) for number in STOPPING}
    leave_signals_to_chief()
    try:
        multiprocessing.forkserver.ensure_running()
    finally:
        for number, handler in ours.items():
            signal.signal(number, handler)


def host_port(address: str) -> tuple[str, int]:
    """Takes an address, "host:port", apart."""
    host, _, port = address.rpartition(":")
    return host, int(port)


# Which processes answer


def probe(address: str, timeout: float = SILENT_SECONDS) -> str | None:
    """Says what is wrong at an address where one of TensorFlow's servers should listen.

    The servers greet whoever connects with the settings of their HTTP/2. The system takes
    connections for a process that is stopped, but no greeting comes then.

    Args:
      timeout: the seconds in which the greeting must come.

    Returns:
      `REFUSED` or other words; None if such a server answers.
    """
    try:
        with socket.create_connection(host_port(address), timeout=timeout) as connection:
            connection.settimeout(timeout)
            greeting = connection.recv(9)
    except TimeoutError:
        return "does not answer"
    except (OSError, UnicodeError):
        return REFUSED
    is_settings = len(greeting) == 9 and greeting[3] == 4  # the type of the first frame
    return None if is_settings else "is no server of TensorFlow's"


def find_missing(processes: Iterable[Process], timeout: float = SILENT_SECONDS) -> dict:
    """Asks all processes at once: process -> what `probe` says, where something is wrong."""
    processes = list(processes)
    with ThreadPoolExecutor(max(1, len(processes))) as pool:
        said = pool.map(lambda process: probe(process[2], timeout), processes)
        return {p: what for p, what in zip(processes, said, strict=True) if what}


def lost_message(processes: Iterable[Process]) -> str:
    """Says in a line which processes have failed and what to do."""
    return f"lost {describe(processes)}; the same command goes on from the last checkpoint"


def watch_chief(
    beats: multiprocessing.connection.Connection,
    chief: int,
    processes: Sequence[Process],
    members: Mapping[str, int],
) -> None:
    """Frees or ends a chief whose threads stand still while a process does not answer.

    If the chief has started that process, it is killed: then TensorFlow's call in the chief fails,
    and the chief itself says what has happened. Else the chief is killed.

    Args:
      beats: gets something from the chief in every `PROBE_SECONDS`, as long as its threads run.
      chief: its process id.
      members: name -> id of those that the chief has started.
    """
    leave_signals_to_chief()
    with contextlib.suppress(EOFError):  # the chief has ended
        while True:
            if beats.poll(SILENT_SECONDS):
                beats.recv()
                continue
            missing = find_missing(processes)
            starts = tuple(f"{role} {index} (" for role, index, _ in missing)
            silent = [pid for name, pid in members.items() if name.startswith(starts)]
            if missing and not silent:
                print(f"error: {lost_message(missing)}", file=sys.stderr, flush=True)
                silent = [chief]
            for pid in silent:
                with contextlib.suppress(ProcessLookupError):  # it has ended meanwhile
                    os.kill(pid, signal.SIGKILL)


def leave_signals_to_chief() -> None:
    """Lets this process ignore what asks a run to stop, which may be sent to all of its processes.

    The chief saves first, which needs the others, and ends them.
    """
    for number in STOPPING:
        signal.signal(number, signal.SIG_IGN)


def wait_for(
    processes: Sequence[Process],
    timeout: float,
    find_ended: Callable[[], Sequence[Process]] = list,
) -> None:
    """Waits until servers of all of the processes answer, for `timeout` seconds at most.

    Args:
      find_ended: finds processes that have ended, and are waited for no longer.

    Raises:
      ConnectionError: some do not in time, or have ended; the message names them.
    """
    deadline = time.monotonic() + timeout
    left = timeout
    while missing := find_missing(processes, max(left, 0.1)):
        if ended := find_ended():
            raise ConnectionError(f"{describe(ended)} ended before the cluster was complete")
        left = deadline - time.monotonic()
        if left <= 0:
            raise ConnectionError(
                f"{describe(missing)} did not come within {timeout:g} seconds "
                f"(--startup_timeout): {', '.join(sorted({*missing.values()}))}"
            )
        time.sleep(0.1)


def describe(processes: Iterable[Process]) -> str:
    """Names processes in words, by their roles, indices and addresses."""
    return ", ".join(f"{role} {index} ({address})" for role, index, address in processes)


def has_ended(address: str) -> bool:
    """Finds out whether a process has ended: it refuses connections for `GONE_SECONDS`.

    One that is stopped for a while has not.
    """
    deadline = time.monotonic() + GONE_SECONDS
    while not is_reachable(address):
        if time.monotonic() > deadline:
            return True
        time.sleep(PROBE_SECONDS)
    return False


def is_reachable(address: str) -> bool:
    """Tries whether a process takes connections."""
    try:
        with socket.create_connection(host_port(address), timeout=SILENT_SECONDS):
            return True
    except OSError:
        return False
