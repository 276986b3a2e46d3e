"""One experiment from config to results: train, evaluate, or list the variables."""

import contextlib
import dataclasses
import functools
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from ml_collections import ConfigDict

from rrn.compiling import compile_fast, keep_compiled, refusals
from rrn.data import PreparedData, read_prepared, training_inputs
from rrn.distribute.cluster import PROBE_SECONDS, Cluster, has_ended, wait_for
from rrn.distribute.devices import parse_devices
from rrn.distribute.showing import (
    format_activations,
    graph_with_variables,
    list_activations,
    write_graph,
)
from rrn.distribute.variables import (
    format_policies,
    format_variables,
    list_variables,
    plan_placement,
    short_device,
)
from rrn.export import export
from rrn.models import describe, naming, saved_data, saved_fields, saved_task
from rrn.tasks import create_task
from rrn.training.checkpoints import Checkpoints, restore_variables
from rrn.training.curves import draw_curves
from rrn.training.evaluation import Evaluator
from rrn.training.machines import ClusterMachines, OneMachine
from rrn.training.page import make_page
from rrn.training.progress import Progress, StopRequest
from rrn.training.stages import stage_names
from rrn.training.trainer import Trainer
from rrn.training.workdir import Workdir, flatten
from rrn.weights import assign_weights, load_weights, model_variables, save_weights
from rrn.weights_file import read_weights


def carry_out(
    config: ConfigDict,
    name: str,
    mode: str,
    devices: str,
    workdir: Workdir,
    weights: str | Path | None,
    cluster: Cluster | None,
    sync: bool,
    replicas_to_aggregate: int,
    startup_timeout: float,
    model_fields: Mapping[str, Any],
    jit: str,
) -> None:
    """Does what `rrn.training.run` is asked to do, after it has checked what it could.

    Args:
      config, name, mode, devices, weights, cluster, sync, replicas_to_aggregate, startup_timeout,
        model_fields, jit: as of `rrn.training.run`.
      workdir: the folder of the run, locked if this process trains.

    Raises:
      ValueError: a config, flag or file does not fit.
      ConnectionError: a process of the cluster did not come or has failed.
      FloatingPointError: a loss, a gradient or a weight is not finite.
    """
    if mode == "export":
        args = weights or workdir / "weights.h5", workdir.path, jit == "on", model_fields
        return _export(*args)
    tf.random.set_seed(config.seed)
    if cluster and cluster.role == "chief":
        args = cluster, sync, replicas_to_aggregate, startup_timeout, jit
        machines = ClusterMachines(*args)
    else:
        if cluster:  # the evaluator, alone with what the chief has written
            config = config.copy_and_resolve_references()
            config.variables.policy, config.variables.axis = "cpu", "longest"
        alone = mode == "train" and not cluster
        machines = OneMachine(parse_devices(devices), sync or not alone, jit)
        if machines.compiled and "GPU" in machines.devices[0]:
            compile_fast()
            keep_compiled(tf.config.list_physical_devices("GPU")[0])
    if all("CPU" in device for device in machines.devices):  # there it costs nothing
        tf.config.experimental.enable_op_determinism()
    if mode == "variables":
        stand_ins = machines.stand_ins()
        return Experiment(config, name, machines, workdir, stand_ins).show_variables()
    with machines.ready():
        if weights and mode == "evaluate":
            read = read_weights(weights)
            with naming(weights):
                config, data = _saved(config, read, model_fields)
                name = read.attributes.get("config", name)
                experiment = Experiment(config, name, machines, workdir, data=data)
            return experiment.evaluate(weights)
        experiment = Experiment(config, name, machines, workdir)
        if cluster and cluster.role == "evaluator":
            experiment.follow(cluster, startup_timeout)
        elif mode == "evaluate":
            experiment.evaluate()
        else:
            experiment.train(weights)


def _export(weights, workdir, compiled, model_fields):
    folder = workdir / "saved_model"
    workdir.mkdir(parents=True, exist_ok=True)
    print(f"{folder}\n{export(weights, folder, compiled, **model_fields)}")


def _saved(config, weights, model_fields):
    """(the config with the model of a weights file, what the file holds of its data).

    Without either, and with None for the data, if the file has weights alone.
    """
    if "task" not in weights.attributes:
        return config, None
    if (task := saved_task(weights)) != config.task:
        raise ValueError(
            f"{weights.path}: its task is {task}, the config's {config.task}; "
            f"--config names one of the file's task"
        )
    config = config.copy_and_resolve_references()
    config.model = ConfigDict(saved_fields(weights, model_fields))
    config.evaluate.path = config.evaluate.path or config.data.path
    return config, saved_data(weights)


class Experiment:
    """A task with its variables in their places, and the folder of its run.

    Args:
      config: the experiment's config.
      name: what the results call the config.
      machines: where towers, variables and inputs are.
      workdir: the folder of the run.
      stand_ins: device -> the device to create its variables on, where the experiment is only
        shown.
      data: in place of the prepared file that the config names.

    Raises:
      ValueError: the data does not fit the task, or the placement of variables not the machines.
    """

    def __init__(
        self,
        config: ConfigDict,
        name: str,
        machines: OneMachine | ClusterMachines,
        workdir: Workdir,
        stand_ins: Mapping[str, str] | None = None,
        data: PreparedData | None = None,
    ):
        self.config, self.name, self.machines, self.workdir = config, name, machines, workdir
        self.data = data or read_prepared(config.data.path)
        create = functools.partial(create_task, config, self.data)
        self.placement = plan_placement(
            create,
            config.variables.policy,
            machines.devices,
            machines.servers,
            config.variables.axis,
            pinned=self._pinned,
        )
        self.stand_ins = stand_ins or {}
        with self.placement.scope(self.stand_ins):
            self.task = create()
        # Where updates are only shown, they are shown as they are written: XLA hides the steps.
        self.compiled = machines.compiled and stand_ins is None
        self.task.fixed_shapes = self.compiled
        self.variables = model_variables(self.task)
        # What weights files hold beside the weights.
        self.about = {"config": name, **describe(config, self.data)}
        self.constants = self.task.constants
        self.stages = stage_names(config.train)

    @property
    def _encodes_itself(self):
        return self.config.variables.encoder_device == "tower"

    def _pinned(self, task):
        """The variables that stay on the CPU, unless all are elsewhere."""
        return () if self._encodes_itself else task.encoder.variables

    def train(self, weights: str | Path | None = None) -> None:
        """Trains from the last checkpoint, and evaluates the best weights.

        Args:
          weights: where to begin if there is no checkpoint; None for the task's initial values.

        Raises:
          ValueError: data or weights do not fit, or the folder holds a run of another config.
          FloatingPointError: a loss, a gradient or a weight is not finite.
        """
        config, workdir = self.config.train, self.workdir
        checkpoints = Checkpoints(
            workdir / "checkpoints",
            config.checkpoint_every_updates,
            config.checkpoint_every_seconds,
            self.machines.writer,
        )
        num_done = checkpoints.latest_update()
        # Before the trainer is made: averaged weights begin with what it finds.
        if weights and checkpoints.latest:
            print(f"{workdir.path} goes on from update {num_done}, without {weights}")
        elif weights:
            begin, optional = read_weights(weights), self.task.training_only()
            if begin.constants:
                saved_data(begin).check_compatible(self.data)
            if lacking := assign_weights(begin, self.variables, optional):
                print(f"{weights} lacks {', '.join(lacking)}: begun anew")
        arrays = self._arrays(self.data, "train")
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
        config, devices = self.config.train, self.machines.devices
        args = self.task, config, devices, specs, arrays, self.stand_ins
        return Trainer(*args, compiled=self.compiled, encodes_itself=self._encodes_itself)

    def _inputs(self, arrays, num_done=0, **settings):
        """Each device's data set, for what follows the first `num_done` updates."""
        return training_inputs(
            self.task,
            arrays,
            self.config.train.batch_size,
            len(self.machines.devices),
            self.config.seed,
            num_done,
            cpus=self.machines.cpus,
            **settings,
        )

    def _train_until_done(self, trainer, update_maker, arrays, inputs, checkpoints, stop):
        config, plan = self.config.train, trainer.plan
        evaluator = self._evaluator(self.data, "valid", config.validation_examples)
        progress = Progress(self.workdir, plan.num_updates, update_maker.batch_size)
        num_done, compiled = int(trainer.update), set()
        settings = {"shares": None, "options": {}}
        update_maker.use(inputs, settings)
        if trainer.shares() and not num_done:  # the first batches are drawn by error, too
            self._validate(trainer, evaluator, checkpoints, progress)
        progress.start(num_done)
        while num_done < plan.num_updates and not stop.requested:
            if settings != trainer.input_settings():
                settings = trainer.input_settings()
                update_maker.use(self._inputs(arrays, num_done, **settings), settings)
            running = plan.stage(num_done).name
            stage = running if self.stages else None
            until_pauses = [plan.updates_left(num_done)] + [
                every - num_done % every
                for every in (
                    config.log_every_updates,
                    config.evaluate_every_updates,
                    config.checkpoint_every_updates,
                )
            ]
            compiles = self.compiled and running not in compiled
            compiled.add(running)
            with refusals(f"stage {running}"):
                means, bad_update = update_maker.train(1 if compiles else min(until_pauses))
            num_done = int(trainer.update)
            # Before anything is written: what is on disk stays good.
            if bad_update >= 0:
                raise _not_finite(bad_update, "the loss or its gradient", checkpoints)
            if names := trainer.not_finite():
                raise _not_finite(num_done, ", ".join(names), checkpoints)
            if compiles:
                progress.compilation(running)
            else:
                progress.training(num_done, means, stage)
            if num_done % config.evaluate_every_updates == 0 or plan.finished(num_done):
                self._validate(trainer, evaluator, checkpoints, progress)
            if checkpoints.due():
                checkpoints.save()
            progress.start(num_done)
        checkpoints.save()

    def _validate(self, trainer, evaluator, checkpoints, progress):
        """Evaluates on the validation split and keeps the weights with the lowest error on it.

        If several have the same error, the last are kept. In stages, where another loss may raise
        the error, the last weights and each stage's are kept.
        """
        averaged = trainer.averages.in_place() if trainer.averages else contextlib.nullcontext()
        with averaged:
            results, loss = evaluator.results()
            num_done = int(trainer.update)
            if not np.isfinite([loss, results.error, *results.group_errors.values()]).all():
                raise _not_finite(num_done, "the validation's loss or error", checkpoints)
            progress.validation(num_done, loss, results.metrics)
            if trainer.sampler:
                trainer.sampler.note(results)
                progress.shares(num_done, trainer.shares())
            error = results.error
            best = self.stages or error <= checkpoints.best_error.numpy()
            reached = {"update": num_done, "validation_error": error, "validation": results.metrics}
            contents = self.variables, {**self.about, **reached}, self.constants
            if best:
                save_weights(self.workdir / "weights.h5", *contents)
            if self.stages and (stage := trainer.plan.finished(num_done)):
                save_weights(self._stage_weights(stage.name), *contents)
        if best:
            checkpoints.save_best(error)

    def _evaluation_data(self):
        """The data that `config.evaluate` names; raises ValueError where its split is not there or
        has no examples.
        """
        path = self.config.evaluate.path
        data = read_prepared(path) if path else self.data
        self.data.check_compatible(data)
        self._arrays(data, self.config.evaluate.split)
        return data

    def _arrays(self, data, split):
        """The split's tensors; raises ValueError where there is no example."""
        arrays = data.arrays(split)
        if not self.task.num_examples(arrays):
            raise ValueError(f"{data.path}: its {split} split has no examples")
        return arrays

    def _evaluator(self, data, split, num_examples):
        return Evaluator(
            self.task,
            self.config.evaluate,
            self.machines.evaluation_devices,
            self._arrays(data, split),
            self.config.seed,
            num_examples,
            compiled=self.compiled,
            encodes_itself=self._encodes_itself,
        )

    def _stage_weights(self, stage):
        return self.workdir / f"weights_{stage}.h5"

    def evaluate(self, weights: str | Path | None = None) -> None:
        """Evaluates weights as `config.evaluate` says, and writes and prints the results.

        Args:
          weights: a weights file; None for the run's best and those of its stages.

        Raises:
          ValueError: data or weights do not fit.
        """
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
        notes = self.data.attributes["notes"]  # of the training data
        workdir.path.mkdir(parents=True, exist_ok=True)
        written = {
            "config": self.name,
            "data": data.path,
            "split": split,
            "examples": len(evaluator.examples),
            "metrics": results.metrics,
            "by_step": results.by_step,
            **({"by_stage": by_stage} if by_stage else {}),
            "notes": notes,
        }
        workdir.write_json("results.json", written)
        table = self.task.table(results)
        print(table)
        print(f"{self.name}, {split} split of {data.path}, {len(evaluator.examples):,} examples")
        if notes:
            print(f"trained on {self.data.attributes.get('file', self.data.path)}: {notes}")
        figures = self.task.figures(results)
        if not weights:
            figures = {**figures, **self._curves()}
        paths = workdir.save_figures(figures)
        for path in paths:
            print(f"figure: {path}")
        self._write_page(written, table, evaluator, paths)

    def _write_page(self, results, table, evaluator, figures):
        """Writes report.html, with examples as the weights now make them."""
        with tf.device(self.machines.evaluation_devices[0]):
            arrays, examples = evaluator.arrays, evaluator.examples
            shown = self.task.examples(arrays, examples, self.config.seed)
        rows = list_variables(self.variables, {}, {})
        page = make_page(results, table, shown, figures, flatten(self.config.to_dict()), rows)
        print(f"report: {self.workdir.write_text('report.html', page)}")

    def _curves(self):
        """`training` and `validation`, where there is a line of either."""
        lines = {"training": [], "validation": []}
        for line in self.workdir.metrics():
            lines["validation" if "split" in line else "training"].append(line)
        return {
            name: draw_curves(some, self.task.quantities) for name, some in lines.items() if some
        }

    def follow(self, cluster: Cluster, startup_timeout: float) -> None:
        """Evaluates each new checkpoint on the validation split until the cluster's chief ends.

        Args:
          cluster: the cluster, in which this process is the evaluator.
          startup_timeout: the seconds in which the chief must come.

        Raises:
          ConnectionError: the chief did not come in time.
        """
        config = self.config.train
        evaluator = self._evaluator(self.data, "valid", config.validation_examples)
        ((_, _, chief),) = chiefs = cluster.processes("chief")
        wait_for(chiefs, startup_timeout)
        seen, ended = None, False
        while not ended:
            ended = has_ended(chief)  # before the look: the last checkpoint is not missed
            path = tf.train.latest_checkpoint(str(self.workdir / "checkpoints" / "last"))
            if path in (None, seen) or path.endswith("ckpt-0"):
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

    def show_variables(self) -> None:
        """Traces the updates and prints what they use.

        Shown is who reads and trains which variable, where it lives, and which tensors each tower
        has of its own. Each stage's graph is written for TensorBoard.
        """
        arrays = self.data.arrays("train")
        trainer = self._trainer(arrays, self._inputs(arrays))
        self.workdir.path.mkdir(parents=True, exist_ok=True)
        print(format_variables(self._write_variables(trainer)))
        if servers := self.machines.servers:
            print(format_policies(self.placement.variables, servers, self.config.variables.axis))
        rows = list_activations(trainer.tower_activations)
        self.workdir.write_json("activations.json", rows)
        print(format_activations(rows))
        folder = self.workdir / "events"
        for stage, function in trainer.traced.items():
            graph = graph_with_variables(function, trainer.variables, self._shown_names())
            write_graph(folder / f"update_{stage}", graph)
        print(f"graph of an update: tensorboard --logdir {folder}")

    def _shown_names(self):
        return {short_device(ours): shown for shown, ours in self.stand_ins.items()}

    def _write_variables(self, trainer):
        trained = {stage.name: stage.trained() for stage in trainer.plan.stages}
        reads, names = trainer.tower_reads, self._shown_names()
        rows = list_variables(self.variables, reads, trained, names)
        self.workdir.write_json("variables.json", rows)
        return rows


def _not_finite(update, what, checkpoints):
    return FloatingPointError(
        f"update {int(update)}: {what}: not finite; a lower train.learning_rate may help; "
        f"the last good checkpoint is {checkpoints.latest or 'none'}"
    )
