"""What updates change: a task's variables, and all else that stands beside them."""

from collections.abc import Mapping, Sequence
from typing import Any

import tensorflow as tf

from rrn.config import Train
from rrn.distribute.devices import cpu_beside
from rrn.distribute.towers import make_towers
from rrn.files.weights import model_variables
from rrn.optimizers import MovingAverages
from rrn.tasks.task import Arrays, Task
from rrn.training.sampling import Sampler
from rrn.training.segments import Pool
from rrn.training.stages import Plan
from rrn.variables.reading import shards

Specs = Sequence[Mapping[str, Any]]  # of each device's batches


class TrainingState(tf.Module):
    """A task's variables and all else that updates change, on several devices.

    The stages of the plan say which update is due.

    Args:
      batch_specs: each device's batches' `tf.TypeSpec`s; or a dict of such lists by the stages'
        names, where these have batches of different shapes.
      arrays: the training split's tensors, which sampling by error needs.
      stand_ins: device -> a device of this process, where updates are shown and not made.
      compiled: whether XLA compiles what runs on the towers, and the variables' update where all
        of it is on one device.
      encodes_itself: whether each tower's encoder runs on the tower's device, not on the CPU.

    Raises:
      ValueError: a plan that does not fit the task, as a module that it does not have.
    """

    def __init__(
        self,
        task: Task,
        config: Train,
        devices: Sequence[str],
        batch_specs: Specs | Mapping[str, Specs],
        arrays: Arrays | None = None,
        stand_ins: Mapping[str, str] | None = None,
        compiled: bool = False,
        encodes_itself: bool = False,
    ):
        super().__init__(name="trainer")
        self.task, self.config, self.devices, self.compiled = task, config, devices, compiled
        self.model_variables = model_variables(task)
        modules = task.network, task.encoder
        self.towers = make_towers(devices, *modules, encodes_itself, compiled)
        self.plan = Plan(config, task)
        names = [stage.name for stage in self.plan.stages]
        by_stage = isinstance(batch_specs, Mapping)
        self.batch_specs = batch_specs if by_stage else dict.fromkeys(names, batch_specs)
        self.averages = None
        if config.ema_decay:
            self.averages = MovingAverages(self.model_variables, config.ema_decay)
        # Beside the first variable: a worker that can reach the model can reach this counter.
        with tf.device(cpu_beside(shards(self.model_variables)[0].device)):
            self.update = tf.Variable(tf.zeros([], tf.int64), trainable=False, name="update")
        self.pool = None
        if carrying := [stage.name for stage in self.plan.stages if stage.segments]:
            places = [(stand_ins or {}).get(device, device) for device in devices]
            self.pool = Pool(task, config.batch_size, places, self.batch_specs[carrying[0]])
        self.sampler = None
        if any(stage.error_share > 0 for stage in self.plan.stages):
            assert arrays is not None  # who has the plan has the training split
            self.sampler = Sampler(task, arrays)

    def shares(self) -> dict[int, float] | None:
        """Computes each group's share of the next batches.

        It is None where the stage draws examples in the task's own way.
        """
        stage = self.plan.stage(int(self.update))
        if self.sampler is None or not stage.error_share:
            return None
        return self.sampler.shares(stage.error_share, stage.error_power)

    def input_settings(self) -> dict[str, Any]:
        """Says how the next batches are made: `shares` and `options` of `training_inputs`."""
        options = self.plan.stage(int(self.update)).batch_options
        return {"shares": self.shares(), "options": options}

    def not_finite(self) -> list[str]:
        """Lists the variables that hold numbers which are not finite.

        All that a checkpoint has is looked at: weights, slots, averages.
        """
        numbers = [v for v in self.variables if v.dtype.is_floating]
        found = zip(numbers, self._are_finite(), strict=True)
        return [variable.name.removesuffix(":0") for variable, finite in found if not finite]

    @tf.function(autograph=False)
    def _are_finite(self):
        finite = []
        for variable in self.variables:
            if variable.dtype.is_floating:
                with tf.device(variable.device):
                    finite.append(tf.reduce_all(tf.math.is_finite(variable)))
        return finite
