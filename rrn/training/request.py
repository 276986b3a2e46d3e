"""What a run was asked for: one value, made by main.py, checked once, and read by the programs."""

import dataclasses
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rrn.config import Experiment
from rrn.distribute.cluster import Cluster

MODES = "train", "evaluate", "variables", "export"
MOST_TOWERS = 256
MOST_PROFILED = 1_000  # updates: a profile of many is too large to be looked at


@dataclasses.dataclass(frozen=True)
class Request:
    """What a run was asked for.

    Attributes:
      config: the experiment's config.
      name: what the results call the config.
      workdir: the folder of the run. No two processes train in one folder at the same time.
      mode: "train" (which evaluates in the end), "evaluate", "variables" or "export".
      devices: the flag --devices; see `parse_devices`. A cluster's devices are its workers', so
        that it must be "auto" there.
      weights: a weights file to start from, or to evaluate or export in place of the run's. It is
        the file's model that is evaluated or exported, whatever the config's `model` is.
      model_fields: fields of the config's `model` that hold for a file's model, too.
      cluster: the cluster in which this process has a role, if there is one.
      sync: whether the workers' or devices' gradients make one update together.
      replicas_to_aggregate: with `sync`, how many gradients make an update, the first that workers
        have for it; 0 for one of each worker.
      startup_timeout: the seconds in which a cluster's processes must have found each other.
      restart: train from the start, and move what is in `workdir` to a new folder in it.
      jit: whether XLA compiles what runs on the towers: "on", "off", or "auto", which means on
        GPUs.
      profile: how many updates TensorBoard's profiler records; 0 for none.
    """

    config: Experiment
    name: str
    workdir: str | Path
    mode: str = "train"
    devices: str = "auto"
    weights: str | Path | None = None
    model_fields: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    cluster: Cluster | None = None
    sync: bool = True
    replicas_to_aggregate: int = 0
    startup_timeout: float = 60.0
    restart: bool = False
    jit: str = "auto"
    profile: int = 0

    @property
    def role(self) -> str | None:
        """This process's role in the cluster; None without one."""
        return self.cluster.role if self.cluster else None

    @property
    def serves(self) -> bool:
        """Whether this process only does what the cluster's chief says."""
        return self.role in ("worker", "ps")

    @property
    def trains(self) -> bool:
        """Whether this process trains in the run's folder."""
        return self.mode == "train" and self.role in (None, "chief")

    @property
    def fields(self) -> dict[str, Any]:
        """What config.json has: every field of the config, and "config", its name."""
        return {"config": self.name, **self.config.to_dict()}

    def check(self) -> None:
        """Checks all that can be known without a look at files and devices.

        Raises:
          ValueError: a flag does not fit. The message says which, and what would.
        """
        if self.mode not in MODES:
            raise ValueError(f"--mode={self.mode}: expected one of {', '.join(MODES)}")
        if self.restart and self.mode != "train":
            raise ValueError(f"--restart begins a training anew; --mode={self.mode} does not train")
        if not 0 < self.startup_timeout <= 86_400:
            raise ValueError(
                f"--startup_timeout={self.startup_timeout}: expected above 0 to 86,400 seconds"
            )
        if not 0 <= self.profile <= MOST_PROFILED:
            raise ValueError(
                f"--profile={self.profile}: expected 0 to {MOST_PROFILED:,} updates; 0 is none"
            )
        if self.profile and (self.mode != "train" or self.cluster):
            what = "a cluster" if self.cluster else f"--mode={self.mode}"
            raise ValueError(
                f"--profile={self.profile} records updates of a training on one machine; "
                f"{what} has none"
            )
        num_towers = _check_devices(self.devices)
        if self.cluster:
            self._check_with(self.cluster)
        else:
            self._check_alone(num_towers)

    def _check_alone(self, num_towers):
        if self.replicas_to_aggregate:
            raise ValueError("--replicas_to_aggregate is for clusters: --local_cluster, TF_CONFIG")
        if self.mode == "train" and not self.sync and num_towers:
            check_several(f"--devices={self.devices}", num_towers)

    def _check_with(self, cluster):
        if self.mode in ("evaluate", "export"):
            raise ValueError(
                f"--mode={self.mode} runs on one machine: without --local_cluster, TF_CONFIG"
            )
        if self.role == "chief" and self.devices != "auto":
            raise ValueError(f"--devices={self.devices}: a cluster's devices are its workers'")
        if (number := self.replicas_to_aggregate) and not (self.sync and 0 < number <= MOST_TOWERS):
            raise ValueError(
                f"--replicas_to_aggregate={number}: expected 1 to {MOST_TOWERS}, and --sync"
            )
        if not self.sync and not cluster.addresses.get("ps"):
            raise ValueError("--nosync needs parameter servers: ps=N with N of at least 1")


def check_several(devices: str, count: int) -> None:
    """Refuses updates of which none waits for another where there is one device.

    Args:
      devices: what the devices are called.
      count: how many there are.

    Raises:
      ValueError: there is one.
    """
    if count == 1:
        raise ValueError(
            f"--nosync: {devices} is one device, which waits for no other; expected several, as "
            "--devices=0,1 or cpu:2, or a cluster"
        )


def _check_devices(flag):
    """Returns the number of towers; None where only TensorFlow knows it."""
    match = re.fullmatch(r"auto|[cg]pu(?::([1-9][0-9]{0,9}))?|[0-9]{1,9}(?:,[0-9]{1,9})*", flag)
    if not match:
        raise ValueError(
            f"--devices={flag}: expected auto, cpu, cpu:N, gpu, gpu:N or GPU numbers such as 0,1"
        )
    numbers = flag.split(",")
    if len({number.lstrip("0") for number in numbers}) < len(numbers):
        raise ValueError(f"--devices={flag}: a device is named twice")
    count = int(match[1] or len(numbers))
    if count > MOST_TOWERS:
        raise ValueError(f"--devices={flag}: expected at most {MOST_TOWERS} towers, got {count}")
    return None if flag == "auto" else count
