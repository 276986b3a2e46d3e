"""One experiment from config to results: train, evaluate, or list the variables."""

import contextlib
import dataclasses
import functools
import time
from pathlib import Path

import tensorflow as tf
from ml_collections import ConfigDict

from rrn.data import read_prepared, training_inputs
from rrn.distribute.cluster import PROBE_SECONDS, Cluster, has_ended, serve, wait_for
from rrn.distribute.devices import CPU, parse_devices
from rrn.distribute.variables import (
    format_policies,
    format_variables,
    list_variables,
    plan_placement,
)
from rrn.reading import module_variables
from rrn.tasks import create_task
from rrn.training.checkpoints import Checkpoints, restore_variables
from rrn.training.curves import draw_curves
from rrn.training.evaluation import Evaluator
from rrn.training.fields import check_config
from rrn.training.machines import ClusterMachines, OneMachine
from rrn.training.progress import Progress, StopRequest
from rrn.training.stages import stage_names
from rrn.training.trainer import Trainer
from rrn.training.unused import check_used
from rrn.training.workdir import Workdir
from rrn.weights import load_weights, model_variables, save_weights


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
) -> None:
    """Trains, evaluates or shows the variables of one experiment.

    Args:
      config: the experiment's config.
      name: what the results call the config.
      mode: "train" (which evaluates in the end), "evaluate" or "variables".
      devices: the flag --devices; see `parse_devices`. A cluster's devices are its workers', so
        that it must be "auto" there.
      workdir: the folder of the run.
      weights: a weights file to start from, or to evaluate in place of the run's.
      cluster: the cluster in which this process has a role, if there is one.
      sync: in a cluster, whether the workers' gradients make one update together.
      replicas_to_aggregate: with `sync`, how many workers' gradients make an update, the first to
        come; 0 for all.
      startup_timeout: the seconds in which a cluster's processes must have found each other.

    Raises:
      ValueError: a config, flag or file does not fit. The message says which, and what would.
      ConnectionError: a process of the cluster did not come or has failed.
      FloatingPointError: a loss or its gradient is not finite.
    """
    if cluster and cluster.role in ("worker", "ps"):
        return serve(cluster, startup_timeout)
    if not cluster and (not sync or replicas_to_aggregate):
        raise ValueError(
            "--nosync and --replicas_to_aggregate are for clusters: --local_cluster or TF_CONFIG"
        )
    if cluster and mode == "evaluate":
        raise ValueError("--mode evaluate runs on one machine: without --local_cluster, TF_CONFIG")
    tf.random.set_seed(config.seed)
    if cluster and cluster.role == "chief":
        if devices != "auto":
            raise ValueError(f"--devices={devices}: a cluster's devices are its workers'")
        machines = ClusterMachines(cluster, sync, replicas_to_aggregate, startup_timeout)
    else:
        if cluster:  # the evaluator, alone with what the chief has written
            config = config.copy_and_resolve_references()
            config.variables.policy = "cpu"
        machines = OneMachine(parse_devices(devices))
    if all("CPU" in device for device in machines.devices):  # there it costs nothing
        tf.config.experimental.enable_op_determinism()
    if mode == "variables":
        return Experiment(config, name, machines, Workdir(workdir), stand_in=CPU).show_variables()
    with machines.ready():
        experiment = Experiment(config, name, machines, Workdir(workdir))
        if cluster and cluster.role == "evaluator":
            experiment.follow(cluster, startup_timeout)
        elif mode == "evaluate":
            experiment.evaluate(weights)
        else:
            experiment.train(weights)


class Experiment:
    """A task with its variables in their places, and the folder of its run."""

    def __init__(self, config, name, machines, workdir, stand_in=None):
        """machines: a `OneMachine` or `ClusterMachines`; stand_in: create all variables on this
        device, and only say where they would be.
        """
        check_config(config)
        check_used(config)
        self.config, self.name, self.machines, self.workdir = config, name, machines, workdir
        self.data = read_prepared(config.data.path)
        create = functools.partial(create_task, config, self.data)
        self.placement = plan_placement(
            create, config.variables.policy, machines.devices, machines.servers
        )
        with self.placement.scope(stand_in):
            self.task = create()
        self.variables = model_variables(self.task)
        self.stages = stage_names(config.train)

    def train(self, weights=None):
        """Trains from the last checkpoint, `weights` or the start; evaluates the best weights."""
        config, workdir = self.config.train, self.workdir
        checkpoints = Checkpoints(
            workdir / "checkpoints",
            config.checkpoint_every_updates,
            config.checkpoint_every_seconds,
            self.machines.writer,
        )
        num_done = checkpoints.latest_update()
        # Before the trainer is made: averaged weights begin with what it finds.
        if weights and num_done:
            print(f"{workdir.path} goes on from update {num_done}, without {weights}")
        elif weights:
            modules = self.task.training_only()
            optional = [v for module in modules for v in module_variables(module)]
            if lacking := load_weights(weights, self.variables, optional):
                print(f"{weights} lacks {', '.join(lacking)}: begun anew")
        arrays = self.data.arrays("train")
        inputs = self._inputs(arrays, num_done)
        trainer = self._trainer(arrays, inputs)
        self._evaluation_data()
        # Only a config that can be trained and evaluated claims the folder.
        workdir.create({"config": self.name, **self.config.to_dict()})
        checkpoints.track(trainer)
        workdir.keep_metrics_until(num_done)
        self._write_variables(trainer)
        update_maker = self.machines.update_maker(trainer, arrays, self.config.seed)
        with StopRequest() as stop:
            self._train_until_done(trainer, update_maker, arrays, inputs, checkpoints, stop)
        if stop.requested:
            print(f"Stopped at update {trainer.update.numpy()}; the same command resumes there.")
            return
        self.evaluate()

    def _trainer(self, arrays, inputs):
        specs = [dataset.element_spec for dataset in inputs]
        return Trainer(self.task, self.config.train, self.machines.devices, specs, arrays)

    def _inputs(self, arrays, num_done=0, shares=None):
        """Each device's data set, for what follows the first `num_done` updates."""
        return training_inputs(
            self.task,
            arrays,
            self.config.train.batch_size,
            len(self.machines.devices),
            self.config.seed,
            num_done,
            cpus=self.machines.cpus,
            shares=shares,
        )

    def _train_until_done(self, trainer, update_maker, arrays, inputs, checkpoints, stop):
        config, plan = self.config.train, trainer.plan
        evaluator = self._evaluator(self.data, "valid", config.validation_examples)
        progress = Progress(self.workdir, plan.num_updates, config.batch_size)
        num_done = int(trainer.update)
        shares = None
        update_maker.use(inputs, shares)
        progress.start(num_done)
        while num_done < plan.num_updates and not stop.requested:
            if shares != trainer.shares():
                shares = trainer.shares()
                update_maker.use(self._inputs(arrays, num_done, shares), shares)
            stage = plan.stage(num_done).name if self.stages else None
            until_pauses = [plan.updates_left(num_done)] + [
                every - num_done % every
                for every in (
                    config.log_every_updates,
                    config.evaluate_every_updates,
                    config.checkpoint_every_updates,
                )
            ]
            means, not_finite = update_maker.train(min(until_pauses))
            if not_finite >= 0:
                raise FloatingPointError(
                    f"update {int(not_finite)}: the loss or its gradient is not finite; "
                    f"the last good checkpoint is {checkpoints.latest or 'none'}"
                )
            num_done = int(trainer.update)
            progress.training(num_done, means, stage)
            if num_done % config.evaluate_every_updates == 0 or plan.finished(num_done):
                self._validate(trainer, evaluator, checkpoints, progress)
            if checkpoints.due():
                checkpoints.save()
            progress.start(num_done)
        checkpoints.save()

    def _validate(self, trainer, evaluator, checkpoints, progress):
        """Evaluates on the validation split and keeps the weights with the lowest error on it,
        of equals the last.

        In stages, where another loss may raise it, the last weights and each stage's are kept.
        """
        averaged = trainer.averages.in_place() if trainer.averages else contextlib.nullcontext()
        with averaged:
            results, loss = evaluator.results()
            num_done = int(trainer.update)
            progress.validation(num_done, loss, results.metrics)
            if trainer.sampler:
                trainer.sampler.note(results)
                progress.shares(num_done, trainer.shares())
            error = results.error
            best = self.stages or error <= checkpoints.best_error.numpy()
            attributes = {"config": self.name, "update": num_done, "validation_error": error}
            if best:
                save_weights(self.workdir / "weights.h5", self.variables, attributes)
            if self.stages and (stage := trainer.plan.finished(num_done)):
                save_weights(self._stage_weights(stage.name), self.variables, attributes)
        if best:
            checkpoints.save_best(error)

    def _evaluation_data(self):
        """The data that `config.evaluate` names; raises ValueError where its split is not there."""
        data = self.data.read_compatible(self.config.evaluate.path)
        data.check_split(self.config.evaluate.split)
        return data

    def _evaluator(self, data, split, num_examples):
        config, arrays = self.config, data.arrays(split)
        if not self.task.num_examples(arrays):
            raise ValueError(f"{data.path}: its {split} split has no examples")
        return Evaluator(
            self.task,
            config.evaluate,
            self.machines.evaluation_devices,
            arrays,
            config.seed,
            num_examples,
        )

    def _stage_weights(self, stage):
        return self.workdir / f"weights_{stage}.h5"

    def evaluate(self, weights=None):
        """Evaluates `weights`, or the run's best and its stages', as `config.evaluate` says."""
        config, workdir = self.config.evaluate, self.workdir
        data, split = self._evaluation_data(), config.split
        evaluator = self._evaluator(data, split, config.examples)
        by_stage = {} if weights or not config.by_stage else self._results_by_stage(evaluator)
        if self.stages and self.stages[-1] in by_stage:  # the run ended with its weights
            results = by_stage[self.stages[-1]]
        else:
            load_weights(weights or workdir / "weights.h5", self.variables)
            results, _ = evaluator.results()
        results = dataclasses.replace(results, by_stage=by_stage)
        by_stage = {stage: ended.metrics for stage, ended in by_stage.items()}
        workdir.path.mkdir(parents=True, exist_ok=True)
        workdir.write_json(
            "results.json",
            {
                "config": self.name,
                "data": data.path,
                "split": split,
                "examples": len(evaluator.examples),
                "metrics": results.metrics,
                "by_step": results.by_step,
                **({"by_stage": by_stage} if by_stage else {}),
                "notes": data.attributes["notes"],
            },
        )
        print(self.task.table(results))
        print(f"{self.name}, {split} split of {data.path}, {len(evaluator.examples)} examples")
        if notes := data.attributes["notes"]:
            print(notes)
        figures = self.task.figures(results)
        if not weights:
            figures = {**figures, **self._curves()}
        for path in workdir.save_figures(figures):
            print(f"figure: {path}")

    def _curves(self):
        """`training` and `validation`, where there is a line of either."""
        lines = {"training": [], "validation": []}
        for line in self.workdir.metrics():
            lines["validation" if "split" in line else "training"].append(line)
        return {name: draw_curves(some) for name, some in lines.items() if some}

    def follow(self, cluster, startup_timeout):
        """Evaluates each new checkpoint on the validation split until the cluster's chief ends."""
        config = self.config.train
        evaluator = self._evaluator(self.data, "valid", config.validation_examples)
        ((_, _, chief),) = chiefs = cluster.processes("chief")
        wait_for(chiefs, startup_timeout)
        seen, ended = None, False
        while not ended:
            ended = has_ended(chief)  # before the look: the last checkpoint is not missed
            path = tf.train.latest_checkpoint(str(self.workdir / "checkpoints" / "last"))
            if path in (None, seen):
                time.sleep(PROBE_SECONDS)
                continue
            try:
                restore_variables(path, self.variables, bool(config.average_decay))
            except tf.errors.NotFoundError:  # the chief has replaced it since
                continue
            seen, num_done = path, int(path.rsplit("-", 1)[1])
            results, loss = evaluator.results()
            line = {"update": num_done, "split": "valid", "mean_loss": loss, **results.metrics}
            self.workdir.append("validation.jsonl", line)
            print(f"update {num_done}  validation: mean_loss {loss:.4f}", flush=True)

    def _results_by_stage(self, evaluator):
        """Stage's name -> the task's results with the weights at its end, if it has ended."""
        results = {}
        for stage in self.stages:
            if (path := self._stage_weights(stage)).exists():
                load_weights(path, self.variables)
                results[stage], _ = evaluator.results()
        return results

    def show_variables(self):
        """Traces the updates and prints who reads and trains which variable, and where it lives."""
        arrays = self.data.arrays("train")
        trainer = self._trainer(arrays, self._inputs(arrays))
        self.workdir.path.mkdir(parents=True, exist_ok=True)
        print(format_variables(self._write_variables(trainer)))
        if servers := self.machines.servers:
            print(format_policies(self.placement.variables, servers))

    def _write_variables(self, trainer):
        trained = {stage.name: stage.trained() for stage in trainer.plan.stages}
        places = self.placement.places
        rows = list_variables(self.variables, trainer.tower_reads, trained, places)
        self.workdir.write_json("variables.json", rows)
        return rows
