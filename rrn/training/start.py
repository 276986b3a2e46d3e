"""How a run starts: what can be known is checked first, and only then TensorFlow loads.

An error at the start comes within a second, and none that was there at the start comes after hours
of training.
"""

import contextlib
import importlib
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ml_collections import ConfigDict

from data_prep import check, hdf5
from rrn.distribute.cluster import Cluster
from rrn.tasks import check_schema
from rrn.training.fields import check_config
from rrn.training.unused import check_used
from rrn.training.workdir import Workdir
from rrn.weights_file import read_weights

MODES = "train", "evaluate", "variables", "export"
MOST_TOWERS = 256


def run(
    config: ConfigDict,
    name: str,
    mode: str,
    devices: str,
    workdir: str | Path,
    weights: str | Path | None = None,
    cluster: Cluster | None = None,
    sync: bool = True,
    replicas_to_aggregate: int = 0,
    startup_timeout: float = 60.0,
    model_fields: Mapping[str, Any] | None = None,
    restart: bool = False,
    jit: str = "auto",
) -> None:
    """Trains, evaluates, exports or shows the variables of one experiment.

    Args:
      config: the experiment's config.
      name: what the results call the config.
      mode: "train" (which evaluates in the end), "evaluate", "variables" or "export".
      devices: the flag --devices; see `parse_devices`. A cluster's devices are its workers', so
        that it must be "auto" there.
      workdir: the folder of the run. No two processes train in one folder at the same time.
      weights: a weights file to start from, or to evaluate or export in place of the run's. It is
        the file's model that is evaluated or exported, whatever the config's `model` is.
      cluster: the cluster in which this process has a role, if there is one.
      sync: whether the workers' or devices' gradients make one update together.
      replicas_to_aggregate: with `sync`, how many gradients make an update, the first that workers
        have for it; 0 for one of each worker.
      startup_timeout: the seconds in which a cluster's processes must have found each other.
      model_fields: fields of the config's `model` that hold for a file's model, too.
      restart: train from the start, and move what is in `workdir` to a new folder in it.
      jit: whether XLA compiles what runs on the towers: "on", "off", or "auto", which means on
        GPUs.

    Raises:
      ValueError: a config, flag or file does not fit. The message says which, and what would.
      ConnectionError: a process of the cluster did not come or has failed.
      FloatingPointError: a loss, a gradient or a weight is not finite.
    """
    workdir = Workdir(workdir)
    role = cluster.role if cluster else None
    check_config(config)
    check_used(config)
    if restart and mode != "train":
        raise ValueError(f"--restart begins a training anew; --mode={mode} does not train")
    _check_flags(mode, devices, cluster, sync, replicas_to_aggregate, startup_timeout)
    trains = mode == "train" and role in (None, "chief")
    if role not in ("worker", "ps"):
        _check_files(config, mode, workdir, weights)
    if trains and not restart:
        workdir.check_can_go_on()
    if (trains and not restart) or (mode == "evaluate" and weights is None):
        workdir.check({"config": name, **config.to_dict()})
    with workdir.locked() if trains else contextlib.nullcontext():
        if trains and restart and (folder := workdir.set_aside()):
            print(f"the run that was in {workdir.path} is now in {folder}")
        # These import TensorFlow.
        importlib.import_module("rrn.fast_start")
        from rrn.distribute import keep_freed_memory, serve
        from rrn.training.experiment import carry_out

        keep_freed_memory()
        if role in ("worker", "ps"):
            serve(cluster, startup_timeout)
        carry_out(
            config,
            name,
            mode,
            devices,
            workdir,
            weights,
            cluster,
            sync,
            replicas_to_aggregate,
            startup_timeout,
            model_fields or {},
            jit,
        )


def _check_flags(mode, devices, cluster, sync, replicas_to_aggregate, startup_timeout):
    if mode not in MODES:
        raise ValueError(f"--mode={mode}: expected one of {', '.join(MODES)}")
    if not 0 < startup_timeout <= 86_400:
        raise ValueError(f"--startup_timeout={startup_timeout}: expected above 0 to 86,400 seconds")
    num_towers = _check_devices(devices)
    if not cluster:
        if replicas_to_aggregate:
            raise ValueError("--replicas_to_aggregate is for clusters: --local_cluster, TF_CONFIG")
        if mode == "train" and not sync and num_towers == 1:
            raise ValueError(
                f"--nosync: --devices={devices} is one device, which waits for no other; expected "
                "several, as 0,1 or cpu:2, or a cluster"
            )
        return
    if mode in ("evaluate", "export"):
        raise ValueError(f"--mode={mode} runs on one machine: without --local_cluster, TF_CONFIG")
    if cluster.role == "chief" and devices != "auto":
        raise ValueError(f"--devices={devices}: a cluster's devices are its workers'")
    if replicas_to_aggregate and not (sync and 0 < replicas_to_aggregate <= MOST_TOWERS):
        raise ValueError(
            f"--replicas_to_aggregate={replicas_to_aggregate}: expected 1 to {MOST_TOWERS}, and "
            "--sync"
        )
    if not sync and not cluster.addresses.get("ps"):
        raise ValueError("--nosync needs parameter servers: ps=N with N of at least 1")


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


def _check_files(config, mode, workdir, weights):
    if weights is not None and mode != "variables":
        _check_there(weights, "a run writes weights files, and pretrained/ has some")
        read_weights(weights)
    elif mode in ("evaluate", "export"):
        read_weights(workdir / "weights.h5")
    if mode == "export":
        return
    if not (weights and mode == "evaluate"):  # with the weights comes what they need of their data
        _check_prepared(config.task, config.data.path)
    if mode != "variables":
        _check_prepared(config.task, config.evaluate.path or config.data.path)


def _check_prepared(task, path):
    _check_there(path, "`python -m data_prep` makes it")
    contents = hdf5.read(path)
    check_schema(task, path, contents.attributes)
    if contents.attributes["schema"] in check.SCHEMAS:  # not one of a user's own
        check.verify_contents(contents)


def _check_there(path, hint):
    if not os.path.exists(path):
        raise ValueError(f"{path}: no such file; {hint}")
    if not os.path.isfile(path):
        raise ValueError(f"{path}: not a file; {hint}")
