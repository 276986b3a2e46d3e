"""The machines of a run: where its towers, variables and inputs are, and how updates are made."""

import contextlib

import tensorflow as tf

from rrn.distribute.cluster import connect, reporting_failures, running
from rrn.distribute.devices import CPU, cpu_beside
from rrn.training.worker_updates import AsynchronousUpdates, FirstGradients, SynchronousUpdates


class OneMachine:
    """This process alone, with a tower on each of `devices`."""

    def __init__(self, devices):
        self.devices = self.evaluation_devices = devices
        self.servers, self.cpus, self.writer = [], None, None

    def ready(self):
        return contextlib.nullcontext()

    def update_maker(self, trainer, arrays, seed):
        """What makes the trainer's updates: a `SynchronousUpdates` or what has its methods."""
        return SynchronousUpdates(trainer)


class ClusterMachines:
    """The workers and parameter servers of a cluster; this process is its chief.

    sync: whether the workers' gradients make one update together, of all of them or of the first
    `replicas_to_aggregate` (0: all); otherwise each worker makes its own. Validation runs on the
    chief. Before `ready` the devices are of this process and stand in for the cluster's.

    Raises:
      ValueError: flags that do not fit each other or the cluster.
    """

    def __init__(self, cluster, sync, replicas_to_aggregate, startup_timeout):
        num_workers = len(cluster.addresses["worker"])
        if replicas_to_aggregate and not (sync and 0 < replicas_to_aggregate <= num_workers):
            raise ValueError(
                f"--replicas_to_aggregate={replicas_to_aggregate}: expected 1 to {num_workers}, "
                "the number of workers, and --sync"
            )
        self.servers = cluster.devices("ps")
        if not (sync or self.servers):
            raise ValueError("--nosync needs parameter servers: ps=N with N of at least 1")
        self.cluster, self.sync, self.num_workers = cluster, sync, num_workers
        self.num_gradients, self.startup_timeout = replicas_to_aggregate, startup_timeout
        self.devices, self.evaluation_devices = [CPU] * (num_workers if sync else 1), [CPU]
        self.cpus, self.writer, self._strategy = None, None, None

    @contextlib.contextmanager
    def ready(self):
        """Within it the cluster runs, and this process is connected to it."""
        min_workers = (self.num_gradients or self.num_workers) if self.sync else 0
        with running(self.cluster), reporting_failures(self.cluster, min_workers):
            self.use(connect(self.cluster, self.startup_timeout))
            yield

    def use(self, strategy):
        """Takes the devices of the cluster to which this process is connected."""
        self._strategy = strategy
        (self.writer,) = self.cluster.devices("chief")
        gpus = [d.name for d in tf.config.list_logical_devices("GPU") if "job:worker" in d.name]
        if self.sync:
            self.devices = gpus or self.cluster.devices("worker")
            self.cpus = [cpu_beside(device) for device in self.devices]
            if self.num_gradients > len(self.devices):
                raise ValueError(
                    f"--replicas_to_aggregate={self.num_gradients}: the workers have "
                    f"{len(self.devices)} GPUs, a tower each"
                )
        else:  # what each worker calls its own device
            self.devices = ["/device:GPU:0" if gpus else CPU]

    def update_maker(self, trainer, arrays, seed):
        """As `OneMachine.update_maker`."""
        if not self.sync:
            return AsynchronousUpdates(trainer, self._strategy, self.num_workers, arrays, seed)
        if self.num_gradients:
            return FirstGradients(trainer, self.num_gradients)
        return SynchronousUpdates(trainer)
