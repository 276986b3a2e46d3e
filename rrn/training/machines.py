"""The machines of a run: where its towers, variables and inputs are, and how updates are made."""

import contextlib
from collections.abc import Iterator, Sequence

import tensorflow as tf

from rrn.compiling import compile_fast, keep_compiled
from rrn.distribute.cluster import Cluster
from rrn.distribute.devices import CPU, cpu_beside, parse_devices
from rrn.distribute.processes import connect, running
from rrn.tasks.task import Arrays
from rrn.training.request import Request
from rrn.training.step import Trainer
from rrn.training.worker_updates import (
    AsynchronousUpdates,
    FirstGradients,
    SynchronousUpdates,
    UpdateMaker,
)
from rrn.variables.order import keep_order


class OneMachine:
    """This process alone, with a tower on each of its devices.

    Args:
      sync: whether the towers make one update together; otherwise each makes its own.
      jit: whether XLA compiles what runs on the towers: "on", "off", or "auto": if all are GPUs.
    """

    def __init__(self, devices: Sequence[str], sync: bool = True, jit: str = "auto"):
        if not sync and len(devices) == 1:
            raise ValueError(
                f"--nosync: {devices[0]} is one device, which waits for no other; expected several,"
                " as --devices=0,1 or cpu:2, or a cluster"
            )
        self.devices = self.evaluation_devices = devices
        self.sync, self.jit = sync, jit
        self.servers, self.cpus, self.writer = [], None, None

    def compiles(self, devices: Sequence[str]) -> bool:
        """Whether XLA compiles what runs on towers on these devices."""
        on_gpus = all("GPU" in device for device in devices)
        return self.jit == "on" or (self.jit == "auto" and on_gpus)

    def ready(self) -> contextlib.AbstractContextManager:
        """Makes a context in which the machines run."""
        return contextlib.nullcontext()

    def update_maker(self, trainer: Trainer, arrays: Arrays, seed: int) -> UpdateMaker:
        """Creates what makes the trainer's updates."""
        if self.sync:
            return SynchronousUpdates(trainer)
        return AsynchronousUpdates(trainer, arrays, seed)


class ClusterMachines(OneMachine):
    """The workers and parameter servers of a cluster; this process is its chief, which validates.

    The workers' devices are known when the cluster is `ready`.
    """

    def __init__(
        self, cluster: Cluster, sync: bool, num_gradients: int, timeout: float, jit: str = "auto"
    ):
        super().__init__(cluster.devices("worker"), jit=jit)
        self.cluster, self.sync, self.startup_timeout = cluster, sync, timeout
        self.servers, self.evaluation_devices = cluster.devices("ps"), [CPU]
        self.num_workers, self.num_gradients = len(self.devices), num_gradients
        self._strategy = None

    @contextlib.contextmanager
    def ready(self) -> Iterator[None]:
        """Within it the cluster runs, and this process is connected to it; see `running`."""
        needed = min(self.num_gradients or self.num_workers, self.num_workers)
        with running(self.cluster, self.startup_timeout, needed if self.sync else 1):
            self.use(connect(self.cluster))
            yield

    def use(self, strategy: tf.distribute.ParameterServerStrategy | None) -> None:
        """Takes the devices of the cluster to which this process is connected."""
        self._strategy = strategy
        (self.writer,) = self.cluster.devices("chief")
        gpus = [d.name for d in tf.config.list_logical_devices("GPU") if "job:worker" in d.name]
        if self.sync:
            self.devices = gpus or self.devices
            self.cpus = [cpu_beside(device) for device in self.devices]
        else:  # what each worker calls its own device
            self.devices = ["/device:GPU:0" if gpus else CPU]

    def update_maker(self, trainer: Trainer, arrays: Arrays, seed: int) -> UpdateMaker:
        if not self.sync:
            return AsynchronousUpdates(trainer, arrays, seed, self.num_workers, self._strategy)
        if self.num_gradients:
            return FirstGradients(trainer, self.num_gradients)
        return SynchronousUpdates(trainer)


def make_machines(request: Request) -> OneMachine:
    """Finds the machines of a run, and sets TensorFlow up for them; a cluster's run within `ready`.

    Raises:
      ValueError: flags that do not fit each other, the devices or the cluster.
    """
    tf.random.set_seed(request.config.seed)
    if request.cluster:
        flags = request.sync, request.replicas_to_aggregate, request.startup_timeout, request.jit
        machines = ClusterMachines(request.cluster, *flags)
    else:
        sync = request.sync or request.mode != "train"
        machines = OneMachine(parse_devices(request.devices), sync, request.jit)
        if machines.compiles(machines.devices) and "GPU" in machines.devices[0]:
            compile_fast()
            keep_compiled(tf.config.list_physical_devices("GPU")[0])
    if all("CPU" in device for device in machines.devices):  # there it costs next to nothing
        keep_order()
    return machines
