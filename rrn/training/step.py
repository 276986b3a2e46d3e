"""One update on one page: from the devices' batches to changed variables.

    towers     each device's losses of its own batch and their gradients, on that device
    average    the gradients' mean over the towers, weighted by examples, where each variable is
    L2         l2 w is added for each regularized w
    clip       all gradients of an objective together, by their norm
    optimizer  a step at the stage's learning rate
    averages   of the weights over the updates, where the config asks for them

All objectives of a stage are trained from one forward pass, each with a loss, variables and an
optimizer of its own; no other variables change. Losses and lists of gradients are those of the
stage's objectives, in their order; a gradient is that of a variable, or of a shard of one. Metrics
are name -> (sum, count).
"""

import functools
from collections.abc import Iterator, Sequence

import tensorflow as tf

from rrn.distribute.devices import CPU
from rrn.distribute.gradients import average_gradients
from rrn.distribute.towers import TowerResult, tower_gradients
from rrn.optimizers import clip_by_global_norm
from rrn.optimizers.optimizer import Gradient
from rrn.tasks.task import Batch, Pair
from rrn.training.stages import Objective, Stage
from rrn.training.state import TrainingState
from rrn.variables.order import add_in_order
from rrn.variables.random import ExampleRandom
from rrn.variables.reading import shards
from rrn.variables.recorder import tower_scope


def update(state: TrainingState, batches: Sequence[Batch]) -> tuple[dict[str, Pair], tf.Tensor]:
    """Makes one update of the state's stage, of a batch for each device.

    Returns:
      (metrics with the losses, whether losses and gradients are finite).
    """
    towers, counts = [], [tf.size(batch["rows"]) for batch in batches]
    for number, batch in enumerate(batches):
        towers.append(run_tower(state, state.stage, number, batch))
    number = state.update.read_value()

    def change_variables(_):
        losses, gradients, metrics = average(state.stage, towers, counts)
        scalars, finite = apply(state, losses, gradients, number)
        return {**scalars, **metrics}, finite

    results = state.after_towers.run(change_variables)
    state.update.assign_add(1)
    return results


def run_tower(state: TrainingState, stage: Stage, number: int, batch: Batch) -> TowerResult:
    """Computes losses and gradients on the tower with this number; its `aux` are the metrics."""
    task, tower = state.task, state.towers[number]
    options, limits = stage.loss_options, stage.segments
    carried, segments = state.carried if limits else None, None
    if carried:
        with tf.device(tower.device):
            segments = carried.segments(number)
            batch, carried_state = carried.take(number, batch)
        options = {**options, "state": carried_state}
    random = ExampleRandom(batch["seed"], batch["rows"], state.config.batch_size)

    def loss_fn(encodings, batch):
        losses, outputs = task.loss(encodings, batch, random, training=True, **options)
        metrics, kept = _own_metrics(stage, task, task.metrics(batch, outputs)), None
        if carried and limits and segments is not None:
            own = limits.max_segments, limits.leave_probability
            left, more = carried.leave(segments, batch, outputs["solved"], *own)
            metrics, kept = {**metrics, **more}, (outputs["state"], left)
        return _mean_losses(stage, losses), (metrics, kept)

    variables = [shards(objective.variables_) for objective in stage.objectives]
    with tower_scope(f"tower {number}", tower.device):
        result = tower_gradients(tower, task.encode, loss_fn, batch, variables)
    metrics, kept = result.aux
    if carried:  # here, since a compiled tower changes no variable
        with tf.device(tower.device):
            carried.put(number, batch, *kept)
    return TowerResult(result.losses, result.gradients, metrics)


def _own_metrics(stage, task, metrics):
    """Without those of losses that the stage does not train."""
    trained = {None, *(objective.loss for objective in stage.objectives)}
    return {n: value for n, value in metrics.items() if task.metric_losses.get(n) in trained}


def _mean_losses(stage, losses):
    for objective in stage.objectives:
        if objective.loss not in losses:
            names = ", ".join(losses) or "none: the task returns no losses"
            raise ValueError(
                f"stage {stage.name}: loss must be one of {names}, got {objective.loss!r}"
            )
    return [tf.reduce_mean(losses[objective.loss]) for objective in stage.objectives]


def average(
    stage: Stage, towers: Sequence[TowerResult], counts: Sequence[tf.Tensor]
) -> tuple[list[tf.Tensor], list[list[Gradient]], dict[str, Pair]]:
    """Averages losses and gradients over towers, and adds the L2 term's gradients.

    Raises:
      ValueError: a loss reaches no variable of one of its modules.
    """
    counts = [tf.cast(count, tf.float32) for count in counts]
    losses, gradients = [], []
    for i, objective in enumerate(stage.objectives):
        loss = add_in_order([t.losses[i] * n for t, n in zip(towers, counts, strict=True)])
        losses.append(loss / add_in_order(counts))
        devices = [shard.device for shard in shards(objective.variables_)]
        mean = average_gradients([tower.gradients[i] for tower in towers], counts, devices)
        objective.check_reached(mean, stage.name)
        gradients.append(add_l2(objective, mean))
    metrics = tf.nest.map_structure(lambda *m: add_in_order(m), *[t.aux for t in towers])
    return losses, gradients, metrics


def add_l2(objective: Objective, gradients: Sequence[Gradient]) -> list[Gradient]:
    """Adds l2 w for each of the task's regularized variables w; None stays None."""
    l2 = objective.config.l2
    regularized = {shard.ref() for shard in shards(objective.task.regularized())}

    def add(variable, gradient):
        if gradient is None or not l2 or variable.ref() not in regularized:
            return gradient
        with tf.device(variable.device):
            return gradient + l2 * variable

    return [add(v, g) for v, g in zip(shards(objective.variables_), gradients, strict=True)]


def apply(
    state: TrainingState,
    losses: Sequence[tf.Tensor],
    gradients: Sequence[Sequence[Gradient]],
    number: tf.Tensor,
) -> tuple[dict[str, Pair], tf.Tensor]:
    """Changes the variables, after `number` updates.

    Returns:
      (losses, norms of gradients and learning rates as metrics, whether losses and gradients are
      finite).
    """
    own_number = number - state.stage.first
    finite, scalars = [], {}
    lists = state.stage.objectives, state.optimizers, losses, gradients
    for objective, optimizer, loss, own in zip(*lists, strict=True):
        clipped, norm = clip_by_global_norm(own, objective.config.clip_norm)
        rate = objective.rate(own_number)
        optimizer.apply(clipped, rate, own_number)
        finite += [tf.math.is_finite(loss), tf.math.is_finite(norm)]
        numbers = {"loss": loss, "gradient_norm": norm, "learning_rate": rate}
        scalars.update({objective.label(n): (v, tf.ones([])) for n, v in numbers.items()})
    if state.averages:
        state.averages.update()
    return scalars, tf.reduce_all(finite)


class Trainer(TrainingState):
    """Makes updates of a `TrainingState`, of one stage after the other.

    The first stage is traced when it is made, and every other when it begins. Before the first one
    the losses of all stages are checked, each with one stage's options.

    Raises:
      ValueError: a plan that does not fit the task, or a loss that depends on no variable of one of
        its modules.
    """

    def begin_stage(self) -> None:
        """Creates slots for the stage that the update belongs to and traces it, if it is new."""
        before = getattr(self, "stage", None)
        if before is self.plan.stage(int(self.update)):
            return
        super().begin_stage()
        if before is None:
            self._check_others()
        specs = tuple(self.batch_specs(self.stage))
        # Without AutoGraph, which would change what errors say.
        one = functools.partial(update, self)
        self._one = tf.function(one, input_signature=[specs], autograph=False)
        self.traced = self._one.get_concrete_function()
        self._several = tf.function(self._make_several, autograph=False)

    def _check_others(self):
        """Traces what other stages train on one tower, which finds what is wrong with it."""
        checked = {self.stage.trains}
        for stage in self.plan.stages:
            if stage.trains not in checked:
                checked.add(stage.trains)
                stage.create_optimizers()

                def losses(batch, stage=stage):
                    towers = [run_tower(self, stage, 0, batch)]
                    return average(stage, towers, [tf.size(batch["rows"])])[0]

                spec = self.batch_specs(stage)[0]
                tf.function(losses, autograph=False).get_concrete_function(spec)

    def update_once(self, batches: Sequence[Batch]) -> tuple[dict[str, Pair], tf.Tensor]:
        """Makes one update, of a batch for each device; see `update`."""
        self.begin_stage()
        return self._one(tuple(batches))

    def train(
        self, iterators: Sequence[Iterator[Batch]], num_updates: tf.Tensor
    ) -> tuple[dict[str, tf.Tensor], tf.Tensor]:
        """Makes several updates, all of one stage, in one traced call.

        Returns:
          (name -> mean over the updates, NaN of what did not occur; the number of the first update
          whose loss or gradient was not finite, -1 if none).
        """
        self.begin_stage()
        return self._several(iterators, num_updates)

    def _make_several(self, iterators, num_updates):
        def one_more(done, totals, bad_update):
            update = self.update.read_value()
            metrics, finite = self._one(tuple(next(i) for i in iterators))
            totals = tf.nest.map_structure(tf.add, totals, metrics)
            return done + 1, totals, tf.where(finite | (bad_update >= 0), bad_update, update)

        with tf.device(CPU):
            specs, _ = self.traced.structured_outputs
            totals = tf.nest.map_structure(lambda spec: tf.zeros(spec.shape, spec.dtype), specs)
            begin = tf.constant(0), totals, tf.constant(-1, tf.int64)
            _, totals, bad_update = tf.while_loop(
                lambda done, *_: done < num_updates, one_more, begin
            )
            means = {name: s / n for name, (s, n) in totals.items()}
            return means, bad_update
