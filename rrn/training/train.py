"""Training: from the last checkpoint to the last update, and the results of the best weights."""

import contextlib
import dataclasses
import functools
import time
from collections.abc import Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from rrn.compiling import refusals
from rrn.distribute.variables import format_hidden, format_variables, list_variables
from rrn.files.weights import Weights, assign_weights, read_weights, save_weights
from rrn.models import saved_data
from rrn.training.checkpoints import Checkpoints
from rrn.training.evaluate import evaluate_weights
from rrn.training.evaluation import Evaluator
from rrn.training.machines import make_machines
from rrn.training.progress import Progress, StopRequest
from rrn.training.request import Request
from rrn.training.setup import Setup, read_data, set_up
from rrn.training.stages import Stage
from rrn.training.step import Trainer
from rrn.training.workdir import Workdir
from rrn.training.worker_updates import UpdateMaker
from rrn.variables.recorder import Record, recording

PAUSE_SECONDS = 10  # about how long a request to stop waits; ten updates if these are longer


def train(request: Request) -> None:
    """Trains from the last checkpoint, and evaluates the best weights.

    Without a checkpoint it starts from `request.weights`, or from the task's initial ones.

    Raises:
      ValueError: data or weights do not fit, or the folder has another run.
      ConnectionError: a process of the cluster did not come or has failed.
      FloatingPointError: a loss, a gradient or a weight is not finite.
      SystemExit: SIGTERM or SIGHUP has stopped it, after a checkpoint; see `StopRequest.status`.
    """
    workdir = Workdir(request.workdir)
    weights = read_weights(request.weights) if request.weights else None
    data, evaluation_data = read_data(request)
    machines, config = make_machines(request), request.config
    with workdir.locked():
        if not request.restart:
            workdir.check({"data_sha256": data.digest, **request.fields})
        every = config.train.checkpoint_every_updates, config.train.checkpoint_every_seconds
        with machines.ready():
            setup = set_up(request, machines, data, evaluation_data)
            checkpoints = Checkpoints(workdir / "checkpoints", *every, machines.writer)
            if request.restart:
                checkpoints.latest = None
            num_done = checkpoints.latest_update()
            # Before the trainer is made: EMA weights begin with what it finds.
            begin_with(setup, weights, checkpoints)
            with recording() as towers:
                trainer = setup.trainer(num_done)
            setup.arrays(data, "valid")  # these raise what is wrong with them
            setup.evaluation_arrays()
            updates = machines.update_maker(trainer, setup.training_arrays, config.seed)
            # Only a config that can be trained and evaluated claims the folder.
            if request.restart and (folder := workdir.set_aside()):
                print(f"the run that was in {workdir.path} is now in {folder}")
            workdir.keep_metrics_until(num_done)
            workdir.write_json("config.json", {"data_sha256": data.digest, **request.fields})
            checkpoints.track(trainer)
            workdir.write_json("variables.json", variable_rows(setup, trainer, towers))
            with StopRequest() as stop:
                Training(setup, trainer, updates, checkpoints).run(stop)
            if stop.requested:
                print(f"Stopped at update {int(trainer.update)}; the same command resumes there.")
            else:
                evaluate_weights(setup, read_weights(workdir / "weights.h5"), of_run=True)
    if stop.status:
        raise SystemExit(stop.status)


def begin_with(setup: Setup, weights: Weights | None, checkpoints: Checkpoints) -> None:
    """Sets the model's variables to weights, if some are given and there is no checkpoint.

    Weights may lack variables that only training needs.

    Raises:
      ValueError: the weights are of another model, or of other data; or the run's checkpoints are
        gone.
    """
    there = (setup.workdir / "metrics.jsonl").exists() and not setup.request.restart
    if there and not checkpoints.latest:
        raise ValueError(
            f"{setup.workdir / 'checkpoints'}: no checkpoint of the run that has written "
            "metrics.jsonl; put it back, or give --restart, which moves the old run aside"
        )
    if checkpoints.latest and weights:
        update = checkpoints.latest_update()
        print(f"{setup.workdir.path} resumes at update {update}, without {weights.path}")
    if checkpoints.latest or not weights:
        return
    if weights.constants:
        saved_data(weights).check_compatible(setup.data)
    if lacking := assign_weights(weights, setup.variables, setup.task.training_only()):
        print(f"{weights.path} lacks {', '.join(lacking)}: initialized")


def inspect(request: Request) -> None:
    """Traces an update of the first stage and prints what it uses; none is made.

    Raises:
      ValueError: the data does not fit the task, or the placement of variables not the machines.
      ConnectionError: a process of the cluster did not come or has failed.
    """
    data, machines = read_data(request), make_machines(dataclasses.replace(request, jit="off"))
    with machines.ready():  # without XLA, which would hide the steps
        setup = set_up(request, machines, *data)
        with recording() as towers:
            trainer = setup.trainer()
        print(format_variables(variable_rows(setup, trainer, towers)))
        print(format_hidden(towers))


def variable_rows(
    setup: Setup, trainer: Trainer, towers: Mapping[str, Record]
) -> list[dict[str, Any]]:
    """Lists the variables, as variables.json has them; see `list_variables`."""
    trained = {stage.name: stage.trained() for stage in trainer.plan.stages}
    return list_variables(setup.variables, towers, trained)


class Training:
    """The updates of a run, and what comes between them: reports, validations, checkpoints."""

    def __init__(
        self,
        setup: Setup,
        trainer: Trainer,
        updates: UpdateMaker,
        checkpoints: Checkpoints,
    ):
        self.setup, self.trainer, self.updates = setup, trainer, updates
        self.checkpoints, self.config = checkpoints, setup.request.config.train
        self.progress = Progress(
            setup.workdir,
            trainer.plan.num_updates,
            updates.batch_size,
            setup.machines.evaluation_devices,
            max((line["seconds"] for line in setup.workdir.metrics()), default=0.0),
        )
        self._calls = 0  # of `updates.train`, in this process
        self._seconds = 1e-9  # of an update, in the last call; the first call may be long

    @functools.cached_property
    def evaluator(self) -> Evaluator:
        """What validates, made for the first validation: its inputs take a second to trace."""
        valid = self.setup.arrays(self.setup.data, "valid")
        return self.setup.evaluator(valid, self.config.validation_examples)

    def run(self, stop: StopRequest) -> None:
        """Makes the updates that are left, up to a request to stop."""
        trainer, checkpoints = self.trainer, self.checkpoints
        # Initial weights solve no group, so that its first validation may come later.
        if trainer.shares() and self.setup.request.weights and not int(trainer.update):
            self.validate()
        for stage in trainer.plan.stages:
            settings, compiles = None, trainer.towers[0].compiled
            while not stop.requested and int(trainer.update) < stage.first + stage.num_updates:
                if settings != trainer.input_settings():
                    settings = trainer.input_settings()
                    inputs = self.setup.inputs(int(trainer.update), **settings)
                    self.updates.use(inputs, settings)
                self._make_updates(stage, compiles)
                num_done, compiles = int(trainer.update), False
                pause = num_done % self.config.evaluate_every_updates == 0
                if pause or trainer.plan.finished(num_done):
                    self.validate()
                if checkpoints.due():
                    checkpoints.save()
        checkpoints.save()

    def _make_updates(self, stage: Stage, compiles: bool) -> None:
        """Makes the updates up to the next pause, or the one in which XLA compiles the stage."""
        trainer, first = self.trainer, int(self.trainer.update)
        self.progress.start(first)
        profile, folder = self.setup.request.profile, self.setup.workdir / "events"
        self._calls += 1  # the first one is traced
        early = profile and self._calls <= 2  # the second tells how many fit before a pause
        count = 1 if compiles or early else self._until_pause(first)
        with refusals(f"stage {stage.name}"), contextlib.ExitStack() as stack:
            if profile and self._calls == 3:
                count = min(count, profile)
                stack.enter_context(tf.profiler.experimental.Profile(str(folder)))
                print(f"profile of {count} updates: tensorboard --logdir {folder}")
            start = time.monotonic()
            means, bad_update = self.updates.train(count)
            self._seconds = (time.monotonic() - start) / count
        trainer.begin_stage()  # of the next updates, so that checkpoints have its slots
        # Before anything is written: what is on disk stays good.
        if bad_update >= 0:
            raise self._not_finite(bad_update + 1, "the loss or its gradient")
        if names := trainer.not_finite():
            raise self._not_finite(trainer.update, ", ".join(names))
        if compiles:
            self.progress.compilation(stage.name)
        else:
            name = stage.name if len(self.setup.stages) > 1 else None
            self.progress.training(int(trainer.update), means, name)

    def _until_pause(self, num_done):
        """How many updates come before a report, validation, checkpoint or look at signals."""
        names = "log_every_updates", "evaluate_every_updates", "checkpoint_every_updates"
        left = [every - num_done % every for every in (getattr(self.config, n) for n in names)]
        in_time = int(PAUSE_SECONDS / self._seconds)
        return min(self.trainer.plan.updates_left(num_done), max(in_time, 10), *left)

    def validate(self) -> None:
        """Evaluates on the validation split and keeps the weights with the lowest error on it.

        Of several with the same error the last are kept. In stages, where another loss may raise
        the error, the last weights and each stage's are kept.
        """
        setup, trainer, best_error = self.setup, self.trainer, self.checkpoints.best_error
        several_stages = len(setup.stages) > 1
        averaged = trainer.averages.in_place() if trainer.averages else contextlib.nullcontext()
        with averaged:
            results, loss = self.evaluator.results()
            num_done, error = int(trainer.update), results.error
            if not np.isfinite([loss, error, *results.group_errors.values()]).all():
                raise self._not_finite(num_done, "the validation's loss or error")
            self.progress.validation(num_done, loss, results)
            if trainer.sampler:
                trainer.sampler.take(results)
                if shares := trainer.shares():
                    self.progress.shares(num_done, shares, self.evaluator.report.group_name)
            reached = {"update": num_done, "validation_error": error, "validation": results.metrics}
            contents = setup.variables, {**setup.about, **reached}, setup.task.constants
            if several_stages or error <= best_error.numpy():
                save_weights(setup.workdir / "weights.h5", *contents)
                best_error.assign(error)
            if several_stages and (ended := trainer.plan.finished(num_done)):
                save_weights(setup.stage_weights(ended.name), *contents)

    def _not_finite(self, update, what):
        return FloatingPointError(
            f"update {int(update)}: {what}: not finite; a lower train.learning_rate may help; "
            f"the last good checkpoint is {self.checkpoints.latest or 'none'}"
        )
