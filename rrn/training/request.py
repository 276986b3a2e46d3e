"""What a run was asked for: one value, made by `rrn/__main__.py` and read by the programs."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rrn.config import Experiment
from rrn.distribute.cluster import Cluster

MODES = "train", "evaluate", "variables", "export"


@dataclasses.dataclass(frozen=True)
class Request:
    """What a run was asked for.

    Attributes:
      config: the experiment's config.
      name: what the results call the config.
      workdir: the folder of the run.
      mode: one of `MODES`; "train" evaluates in the end.
      devices: see `parse_devices`; "auto" in a cluster.
      weights: a weights file to start from, or to evaluate or export instead of the run's. Then it
        is the file's model that is evaluated or exported, whatever the config's `model` is.
      model_fields: fields of the config's `model` that hold for a file's model, too.
      cluster: the cluster in which this process has a role, if there is one.

    The others are flags of `rrn/__main__.py`.
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
    def fields(self) -> dict[str, Any]:
        """Every field of the config, and "config", its name; not how given weights were trained."""
        fields = {"config": self.name, **self.config.to_dict()}
        if self.weights and self.mode == "evaluate":
            del fields["train"], fields["data"]
        return fields

    def check(self) -> None:
        """Checks what flags say together.

        Raises:
          ValueError: they do not fit. The message says which, and what would.
        """
        number, cluster = self.replicas_to_aggregate, self.cluster
        if number and not (self.sync and cluster):
            raise ValueError(
                f"--replicas_to_aggregate={number}: expected a cluster (--local_cluster, TF_CONFIG)"
                " with --sync"
            )
        for flag in "restart", "profile":
            if getattr(self, flag) and self.mode != "train":
                raise ValueError(f"--{flag}: for training, and the mode is {self.mode}")
        if cluster and self.mode in ("evaluate", "export"):
            raise ValueError(
                f"--mode={self.mode} runs on one machine: without --local_cluster, TF_CONFIG"
            )
        if cluster and self.role == "chief" and self.devices != "auto":
            raise ValueError(f"--devices={self.devices}: a cluster's devices are its workers'")
        if cluster and (number or not self.sync) and not cluster.addresses.get("ps"):
            flag = "--replicas_to_aggregate" if number else "--nosync"
            raise ValueError(f"{flag} needs parameter servers: ps=N with N of at least 1")
