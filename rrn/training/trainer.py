"""The training step: towers, averaged gradients, one update; several updates in one traced call."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import tensorflow as tf

from rrn.compiling import is_compiling, placed, run_compiled
from rrn.config import Train
from rrn.distribute.devices import CPU, cpu_beside
from rrn.distribute.gradients import average_gradients
from rrn.distribute.towers import TowerResult, make_towers, tower_gradients
from rrn.optimizers import AveragedWeights
from rrn.optimizers.optimizer import Gradient
from rrn.random import ExampleRandom
from rrn.reading import shards
from rrn.tasks.task import Arrays, Batch, Pair, Task
from rrn.training.sampling import Sampler
from rrn.training.segments import Pool
from rrn.training.stages import Plan, Stage
from rrn.weights import model_variables


class Trainer(tf.Module):
    """Trains a task's variables on several devices, in the stages of a plan.

    One update: every tower's losses and gradients on its own batch; then, for each objective of the
    stage, the gradients' average weighted by examples, plus the L2 term's gradient (l2 w for each
    regularized w), clipped, and a step of its optimizer. No other variables change.

    What several methods return: losses and lists of gradients are those of the stage's objectives,
    in their order, and metrics are name -> (sum, count).

    Args:
      task: the task, with its variables in their places.
      config: the experiment's `train`.
      devices: names of the towers' devices.
      batch_specs: each device's batches' `tf.TypeSpec`s.
      arrays: the training split's tensors, which sampling by error needs.
      stand_ins: device -> a device of this process, where updates are shown and not made.
      compiled: whether XLA compiles what runs on the towers, and the variables' update where all
        of it is on one device.
      encodes_itself: whether each tower's encoder runs on the tower's device, not on the CPU.

    Raises:
      ValueError: a plan that does not fit the task, or a loss that depends on no variable of one of
        its modules.
    """

    def __init__(
        self,
        task: Task,
        config: Train,
        devices: Sequence[str],
        batch_specs: Sequence[Mapping[str, Any]],
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
        self.averages = None
        if config.average_decay:
            self.averages = AveragedWeights(self.model_variables, config.average_decay)
        # Beside the first variable: a worker that can reach the model can reach this counter.
        with tf.device(cpu_beside(shards(self.model_variables)[0].device)):
            self.update = tf.Variable(0, dtype=tf.int64, trainable=False, name="update")
        self.pool = None
        if any(stage.segments for stage in self.plan.stages):
            places = [(stand_ins or {}).get(device, device) for device in devices]
            self.pool = Pool(task, config.batch_size, places, batch_specs)
        self.sampler = None
        if any(stage.error_share > 0 for stage in self.plan.stages):
            self.sampler = Sampler(task, arrays)
        self.tower_reads, self.tower_activations = {}, {}
        # Traced now, when all variables exist; without AutoGraph, which would change what errors
        # say.
        self._functions = {
            stage.name: tf.function(
                lambda batches, stage=stage: self._update(stage, batches),
                input_signature=[tuple(batch_specs)],
                autograph=False,
            )
            for stage in self.plan.stages
        }
        self.traced = {n: f.get_concrete_function() for n, f in self._functions.items()}

    def update_once(self, batches: Sequence[Batch]) -> tuple[dict[str, Pair], tf.Tensor]:
        """Makes one update.

        Args:
          batches: a batch for each device.

        Returns:
          (metrics with the losses, whether losses and gradients are finite).
        """
        stage = self.plan.stage(int(self.update))
        return self._functions[stage.name](tuple(batches))

    def shares(self) -> dict[int, float] | None:
        """Computes how much of the next batches each group gets.

        Returns:
          group -> share; None where the stage draws examples in the task's own way.
        """
        error_share = self.plan.stage(int(self.update)).error_share
        return self.sampler.shares(error_share) if error_share else None

    def input_settings(self) -> dict[str, Any]:
        """Says how the next batches are made.

        Returns:
          The arguments `shares` and `options` of `rrn.data.training_inputs`.
        """
        options = self.plan.stage(int(self.update)).batch_options
        return {"shares": self.shares(), "options": options}

    def random(self, batch: Batch) -> ExampleRandom:
        """Makes the draws that a model uses on a batch.

        Args:
          batch: the batch.

        Returns:
          The draws of its examples.
        """
        return ExampleRandom(batch["seed"], batch["rows"], self.config.batch_size)

    def tower(self, stage: Stage, number: int, batch: Batch) -> TowerResult:
        """Computes losses and gradients on one tower.

        Args:
          stage: the stage.
          number: the tower's number, which is that of its device.
          batch: the tower's batch.

        Returns:
          The result; `aux` are the metrics.
        """
        tower, options, carried = self.towers[number], stage.loss_options, stage.segments
        if carried:
            with tf.device(tower.device):
                segments = self.pool.segments(number)
                batch, state = self.pool.take(number, batch)
            options = {**options, "state": state}
        random = self.random(batch)

        def loss_fn(encodings, batch):
            losses, outputs = self.task.loss(encodings, batch, random, training=True, **options)
            metrics, kept = self.task.metrics(batch, outputs), None
            metrics = stage.metrics(metrics, self.task.metric_losses)
            if carried:
                limits = carried.max_segments, carried.leave_probability
                left, more = self.pool.leave(segments, batch, outputs["solved"], *limits)
                metrics, kept = {**metrics, **more}, (outputs["state"], left)
            return stage.losses(losses), (metrics, kept)

        variables = [shards(objective.variables_) for objective in stage.objectives]
        result = tower_gradients(tower, self.task.encode, loss_fn, batch, variables)
        metrics, kept = result.aux
        if carried:  # here, since a compiled tower changes no variable
            with tf.device(tower.device):
                self.pool.put(number, batch, *kept)
        return dataclasses.replace(result, aux=metrics)

    def gradients(
        self, stage: Stage, batches: Sequence[Batch]
    ) -> tuple[list[tf.Tensor], list[list[Gradient]], dict[str, Pair]]:
        """Computes what an update needs.

        Args:
          stage: the stage.
          batches: a batch for each device.

        Returns:
          (mean losses, averaged gradients with the L2 term's, metrics).
        """
        return self.average(stage, *self.run_towers(stage, batches))

    def run_towers(
        self, stage: Stage, batches: Sequence[Batch]
    ) -> tuple[list[TowerResult], list[tf.Tensor]]:
        """Computes losses and gradients on every tower.

        Args:
          stage: the stage.
          batches: a batch for each device.

        Returns:
          For each tower its result; for each its number of examples.
        """
        towers = []
        for i, batch in enumerate(batches):
            with tf.name_scope(f"tower_{i}"):
                towers.append(self.tower(stage, i, batch))
            self.tower_reads[f"tower {i}"] = towers[-1].reads
            self.tower_activations[f"tower {i}"] = towers[-1].activations
        return towers, [tf.size(batch["rows"]) for batch in batches]

    def average(
        self, stage: Stage, towers: Sequence[TowerResult], counts: Sequence[tf.Tensor]
    ) -> tuple[list[tf.Tensor], list[list[Gradient]], dict[str, Pair]]:
        """Averages over towers. Gradients are averaged where their variables are.

        Args:
          stage: the stage.
          towers: what the towers have computed.
          counts: for each tower its number of examples.

        Returns:
          As of `gradients`.

        Raises:
          ValueError: a loss reaches no variable of one of its modules.
        """
        with placed(CPU):
            counts = [tf.cast(count, tf.float32) for count in counts]
            losses, gradients = [], []
            for i, objective in enumerate(stage.objectives):
                loss = tf.add_n([t.losses[i] * n for t, n in zip(towers, counts, strict=True)])
                losses.append(loss / tf.add_n(counts))
                devices = [shard.device for shard in shards(objective.variables_)]
                own = [tower.gradients[i] for tower in towers]
                average = average_gradients(own, counts, devices)
                objective.check_reached(average, stage.name)
                gradients.append(objective.add_l2(average))
            metrics = tf.nest.map_structure(lambda *m: tf.add_n(m), *[t.aux for t in towers])
        return losses, gradients, metrics

    def _update(self, stage, batches):
        """One update; returns ({name: (sum, count)}, whether losses and gradients are finite)."""
        towers, counts = self.run_towers(stage, batches)
        update = self.update.read_value()

        def change_variables():
            losses, gradients, metrics = self.average(stage, towers, counts)
            scalars, finite = self.apply(stage, losses, gradients, update)
            return {**scalars, **metrics}, finite

        if self.compiled:
            towers = [self._with_shapes(stage, tower) for tower in towers]
        place = self._place_of(stage) if self.compiled else None
        if place:
            with tf.device(place):
                results = run_compiled(change_variables)
        else:
            results = change_variables()
        self.update.assign_add(1)
        return results

    def _with_shapes(self, stage, tower):
        """The tower's result with gradients of known shapes, as XLA needs them: none is sparse."""

        def shaped(gradient, variable):
            if gradient is None:
                return None
            with tf.device(gradient.device):
                return tf.ensure_shape(tf.convert_to_tensor(gradient), variable.shape)

        gradients = [
            [shaped(*pair) for pair in zip(own, shards(objective.variables_), strict=True)]
            for own, objective in zip(tower.gradients, stage.objectives, strict=True)
        ]
        return dataclasses.replace(tower, gradients=gradients)

    def _place_of(self, stage):
        """The device of all variables that an update of a stage changes, if XLA can change them in
        one computation beside the towers; else None.
        """
        changed = [v for objective in stage.objectives for v in shards(objective.variables_)]
        changed += shards(self.model_variables) if self.averages else []
        places = {variable.device for variable in changed}
        beside = [place for place in places if ("GPU" in place) == ("GPU" in self.devices[0])]
        return beside[0] if len(places) == 1 and beside else None

    @property
    def _compiles_by_place(self):
        """Whether an optimizer's part of an update is compiled, for each device by itself."""
        whole = all(isinstance(v, tf.Variable) for v in self.model_variables)
        return self.compiled and whole and not is_compiling()

    def apply(
        self,
        stage: Stage,
        losses: Sequence[tf.Tensor],
        gradients: Sequence[Sequence[Gradient]],
        update: tf.Tensor,
    ) -> tuple[dict[str, Pair], tf.Tensor]:
        """Changes the variables.

        Args:
          stage: the stage.
          losses: mean losses.
          gradients: averaged gradients with the L2 term's.
          update: the number of updates before this one.

        Returns:
          (losses, norms of gradients and learning rates as metrics, whether losses and gradients
          are finite).
        """
        with placed(CPU):
            own_update = update - stage.first
            finite, scalars = [], {}
            for objective, loss, own in zip(stage.objectives, losses, gradients, strict=True):
                norm, rate = objective.apply(own, own_update, self._compiles_by_place)
                finite += [tf.math.is_finite(loss), tf.math.is_finite(norm)]
                numbers = {"loss": loss, "gradient_norm": norm, "learning_rate": rate}
                scalars.update({objective.label(n): (v, tf.ones([])) for n, v in numbers.items()})
            if self.averages:
                self.averages.update()
            return scalars, tf.reduce_all(finite)

    def not_finite(self) -> list[str]:
        """Looks for numbers that are not finite in all that a checkpoint has: weights, slots,
        averages.

        Returns:
          The names of the variables that hold such a number.
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

    def train(
        self, iterators: Sequence[Iterator[Batch]], num_updates: tf.Tensor
    ) -> tuple[dict[str, tf.Tensor], tf.Tensor]:
        """Makes several updates, all of one stage, in one traced call.

        Args:
          iterators: for each device an iterator over its batches.
          num_updates: how many updates, an integer scalar.

        Returns:
          (name -> mean over the updates, NaN of what did not occur; the number of the first update
          whose loss or gradient was not finite, -1 if none).
        """
        return self._train(self.plan.stage(int(self.update)).name, iterators, num_updates)

    @tf.function
    def _train(self, stage, iterators, num_updates):
        with tf.device(CPU):
            specs, _ = self.traced[stage].structured_outputs
            totals = tf.nest.map_structure(lambda spec: tf.zeros(spec.shape, spec.dtype), specs)
            bad_update = tf.constant(-1, tf.int64)
            for _ in tf.range(num_updates):
                update = self.update.read_value()
                metrics, finite = self._functions[stage](tuple(next(i) for i in iterators))
                totals = tf.nest.map_structure(tf.add, totals, metrics)
                bad_update = tf.where(finite | (bad_update >= 0), bad_update, update)
            means = {name: s / n for name, (s, n) in totals.items()}
            return means, bad_update
