"""One experiment from config to results: train, evaluate, or list the variables."""

import contextlib

import tensorflow as tf

from rrn.data import read_prepared, training_inputs
from rrn.distribute.devices import parse_devices
from rrn.distribute.variables import format_variables, list_variables, variable_scope
from rrn.tasks import create_task
from rrn.training.checkpoints import Checkpoints
from rrn.training.evaluation import Evaluator
from rrn.training.progress import Progress, StopRequest
from rrn.training.stages import stage_names
from rrn.training.trainer import Trainer, model_variables
from rrn.training.weights import load_weights, save_weights
from rrn.training.workdir import Workdir


def run(config, name, mode, devices, workdir, weights=None):
    """Runs `mode` ("train", "evaluate" or "variables") of the config `name` in folder `workdir`.

    Raises:
      ValueError: a config, flag or file that does not fit; the message says which and what would
        be right.
      FloatingPointError: a loss or gradient that is not finite.
    """
    tf.random.set_seed(config.seed)
    devices = parse_devices(devices)
    if all("CPU" in device for device in devices):  # there it costs nothing
        tf.config.experimental.enable_op_determinism()
    experiment = Experiment(config, name, devices, Workdir(workdir))
    if mode == "train":
        experiment.train(weights)
    elif mode == "evaluate":
        experiment.evaluate(weights)
    else:
        experiment.show_variables()


class Experiment:
    """A task with its variables on their devices, and the folder of its run."""

    def __init__(self, config, name, devices, workdir):
        self.config, self.name, self.devices, self.workdir = config, name, devices, workdir
        self.data = read_prepared(config.data.path)
        with variable_scope(config.variables.policy, devices):
            self.task = create_task(config, self.data)
        self.variables = model_variables(self.task)
        self.stages = stage_names(config.train)

    def train(self, weights=None):
        """Trains from the last checkpoint, `weights` or the start; evaluates the best weights."""
        config, workdir = self.config.train, self.workdir
        checkpoints = Checkpoints(
            workdir / "checkpoints",
            config.checkpoint_every_updates,
            config.checkpoint_every_seconds,
        )
        first_update = checkpoints.latest_update()
        trainer, inputs = self._trainer(first_update)
        # Only a config that can be trained claims the folder.
        workdir.create({"config": self.name, **self.config.to_dict()})
        checkpoints.track(trainer)
        workdir.keep_metrics_until(first_update)
        if weights and not first_update:
            load_weights(weights, self.variables)
        self._write_variables(trainer)
        with StopRequest() as stop:
            self._train_until_done(trainer, inputs, checkpoints, stop)
        if stop.requested:
            print(f"Stopped at update {trainer.update.numpy()}; the same command resumes there.")
            return
        self.evaluate()

    def _trainer(self, first_update=0):
        arrays = self.data.arrays("train")
        batch_size, seed = self.config.train.batch_size, self.config.seed
        inputs = training_inputs(
            self.task, arrays, batch_size, len(self.devices), seed, first_update
        )
        specs = [dataset.element_spec for dataset in inputs]
        return Trainer(self.task, self.config.train, self.devices, specs), inputs

    def _train_until_done(self, trainer, inputs, checkpoints, stop):
        config, plan = self.config.train, trainer.plan
        evaluator = self._evaluator(self.data, "valid", config.validation_examples)
        progress = Progress(self.workdir, plan.num_updates, config.batch_size)
        iterators = [iter(dataset) for dataset in inputs]
        update = int(trainer.update)
        progress.start(update)
        while update < plan.num_updates and not stop.requested:
            stage = plan.stage(update).name if self.stages else None
            ends = [plan.updates_left(update)] + [
                every - update % every
                for every in (config.log_every_updates, config.evaluate_every_updates)
            ]
            means, bad_update = trainer.train(iterators, tf.constant(min(ends)))
            if bad_update >= 0:
                raise FloatingPointError(
                    f"update {bad_update.numpy()}: the loss or its gradient is not finite; "
                    f"the last good checkpoint is {checkpoints.latest or 'none'}"
                )
            update = int(trainer.update)
            progress.training(update, means, stage)
            if update % config.evaluate_every_updates == 0 or plan.finished(update):
                self._validate(trainer, evaluator, checkpoints, progress)
            if checkpoints.due():
                checkpoints.save()
            progress.start(update)
        checkpoints.save()

    def _validate(self, trainer, evaluator, checkpoints, progress):
        """Evaluates on the validation split and keeps the weights with the lowest loss on it.

        In stages, where another loss may raise it, the last weights and each stage's are kept.
        """
        averaged = trainer.averages.in_place() if trainer.averages else contextlib.nullcontext()
        with averaged:
            results, loss = evaluator.results()
            update = int(trainer.update)
            progress.validation(update, loss, results["metrics"])
            best = self.stages or loss < checkpoints.best_loss.numpy()
            attributes = {"config": self.name, "update": update, "validation_loss": loss}
            if best:
                save_weights(self.workdir / "weights.h5", self.variables, attributes)
            if self.stages and (stage := trainer.plan.finished(update)):
                save_weights(self._stage_weights(stage.name), self.variables, attributes)
        if best:
            checkpoints.save_best(loss)

    def _evaluator(self, data, split, num_examples=0):
        config, arrays = self.config, data.arrays(split)
        return Evaluator(
            self.task, config.evaluate, self.devices, arrays, config.seed, num_examples
        )

    def _stage_weights(self, stage):
        return self.workdir / f"weights_{stage}.h5"

    def evaluate(self, weights=None):
        """Evaluates `weights`, or the run's best and its stages', on `config.evaluate`'s split and
        file.
        """
        split, workdir = self.config.evaluate.split, self.workdir
        data = self.data.same_kind(self.config.evaluate.path)
        load_weights(weights or workdir / "weights.h5", self.variables)
        evaluator = self._evaluator(data, split)
        results, _ = evaluator.results()
        results["by_stage"] = {} if weights else self._results_by_stage(evaluator)
        by_stage = {stage: ended["metrics"] for stage, ended in results["by_stage"].items()}
        workdir.path.mkdir(parents=True, exist_ok=True)
        workdir.write_json(
            "results.json",
            {
                "config": self.name,
                "data": data.path,
                "split": split,
                "examples": len(evaluator.examples),
                "metrics": results["metrics"],
                "by_step": results["by_step"],
                **({"by_stage": by_stage} if by_stage else {}),
                "notes": data.attributes["notes"],
            },
        )
        print(self.task.table(results))
        print(f"{self.name}, {split} split of {data.path}, {len(evaluator.examples)} examples")
        if notes := data.attributes["notes"]:
            print(notes)
        for path in workdir.save_figures(self.task.figures(results)):
            print(f"figure: {path}")

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
        trainer, _ = self._trainer()
        self.workdir.path.mkdir(parents=True, exist_ok=True)
        print(format_variables(self._write_variables(trainer)))

    def _write_variables(self, trainer):
        trained = {stage.name: stage.trained() for stage in trainer.plan.stages}
        rows = list_variables(self.variables, trainer.tower_reads, trained)
        self.workdir.write_json("variables.json", rows)
        return rows
