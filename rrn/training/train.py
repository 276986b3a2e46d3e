"""Training: from the last checkpoint to the last update, and the results of the best weights."""

import contextlib

import numpy as np

from rrn.compiling import refusals
from rrn.files.weights import assign_weights, save_weights
from rrn.files.weights_file import Weights, read_weights
from rrn.models import saved_data
from rrn.tasks.task import Arrays
from rrn.training.checkpoints import Checkpoints, written_by
from rrn.training.evaluate import evaluate_weights
from rrn.training.files import Files
from rrn.training.identity import digest, of_parts
from rrn.training.inspect import write_variables
from rrn.training.machines import make_machines
from rrn.training.profiling import Profile
from rrn.training.progress import Progress, StopRequest
from rrn.training.provenance import seconds_so_far
from rrn.training.request import Request
from rrn.training.setup import Setup, set_up
from rrn.training.step import Trainer
from rrn.training.worker_updates import UpdateMaker
from rrn.variables.recorder import recording


def train(request: Request, files: Files) -> None:
    """Trains from the last checkpoint, and evaluates the best weights.

    Args:
      files: what was read for it; where there is no checkpoint, training begins with `weights`, or
        with the task's initial values.

    Raises:
      ValueError: data or weights do not fit, or the folder holds another run, or parts of one.
      ConnectionError: a process of the cluster did not come or has failed.
      FloatingPointError: a loss, a gradient or a weight is not finite.
      SystemExit: SIGTERM or SIGHUP has stopped it, after a checkpoint; see `StopRequest.status`.
    """
    machines, config = make_machines(request), request.config
    with machines.ready():
        setup = set_up(request, files, machines)
        workdir = setup.workdir
        checkpoints = Checkpoints(
            workdir / "checkpoints",
            config.train.checkpoint_every_updates,
            config.train.checkpoint_every_seconds,
            machines.writer,
            of_parts(setup.identity),
        )
        if checkpoints.latest:
            there = written_by(checkpoints.latest)
            workdir.check_part(checkpoints.latest, there, setup.identity)
        num_done = checkpoints.latest_update()
        # Before the trainer is made: averaged weights begin with what it finds.
        if files.weights and checkpoints.latest:
            print(f"{workdir.path} goes on from update {num_done}, without {request.weights}")
        elif files.weights:
            begin_with(setup, files.weights)
        arrays = setup.arrays(setup.data, "train")
        with recording() as towers:
            trainer = setup.trainer(arrays, num_done)
        setup.evaluation_arrays()  # raises what is wrong with them
        # Only a config that can be trained and evaluated claims the folder.
        workdir.keep_metrics_until(num_done, setup.identity)
        workdir.create(setup.identity)
        checkpoints.track(trainer)
        write_variables(setup, trainer, towers)
        updates = machines.update_maker(trainer, arrays, config.seed)
        training = Training(setup, trainer, updates, arrays, checkpoints)
        with StopRequest() as stop, training.profile:
            training.run(stop)
        if stop.requested:
            print(f"Stopped at update {trainer.update.numpy()}; the same command resumes there.")
        else:
            evaluate_weights(setup, read_weights(workdir / "weights.h5"), of_run=True)
    if stop.status:  # which tells those who started it to start it again
        raise SystemExit(stop.status)


def begin_with(setup: Setup, weights: Weights) -> None:
    """Sets the model's variables to the values of a weights file.

    Args:
      weights: the file's contents. It may lack variables that only training needs.

    Raises:
      ValueError: the weights are not of this model, or were made on other data.
    """
    if weights.constants:
        saved_data(weights).check_compatible(setup.data)
    if lacking := assign_weights(weights, setup.variables, setup.task.training_only()):
        print(f"{weights.path} lacks {', '.join(lacking)}: begun anew")


class Training:
    """The updates of a run, and what comes between them: reports, validations, checkpoints."""

    def __init__(
        self,
        setup: Setup,
        trainer: Trainer,
        updates: UpdateMaker,
        arrays: Arrays,
        checkpoints: Checkpoints,
    ):
        self.setup, self.trainer, self.updates = setup, trainer, updates
        self.arrays, self.checkpoints = arrays, checkpoints
        self.config, valid = setup.request.config.train, setup.arrays(setup.data, "valid")
        self.evaluator = setup.evaluator(valid, self.config.validation_examples)
        self.progress = Progress(
            setup.workdir,
            trainer.plan.num_updates,
            updates.batch_size,
            digest(setup.identity),
            setup.machines.evaluation_devices,
            seconds_so_far(setup.workdir.metrics(setup.identity)),
        )
        self.profile = Profile(setup.workdir / "events", setup.request.profile)

    def run(self, stop: StopRequest) -> None:
        """Makes the updates that are left, up to a request to stop.

        Raises:
          FloatingPointError: a loss, a gradient or a weight is not finite.
        """
        trainer, plan, checkpoints = self.trainer, self.trainer.plan, self.checkpoints
        drawn, settings, compiled = int(trainer.update), None, set()
        if trainer.shares() and not drawn:  # the first batches are drawn by error, too
            self.validate()
        while not stop.requested and (num_done := int(trainer.update)) < plan.num_updates:
            if (num_done, trainer.input_settings()) != (drawn, settings):
                settings = trainer.input_settings()
                inputs = self.setup.inputs(self.arrays, num_done, **settings)
                self.updates.use(inputs, settings)
            self.progress.start(num_done)
            stage = plan.stage(num_done).name
            compiles = self.setup.machines.compiled and stage not in compiled
            compiled.add(stage)
            with refusals(f"stage {stage}"):
                count = 1 if compiles else self._until_pause(num_done)
                count = self.profile.begin(num_done, count)
                means, bad_update = self.updates.train(count)
            trainer.begin_stage()  # of the next updates, so that checkpoints have its slots
            drawn = num_done = int(trainer.update)
            self.profile.made(num_done, count)
            # Before anything is written: what is on disk stays good.
            if bad_update >= 0:
                raise self._not_finite(bad_update + 1, "the loss or its gradient")
            if names := trainer.not_finite():
                raise self._not_finite(num_done, ", ".join(names))
            if compiles:
                self.progress.compilation(stage)
            else:
                self.progress.training(num_done, means, stage if self.setup.stages else None)
            if num_done % self.config.evaluate_every_updates == 0 or plan.finished(num_done):
                self.validate()
            if checkpoints.due():
                checkpoints.save()
        checkpoints.save()

    def _until_pause(self, num_done):
        """How many updates come before something else is to be done."""
        config = self.config
        pauses = (
            config.log_every_updates,
            config.evaluate_every_updates,
            config.checkpoint_every_updates,
        )
        left = [every - num_done % every for every in pauses]
        return min(self.trainer.plan.updates_left(num_done), *left)

    def validate(self) -> None:
        """Evaluates on the validation split and keeps the weights with the lowest error on it.

        If several have the same error, the last are kept. In stages, where another loss may raise
        the error, the last weights and each stage's are kept.

        Raises:
          FloatingPointError: the loss or the error is not finite.
        """
        setup, trainer, checkpoints = self.setup, self.trainer, self.checkpoints
        averaged = trainer.averages.in_place() if trainer.averages else contextlib.nullcontext()
        with averaged:
            results, loss = self.evaluator.results()
            num_done = int(trainer.update)
            if not np.isfinite([loss, results.error, *results.group_errors.values()]).all():
                raise self._not_finite(num_done, "the validation's loss or error")
            ended = trainer.plan.finished(num_done)
            self.progress.validation(num_done, loss, results)
            if trainer.sampler:
                trainer.sampler.take(results)
                self.progress.shares(num_done, trainer.shares(), self.evaluator.report.group_name)
            error = results.error
            best = setup.stages or error <= checkpoints.best_error.numpy()
            reached = {"update": num_done, "validation_error": error, "validation": results.metrics}
            contents = setup.variables, {**setup.about, **reached}, setup.task.constants
            if best:
                save_weights(setup.workdir / "weights.h5", *contents)
            if setup.stages and ended:
                save_weights(setup.stage_weights(ended.name), *contents)
        if best:
            checkpoints.best_error.assign(error)

    def _not_finite(self, update, what):
        return FloatingPointError(
            f"update {int(update)}: {what}: not finite; a lower train.learning_rate may help; "
            f"the last good checkpoint is {self.checkpoints.latest or 'none'}"
        )
