"""The machines of a run: where its towers, variables and inputs are, and how updates are made."""

import contextlib
from collections.abc import Iterator, Sequence

import tensorflow as tf

from rrn.compiling import compile_fast, keep_compiled
from rrn.distribute.cluster import Cluster, wait_for
from rrn.distribute.devices import CPU, cpu_beside, parse_devices
from rrn.distribute.processes import connect, reporting_failures, running
from rrn.order import keep_order
from rrn.tasks.task import Arrays
from rrn.training.request import Request, check_several
from rrn.training.trainer import Trainer
from rrn.training.worker_updates import (
    AsynchronousTowers,
    AsynchronousUpdates,
    FirstGradients,
    SynchronousUpdates,
    UpdateMaker,
)


def is_compiled(jit: str, devices: Sequence[str]) -> bool:
    """Decides whether towers are compiled: "on", "off", or "auto": if all devices are GPUs."""
    return jit == "on" or (jit == "auto" and all("GPU" in device for device in devices))


class OneMachine:
    """This process alone, with a tower on each of its devices.

    Args:
      sync: whether the towers make one update together; otherwise each makes its own.
      jit: whether towers are compiled: "on", "off", or "auto", which means on GPUs.

    Raises:
      ValueError: `sync` is False, and there is one device, which waits for no other.
    """

    def __init__(self, devices: Sequence[str], sync: bool = True, jit: str = "auto"):
        if not sync:
            check_several(devices[0], len(devices))
        self.devices = self.evaluation_devices = devices
        self.sync, self.jit = sync, jit
        self.servers, self.cpus, self.writer = [], None, None

    @property
    def compiled(self) -> bool:
        """Whether XLA compiles what runs on the towers."""
        return is_compiled(self.jit, self.devices)

    def stand_ins(self) -> dict[str, str]:
        """Says which devices stand in for others where updates are only shown: none do."""
        return {}

    def ready(self) -> contextlib.AbstractContextManager:
        """Makes a context in which the machines run; this one does anyway."""
        return contextlib.nullcontext()

    def update_maker(self, trainer: Trainer, arrays: Arrays, seed: int) -> UpdateMaker:
        """Creates what makes the trainer's updates, of a class in `rrn.training.worker_updates`."""
        if self.sync:
            return SynchronousUpdates(trainer)
        return AsynchronousTowers(trainer, arrays, seed)


class ClusterMachines:
    """The workers and parameter servers of a cluster; this process is its chief.

    Validation runs on the chief. Before `ready` the devices are of this process and stand in for
    the cluster's.

    Args:
      sync: whether the workers' gradients make one update together; otherwise each worker makes its
        own.
      replicas_to_aggregate: with `sync`, how many gradients make an update, the first to come; 0
        for one of each worker.
      startup_timeout: the seconds in which the cluster's processes must have found each other.
      jit: see `OneMachine`.
    """

    def __init__(
        self,
        cluster: Cluster,
        sync: bool,
        replicas_to_aggregate: int,
        startup_timeout: float,
        jit: str = "auto",
    ):
        num_workers = len(cluster.addresses["worker"])
        self.servers = cluster.devices("ps")
        self.cluster, self.sync, self.num_workers = cluster, sync, num_workers
        self.num_gradients, self.startup_timeout = replicas_to_aggregate, startup_timeout
        self.devices, self.evaluation_devices = [CPU] * (num_workers if sync else 1), [CPU]
        self.cpus, self.writer, self._strategy, self.jit = None, None, None, jit

    @property
    def compiled(self) -> bool:
        """Whether XLA compiles what runs on the towers; known when the cluster runs."""
        return is_compiled(self.jit, self.devices)

    def stand_ins(self) -> dict[str, str]:
        """Takes the cluster's devices by name, before there are any, to show an update.

        Without `sync` the one worker is the first. Returns for each device a logical CPU device of
        this process, on which its variables are created.
        """
        self.devices = self.cluster.devices("worker")[: None if self.sync else 1]
        devices = [*self.servers, *self.devices]
        _, *ours = parse_devices(f"cpu:{1 + len(devices)}")  # the first one is the chief's
        return dict(zip(devices, ours, strict=True))

    @contextlib.contextmanager
    def ready(self) -> Iterator[None]:
        """Within it the cluster runs, and this process is connected to it.

        Raises:
          ConnectionError: a process of the cluster did not come or has failed; the message names
            it.
        """
        needed = min(self.num_gradients or self.num_workers, self.num_workers)
        min_workers = needed if self.sync else 1
        return_seconds = None if self.sync else self.startup_timeout
        with running(self.cluster) as find_ended:
            members = self.cluster.processes("ps", "worker")
            wait_for(members, self.startup_timeout, find_ended)
            with reporting_failures(self.cluster, min_workers, return_seconds):
                self.use(connect(self.cluster, self.startup_timeout))
                yield

    def use(self, strategy: tf.distribute.ParameterServerStrategy | None) -> None:
        """Takes the devices of the cluster to which this process is connected."""
        self._strategy = strategy
        (self.writer,) = self.cluster.devices("chief")
        gpus = [d.name for d in tf.config.list_logical_devices("GPU") if "job:worker" in d.name]
        if self.sync:
            self.devices = gpus or self.cluster.devices("worker")
            self.cpus = [cpu_beside(device) for device in self.devices]
        else:  # what each worker calls its own device
            self.devices = ["/device:GPU:0" if gpus else CPU]

    def update_maker(self, trainer: Trainer, arrays: Arrays, seed: int) -> UpdateMaker:
        """Creates what makes the trainer's updates; see `OneMachine.update_maker`."""
        if not self.sync:
            return AsynchronousUpdates(trainer, self._strategy, self.num_workers, arrays, seed)
        if self.num_gradients:
            return FirstGradients(trainer, self.num_gradients)
        return SynchronousUpdates(trainer)


def make_machines(request: Request) -> OneMachine | ClusterMachines:
    """Finds the machines of a run, and sets TensorFlow up for them; a cluster's run within `ready`.

    Raises:
      ValueError: flags that do not fit each other, the devices or the cluster.
    """
    tf.random.set_seed(request.config.seed)
    if request.cluster and request.role == "chief":
        machines = ClusterMachines(
            request.cluster,
            request.sync,
            request.replicas_to_aggregate,
            request.startup_timeout,
            request.jit,
        )
    else:
        alone = request.trains and not request.cluster
        machines = OneMachine(
            parse_devices(request.devices), request.sync or not alone, request.jit
        )
        if machines.compiled and "GPU" in machines.devices[0]:
            compile_fast()
            keep_compiled(tf.config.list_physical_devices("GPU")[0])
    if all("CPU" in device for device in machines.devices):  # there it costs next to nothing
        keep_order()
    return machines
