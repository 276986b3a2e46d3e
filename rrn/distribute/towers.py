"""Towers: the same variables on several devices, each with its own inputs.

In TensorFlow 2 a gradient operation does not follow its forward operation; it runs where
`tape.gradient` is called. The tape is therefore split: each tower's tape is differentiated on the
tower's device down to the encodings, and their gradients feed the encoder's tape on the encoder's
device.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import tensorflow as tf
from absl import logging

from rrn.compiling import UnknownShapeError, run_compiled
from rrn.distribute.devices import cpu_beside
from rrn.optimizers.optimizer import Gradient
from rrn.variables.reading import Variable, reading_scope, values_of
from rrn.variables.recorder import record, record_reads


@dataclasses.dataclass(frozen=True)
class Tower:
    """Where and how a tower runs.

    Attributes:
      encodes_itself: whether the encoder runs on it, too; otherwise on the CPU beside it.
      compiled: whether XLA compiles what runs on the device.
      variables: what may be read there if it is compiled, whole or in shards. XLA reads no variable
        of another device, so it is given their values.
      said: why towers have not been compiled; the towers of one trainer say it once.
    """

    device: str
    encodes_itself: bool = False
    compiled: bool = False
    variables: Sequence[Variable] = ()
    said: set[str] = dataclasses.field(default_factory=set)

    @property
    def encoder_device(self) -> str:
        """The device of the encoder."""
        return self.device if self.encodes_itself else cpu_beside(self.device)

    def run(self, function: Callable[[Mapping[Any, tf.Tensor]], Any]) -> Any:
        """Runs a function on the tower's device.

        Where a shape may differ from batch to batch, it is not compiled, and a warning says so.

        Args:
          function: a function from given values, which `reading_scope` takes, to a nest of tensors
            and None.
        """
        with tf.device(self.device):
            if self.compiled:
                values = values_of(self.variables)
                given = {variable: tf.identity(value) for variable, value in values.items()}
                try:
                    return run_compiled(lambda: function(given))
                except UnknownShapeError as error:
                    if not self.said:
                        logging.warning("Towers are not compiled: %s.", error)
                    self.said.add(str(error))
            return function({})


def make_towers(
    devices: Sequence[str],
    network: tf.Module,
    encoder: tf.Module,
    encodes_itself: bool = False,
    compiled: bool = False,
) -> list[Tower]:
    """Makes a tower for each device.

    Args:
      network: the modules that run on every tower.
      encoder: the modules that run on the CPU, or with `encodes_itself` on every tower, too.
    """
    variables, said = [*network.variables, *(encoder.variables if encodes_itself else ())], set()
    return [Tower(device, encodes_itself, compiled, variables, said) for device in devices]


@dataclasses.dataclass
class TowerResult:
    """What `tower_gradients` computes on one tower; losses are scalars.

    Attributes:
      gradients: for each loss a list with one gradient for each of the loss's variables. A gradient
        is None where the loss does not depend on the variable.
      aux: what else `loss_fn` returned.
    """

    losses: list[tf.Tensor]
    gradients: list[list[Gradient]]
    aux: Any


def tower_gradients(
    tower: Tower | str,
    encode: Callable[[Any], Any],
    loss_fn: Callable[[Any, Any], tuple[Sequence[tf.Tensor], Any]],
    batch: Any,
    variables: Sequence[Sequence[tf.Variable]],
) -> TowerResult:
    """Computes losses of a batch and the gradients of each, from one forward pass.

    It notes the variables' reads and the tower's own tensors (see `rrn.variables.recorder`):
    "inputs/...", "encodings/...", what its network notes, and "loss".

    Args:
      tower: where and how it runs; a device's name for `Tower(device)`.
      encode: a function from the batch to a nest of float tensors, which runs on the tower's
        encoder device. It may return an empty nest.
      loss_fn: a function from the encodings and the batch to a list of scalar losses and a nest of
        other tensors, which runs on the tower's device. If that is compiled, it changes no variable
        and reads those of `tower.variables` alone.
      batch: the tower's own batch, a nest of tensors.
      variables: for each loss a list of the variables of which to take its gradients. They may be
        variables that `encode` reads, that `loss_fn` reads, or both.

    Returns:
      The losses, their gradients, and what else `loss_fn` returned.

    Raises:
      ValueError: `variables` is no list of lists of TensorFlow's variables, or `loss_fn` returns
        something else than a pair with a scalar loss for each of these lists.
    """
    _check_variables(variables)
    tower = Tower(tower) if isinstance(tower, str) else tower
    record("inputs", batch, tower.encoder_device)
    with (
        tf.device(tower.encoder_device),
        reading_scope() as encoder_reads,
        tf.GradientTape(persistent=True) as encoder_tape,
    ):
        encodings = {} if tower.encodes_itself else encode(batch)
    record("encodings", encodings, tower.encoder_device)
    flat = tf.nest.flatten(encodings)
    in_encoder = {variable.ref() for variable in encoder_tape.watched_variables()}
    flat_variables = tf.nest.flatten(variables)
    trains_encoder = any(variable.ref() in in_encoder for variable in flat_variables)

    def gradients_on_device(given):
        # The encodings of this tape are its own leaves, so that it ends at them.
        leaves = [tf.stop_gradient(encoding) for encoding in flat]
        sources = leaves if trains_encoder else []
        with (
            reading_scope(given) as reads,
            tf.GradientTape(persistent=True, watch_accessed_variables=False) as tape,
        ):
            tape.watch([flat_variables, list(given.values()), sources])
            own_encodings = tf.nest.pack_sequence_as(encodings, leaves)
            if tower.encodes_itself:
                own_encodings = encode(batch)
            losses, aux = _checked_losses(loss_fn(own_encodings, batch), len(variables))
        targets = [[given.get(v.ref(), v) for v in own] for own in variables]
        parts = [
            tape.gradient(loss, (own, sources)) for loss, own in zip(losses, targets, strict=True)
        ]
        counts.append(reads.counts)
        return losses, aux, parts

    counts = []  # one more if what could not be compiled was traced before
    losses, aux, parts = tower.run(gradients_on_device)
    for own in encoder_reads.counts, counts[-1]:
        record_reads(own)
    for loss in losses:
        record("loss", loss, tower.device)
    with tf.device(tower.encoder_device):
        gradients = [
            _add_encoder_part(encoder_tape, flat, own, *part)
            for own, part in zip(variables, parts, strict=True)
        ]
    return TowerResult(losses, gradients, aux)


def tower_outputs(
    tower: Tower,
    encode: Callable[[Any], Any],
    function: Callable[[Any, Any], Any],
    batch: Any,
) -> Any:
    """Runs a function of a batch and its encodings, without gradients; see `tower_gradients`.

    Args:
      function: a function from the encodings and the batch to a nest of tensors, which runs on the
        tower's device; for one that is compiled holds what holds for `tower_gradients`' `loss_fn`.
    """
    with tf.device(tower.encoder_device), reading_scope():
        encodings = {} if tower.encodes_itself else encode(batch)

    def outputs_on_device(given):
        with reading_scope(given):
            return function(encode(batch) if tower.encodes_itself else encodings, batch)

    return tower.run(outputs_on_device)


def _check_variables(variables):
    """Refuses what is no list of variables for each loss."""
    name = "tower_gradients: variables"
    if not isinstance(variables, (list, tuple)):
        got = type(variables).__name__
        raise ValueError(f"{name} must be a list of lists, one for each loss, got a {got}")
    for i, own in enumerate(variables):
        if not isinstance(own, (list, tuple)):
            raise ValueError(
                f"{name}[{i}] must be the list of the variables of losses[{i}], got a "
                f"{type(own).__name__}; of one loss it is [variables]"
            )
        for j, variable in enumerate(own):
            if not isinstance(variable, tf.Variable):
                got, is_keras = type(variable), type(variable).__module__.startswith("keras")
                hint = "; of a Keras variable give its `value`" if is_keras else ""
                raise ValueError(
                    f"{name}[{i}][{j}] must be a tf.Variable, got a {got.__name__}{hint}"
                )


def _checked_losses(returned, number):
    """(losses, aux) as `loss_fn` returned them; refuses losses that are no scalars."""
    if not isinstance(returned, (list, tuple)) or len(returned) != 2:
        got = type(returned).__name__
        raise ValueError(f"tower_gradients: loss_fn must return a pair (losses, aux), got a {got}")
    losses, aux = returned
    if not isinstance(losses, (list, tuple)) or len(losses) != number:
        got = f"{len(losses)} losses" if isinstance(losses, (list, tuple)) else type(losses)
        raise ValueError(
            "tower_gradients: loss_fn must return a list with a loss for each of the "
            f"{number} lists of variables, got {got}"
        )
    for i, loss in enumerate(losses):
        if not tf.is_tensor(loss) or not loss.dtype.is_floating:
            got = loss.dtype.name if tf.is_tensor(loss) else type(loss).__name__
            raise ValueError(f"tower_gradients: losses[{i}] must be a tensor of floats, got {got}")
        if not loss.shape.is_compatible_with([]):
            raise ValueError(
                f"tower_gradients: losses[{i}] must be a scalar, got shape {loss.shape}; of losses "
                "by example take tf.reduce_mean"
            )
    return losses, aux


def _add_encoder_part(tape, encodings, variables, gradients, encoding_gradients):
    """The variables' gradients plus what reaches the variables through the encodings."""
    pairs = zip(encodings, encoding_gradients, strict=False)  # none if the encoder is not trained
    reached = [(e, g) for e, g in pairs if g is not None]
    if not reached:
        return gradients
    targets, target_gradients = (list(part) for part in zip(*reached, strict=True))
    from_encoder = tape.gradient(targets, variables, output_gradients=target_gradients)
    return [_add(a, b) for a, b in zip(gradients, from_encoder, strict=True)]


def _add(a, b):
    if a is None or b is None:
        return b if a is None else a
    return tf.convert_to_tensor(a) + tf.convert_to_tensor(b)
