"""A chief with two workers and two servers, in a process of its own: `LineTask` in every way.

Prints one JSON object a line; `test_cluster.py` says what must be in them.
"""

import json
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

from rrn.distribute.cluster import find_cluster
from rrn.distribute.processes import connect, running
from rrn.distribute.variables import plan_placement, short_device
from rrn.tasks.inputs import training_inputs
from rrn.training.checkpoints import Checkpoints
from rrn.training.machines import ClusterMachines, OneMachine
from rrn.training.step import Trainer
from rrn.variables.reading import shards
from tests.helpers import LineTask, line_config

FIELDS = {"clip_norm": 0.5, "l2": 0.01, "ema_decay": 0.9, "num_updates": 1000}


def make(machines, policy, folder):
    """(trainer, what makes its updates, its checkpoints) on some machines."""
    tf.random.set_seed(0)
    axis = "1" if policy == "fixed_shards" else "longest"  # the others' shards are rows
    placement = plan_placement(LineTask, policy, machines.devices, machines.servers, axis)
    with placement.scope():
        task = LineTask()
    args = task, task.arrays, 6, len(machines.devices), 0
    inputs = training_inputs(*args, Checkpoints(folder, 1, 1).latest_update(), cpus=machines.cpus)
    specs = [dataset.element_spec for dataset in inputs]
    trainer = Trainer(task, line_config(**FIELDS), machines.devices, specs)
    checkpoints = Checkpoints(folder, 1000, 1000, machines.writer)
    checkpoints.track(trainer)
    update_maker = machines.update_maker(trainer, task.arrays, 0)
    update_maker.use(inputs, {})
    return trainer, update_maker, checkpoints


def report(name, trainer, **others):
    optimizer = trainer.optimizers[0]
    groups = trainer.model_variables, trainer.averages.averages, optimizer.m, optimizer.v
    values = np.concatenate([np.ravel(tf.convert_to_tensor(v)) for group in groups for v in group])
    places = [[short_device(shard.device) for shard in shards(group)] for group in groups]
    update = int(trainer.update)
    task = trainer.task
    batch = {**task.arrays, "noise": tf.zeros([])}
    loss = float(tf.reduce_mean(task.loss(task.encode(batch), batch, None, False)[0]["loss"]))
    line = {"name": name, "values": values.tolist(), "places": places, "update": update}
    line["whole_loss"] = loss  # of all examples, whoever's gradients were taken
    print(json.dumps({**line, **others}), flush=True)


def metrics(result):
    means, bad_update = result
    return {name: np.asarray(v).tolist() for name, v in means.items()} | {"bad": int(bad_update)}


def main(folder):
    cluster = find_cluster("ps=2,worker=2")
    with running(cluster, 120):
        strategy = connect(cluster)
        machines = {
            "one": OneMachine(["/device:CPU:0"]),
            "sync": ClusterMachines(cluster, True, 0, 0),
            "first_2": ClusterMachines(cluster, True, 2, 0),
            "first_1": ClusterMachines(cluster, True, 1, 0),
            "async": ClusterMachines(cluster, False, 0, 0),
        }
        for name, m in machines.items():
            if name != "one":
                m.use(strategy)
        for name, policy in (
            ("one", "cpu"),
            ("sync", "fixed_shards"),
            ("first_2", "balanced"),
        ):
            here = folder / f"{name}_{policy}"
            trainer, update_maker, checkpoints = make(machines[name], policy, here)
            result = metrics(update_maker.train(5))
            report(f"{name} {policy}", trainer, metrics=result)
            checkpoints.save()
            if policy == "fixed_shards":
                update_maker.train(2)
                report("undisturbed", trainer)
        # The cluster's state is restored here, this process's there, and the cluster's there.
        for what, name, policy, here in (
            ("one", "one", "cpu", "sync_fixed_shards"),
            ("sync", "sync", "balanced", "one_cpu"),
            ("same", "sync", "fixed_shards", "sync_fixed_shards"),
        ):
            trainer, update_maker, _ = make(machines[name], policy, folder / here)
            report(f"{what} restored", trainer)
            update_maker.train(2)
            report(f"{what} went on", trainer)
        for name in ("first_1", "async"):
            trainer, update_maker, _ = make(machines[name], "fixed_shards", folder / name)
            report(f"{name} 0", trainer)
            for count in (20, 40):
                report(f"{name} {count}", trainer, metrics=metrics(update_maker.train(20)))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
