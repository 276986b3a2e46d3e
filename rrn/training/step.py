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

import dataclasses
import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import tensorflow as tf

from rrn.compiling import is_compiling, placed, run_compiled
from rrn.distribute.devices import CPU
from rrn.distribute.gradients import average_gradients
from rrn.distribute.towers import TowerResult, tower_gradients
from rrn.optimizers import clip_by_global_norm
from rrn.optimizers.optimizer import Gradient
from rrn.order import add_in_order
from rrn.tasks.task import Batch, Pair, Task
from rrn.training.stages import Objective, Stage
from rrn.training.state import TrainingState
from rrn.variables.random import ExampleRandom
from rrn.variables.reading import shards
from rrn.variables.recorder import tower_scope


def update(
    state: TrainingState, stage: Stage, batches: Sequence[Batch]
) -> tuple[dict[str, Pair], tf.Tensor]:
    """Makes one update, of a batch for each device.

    Returns:
      (metrics with the losses, whether losses and gradients are finite).
    """
    towers, counts = run_towers(state, stage, batches)
    number = state.update.read_value()

    def change_variables():
        losses, gradients, metrics = average(stage, towers, counts)
        scalars, finite = apply(state, stage, losses, gradients, number)
        return {**scalars, **metrics}, finite

    if state.compiled:
        towers = [_with_shapes(stage, tower) for tower in towers]
    if place := _common_place(state, stage):
        with tf.device(place):
            results = run_compiled(change_variables)
    else:
        results = change_variables()
    state.update.assign_add(1)
    return results


def run_towers(
    state: TrainingState, stage: Stage, batches: Sequence[Batch]
) -> tuple[list[TowerResult], list[tf.Tensor]]:
    """Computes losses and gradients on every tower.

    Returns:
      For each tower its result, whose `aux` are the metrics; for each its number of examples.
    """
    towers = []
    for number, batch in enumerate(batches):
        with tower_scope(f"tower {number}"):
            towers.append(run_tower(state, stage, number, batch))
    return towers, [tf.size(batch["rows"]) for batch in batches]


def run_tower(state: TrainingState, stage: Stage, number: int, batch: Batch) -> TowerResult:
    """Computes losses and gradients on one tower, that of the device with this number.

    The result's `aux` are the metrics.
    """
    task, tower = state.task, state.towers[number]
    options, carried = stage.loss_options, stage.segments
    pool, segments = state.pool if carried else None, None
    if pool:
        with tf.device(tower.device):
            segments = pool.segments(number)
            batch, carried_state = pool.take(number, batch)
        options = {**options, "state": carried_state}
    random = ExampleRandom(batch["seed"], batch["rows"], state.config.batch_size)

    def loss_fn(encodings, batch):
        losses, outputs = task.loss(encodings, batch, random, training=True, **options)
        metrics, kept = _own_metrics(stage, task, task.metrics(batch, outputs)), None
        if carried and pool and segments is not None:
            limits = carried.max_segments, carried.leave_probability
            left, more = pool.leave(segments, batch, outputs["solved"], *limits)
            metrics, kept = {**metrics, **more}, (outputs["state"], left)
        return _mean_losses(stage, losses), (metrics, kept)

    variables = [shards(objective.variables_) for objective in stage.objectives]
    result = tower_gradients(tower, task.encode, loss_fn, batch, variables)
    metrics, kept = result.aux
    if pool:  # here, since a compiled tower changes no variable
        with tf.device(tower.device):
            pool.put(number, batch, *kept)
    return dataclasses.replace(result, aux=metrics)


def _mean_losses(stage: Stage, losses: Mapping[str, tf.Tensor]) -> list[tf.Tensor]:
    """For each objective its loss, the mean over the examples."""
    for objective in stage.objectives:
        if objective.loss not in losses:
            names = ", ".join(losses) or "none: the task returns no losses"
            raise ValueError(
                f"stage {stage.name}: loss must be one of {names}, got {objective.loss!r}"
            )
    return [tf.reduce_mean(losses[objective.loss]) for objective in stage.objectives]


def _own_metrics(stage: Stage, task: Task, metrics: Mapping[str, Any]) -> dict[str, Any]:
    """Without those of losses that the stage does not train."""
    trained = {objective.loss for objective in stage.objectives}
    losses = task.metric_losses
    return {n: value for n, value in metrics.items() if losses.get(n) in {None, *trained}}


def average(
    stage: Stage, towers: Sequence[TowerResult], counts: Sequence[tf.Tensor]
) -> tuple[list[tf.Tensor], list[list[Gradient]], dict[str, Pair]]:
    """Averages over towers, and adds the L2 term's gradients.

    Returns:
      (mean losses, averaged gradients with the L2 term's, metrics).

    Raises:
      ValueError: a loss reaches no variable of one of its modules.
    """
    with placed(CPU):
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
    """Adds the L2 term's gradient, l2 w, for each of the task's regularized variables w.

    A gradient that is None stays None.
    """
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
    stage: Stage,
    losses: Sequence[tf.Tensor],
    gradients: Sequence[Sequence[Gradient]],
    number: tf.Tensor,
) -> tuple[dict[str, Pair], tf.Tensor]:
    """Changes the variables.

    Args:
      number: the number of updates before this one.

    Returns:
      (losses, norms of gradients and learning rates as metrics, whether losses and gradients are
      finite).
    """
    with placed(CPU):
        own_number = number - stage.first
        finite, scalars = [], {}
        for objective, loss, own in zip(stage.objectives, losses, gradients, strict=True):
            clipped, norm = clip_by_global_norm(own, objective.config.clip_norm)
            rate = objective.rate(own_number)
            _take_step(state, objective, clipped, rate, own_number)
            finite += [tf.math.is_finite(loss), tf.math.is_finite(norm)]
            numbers = {"loss": loss, "gradient_norm": norm, "learning_rate": rate}
            scalars.update({objective.label(n): (v, tf.ones([])) for n, v in numbers.items()})
        if state.averages:
            state.averages.update()
        return scalars, tf.reduce_all(finite)


def _take_step(state, objective, gradients, rate, number):
    """The optimizer's step; where towers are compiled, XLA compiles it for each GPU by itself."""
    whole = all(isinstance(v, tf.Variable) for v in state.model_variables)
    if not (state.compiled and whole) or is_compiling():
        return objective.optimizer.apply(gradients, rate, number)
    for place, own in _by_place(objective, gradients):
        change = functools.partial(objective.optimizer.apply, own, rate, number)
        with tf.device(place):
            run_compiled(change) if "GPU" in place else change()


def _by_place(
    objective: Objective, gradients: Sequence[Gradient]
) -> Iterator[tuple[str, list[Gradient]]]:
    """Each device that holds variables, with the gradients of these, None for the others'."""
    places = [variable.device for variable in shards(objective.variables_)]
    for place in dict.fromkeys(places):
        pairs = zip(gradients, places, strict=True)
        yield place, [gradient if own == place else None for gradient, own in pairs]


def _common_place(state, stage):
    """The device of all variables that an update of a stage changes, or None.

    It is None if XLA cannot change them in one computation beside the towers.
    """
    if not state.compiled:
        return None
    changed = [v for objective in stage.objectives for v in shards(objective.variables_)]
    changed += shards(state.model_variables) if state.averages else []
    places = {variable.device for variable in changed}
    on_gpu = "GPU" in state.devices[0]
    beside = [place for place in places if ("GPU" in place) == on_gpu]
    return beside[0] if len(places) == 1 and beside else None


def _with_shapes(stage, tower):
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
