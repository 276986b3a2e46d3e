"""What updates change: a task's variables, and all else that a checkpoint holds."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from rrn.config import Train
from rrn.distribute.devices import CPU, cpu_beside
from rrn.distribute.towers import Tower
from rrn.files.weights import model_variables
from rrn.optimizers import MovingAverages
from rrn.tasks.inputs import Groups
from rrn.tasks.report import Results
from rrn.tasks.task import Arrays, Task
from rrn.training.segments import CarriedBatch
from rrn.training.stages import Plan, Stage
from rrn.variables.reading import shards

Specs = Sequence[Mapping[str, Any]]  # `tf.TypeSpec`s of each device's batches


class TrainingState(tf.Module):
    """A task's variables and all else that updates change, on several devices.

    The plan's stage that the update belongs to has optimizers, with their slots. `begin_stage`
    replaces them by new ones when another stage begins.

    Args:
      towers: where and how the towers run; a device's name for `Tower(device)`.
      batch_specs: the batches' specs, or a function from a stage's `input_settings` to them.
      arrays: the training split's tensors, which sampling by error needs.
      first_update: the number of updates that were made before.

    Raises:
      ValueError: a plan that does not fit the task, as a module that it does not have.
    """

    stage: Stage

    def __init__(
        self,
        task: Task,
        config: Train,
        towers: Sequence[Tower | str],
        batch_specs: Specs | Callable[..., Specs],
        arrays: Arrays | None = None,
        first_update: int = 0,
    ):
        super().__init__(name="trainer")
        self.task, self.config = task, config
        self.towers = [Tower(tower) if isinstance(tower, str) else tower for tower in towers]
        self.model_variables = model_variables(task)
        self.plan = Plan(config, task)
        self._batch_specs = batch_specs
        self.averages = None
        if config.ema_decay:
            self.averages = MovingAverages(self.model_variables, config.ema_decay)
        # Beside the first variable: a worker that can reach the model can reach this counter.
        with tf.device(cpu_beside(shards(self.model_variables)[0].device)):
            first = tf.constant(first_update, tf.int64)
            self.update = tf.Variable(first, trainable=False, name="update")
        self.sampler = self.carried = None
        if any(stage.by_group for stage in self.plan.stages):
            assert arrays is not None
            self.sampler = Sampler(task, arrays, self.plan.stages)
        if carrying := [stage for stage in self.plan.stages if stage.segments]:
            devices, specs = [tower.device for tower in self.towers], self.batch_specs(carrying[0])
            self.carried = CarriedBatch(task, config.batch_size, devices, specs)
        self.begin_stage()

    def batch_specs(self, stage: Stage) -> Specs:
        """The specs of a stage's batches, one for each device."""
        given = self._batch_specs
        return given(**self.input_settings(stage)) if callable(given) else given

    def begin_stage(self) -> None:
        """Creates the optimizers of the stage that the update belongs to."""
        self.stage = self.plan.stage(int(self.update))
        self.after_towers = self._tower_of_changes()
        self.optimizers = self.stage.create_optimizers()
        self._finite = tf.function(self._are_finite, autograph=False)

    def _tower_of_changes(self):
        """Where what follows the towers runs.

        XLA compiles it, as it compiles the towers, if one device of their kind holds all variables
        that change.
        """
        changed = shards(self.stage.trained())
        changed += shards(self.model_variables) if self.averages else []
        devices, tower = {variable.device for variable in changed}, self.towers[0]
        alike = all(("GPU" in device) == ("GPU" in tower.device) for device in devices)
        compiled = tower.compiled and alike and len(devices) == 1
        return Tower(devices.pop() if compiled else CPU, compiled=compiled)

    def shares(self, stage: Stage | None = None) -> dict[int, float] | None:
        """Computes each group's share of the next batches; None: the task draws in its own way."""
        stage = stage or self.plan.stage(int(self.update))
        if self.sampler is None or not stage.by_group:
            return None
        return self.sampler.shares(stage)

    def input_settings(self, stage: Stage | None = None) -> dict[str, Any]:
        """Says how the next batches, or a stage's, are made: arguments of `training_inputs`."""
        stage = stage or self.plan.stage(int(self.update))
        settings: dict[str, Any] = {"options": stage.batch_options}
        if self.sampler and (shares := self.shares(stage)):
            settings.update(groups=self.sampler.groups, shares=[*shares.values()])
        return settings

    def not_finite(self) -> list[str]:
        """Lists the weights, slots and averages that hold numbers which are not finite."""
        numbers = [v for v in self.variables if v.dtype.is_floating]
        found = zip(numbers, self._finite(), strict=True)
        return [variable.name.removesuffix(":0") for variable, finite in found if not finite]

    def _are_finite(self):
        finite = []
        for variable in self.variables:
            if variable.dtype.is_floating:
                with tf.device(variable.device):
                    finite.append(tf.reduce_all(tf.math.is_finite(variable)))
        return finite


def shares_by_error(errors: np.ndarray, error_share: float, power: float = 1.0) -> np.ndarray:
    """Each group's share of a batch, `[groups]`: (1 - s) / G + s error_g^p / Σ error^p.

    The part 1 - s is drawn evenly over the groups, so that solved ones never stop being drawn. The
    sum of the shares is 1. Where all errors are 0 they are equal.

    Args:
      errors: validation errors `[groups]`, at least 0.
      error_share: s, from 0 to 1.
      power: p, at least 0; a larger one gives more to the groups with the largest errors.
    """
    even = np.full(len(errors), 1.0 / len(errors))
    if not np.sum(errors):
        return even
    weights = errors**power
    return (1.0 - error_share) * even + error_share * weights / np.sum(weights)


class Sampler(tf.Module):
    """The groups' last validation errors, which are equal before the first validation.

    Raises:
      ValueError: the task has no groups, or not those that a stage names.
    """

    def __init__(self, task: Task, arrays: Arrays, stages: Sequence[Stage]):
        super().__init__(name="sampler")
        groups = task.groups(arrays)
        if groups is None:
            raise ValueError("error_share or group_shares: the task defines no groups of examples")
        self.groups = Groups(groups)
        numbers = self.groups.numbers
        for stage in stages:
            given = sum(stage.group_shares.values())  # 1 may be a rounding more
            if not {*stage.group_shares} <= {*numbers} or given > 1 + 1e-9:
                error = f"expected at most 1 in sum, of {numbers}; got {stage.group_shares}"
                raise ValueError(f"stage {stage.name}: group_shares: {error}")
        ones = tf.ones(len(self.groups.numbers), tf.float64)
        self.errors = tf.Variable(ones, trainable=False, name="errors")

    def take(self, results: Results) -> None:
        """Takes the `group_errors` of a validation; a group without one gets the others' mean.

        Raises:
          ValueError: the task's report gives no `group_errors`.
        """
        errors = results.group_errors
        if not errors:
            raise ValueError("error_share or group_shares: the task's results have no group_errors")
        mean = np.mean(list(errors.values()))
        self.errors.assign([errors.get(group, mean) for group in self.groups.numbers])

    def shares(self, stage: Stage) -> dict[int, float]:
        """Computes each group's share of the stage's batches; the sum is 1."""
        shares = shares_by_error(self.errors.numpy(), stage.error_share, stage.error_power)
        given = np.array([stage.group_shares.get(number, 0.0) for number in self.groups.numbers])
        shares = given + (1.0 - given.sum()) * shares
        return dict(zip(self.groups.numbers, shares.tolist(), strict=True))
