"""Towers: the same variables on several devices, each with its own inputs.

In TensorFlow 2 a gradient operation does not follow its forward operation; it runs where
`tape.gradient` is called. The tape is therefore split: each tower's tape is differentiated on the
tower's device down to the encodings, and their gradients feed the encoder's tape on the encoder's
device.

    encoder's device    batch --encode--> encodings            d encodings --> gradients (encoder)
                        [encoder_tape         ]   |                 ^     [encoder_tape]
    tower's device                                v                 |
                                               leaves --loss_fn--> losses --> gradients (network)
                                               [tape                      ]
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import tensorflow as tf

from rrn.compiling import run_compiled
from rrn.distribute.devices import cpu_beside
from rrn.optimizers.optimizer import Gradient
from rrn.variables.reading import Variable, reading_scope, values_of
from rrn.variables.recorder import record_reads


@dataclasses.dataclass(frozen=True)
class Tower:
    """Where and how a tower runs.

    Attributes:
      encodes_itself: whether the encoder runs on it, too; otherwise on the CPU beside it.
      compiled: whether XLA compiles what runs on the device.
      variables: what may be read there if it is compiled, whole or in shards. XLA reads no variable
        of another device, so it is given their values.
    """

    device: str
    encodes_itself: bool = False
    compiled: bool = False
    variables: Sequence[Variable] = ()

    @property
    def encoder_device(self) -> str:
        """The device of the encoder."""
        return self.device if self.encodes_itself else cpu_beside(self.device)

    def run(self, function: Callable[[Mapping[Any, tf.Tensor]], Any]) -> Any:
        """Runs a function on the tower's device.

        Args:
          function: a function from given values, which `reading_scope` takes, to a nest of tensors
            and None.
        """
        with tf.device(self.device):
            if not self.compiled:
                return function({})
            values = values_of(self.variables)
            given = {variable: tf.identity(value) for variable, value in values.items()}
            return run_compiled(lambda: function(given))


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
    variables = [*network.variables, *(encoder.variables if encodes_itself else ())]
    return [Tower(device, encodes_itself, compiled, variables) for device in devices]


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

    It notes the variables' reads (see `rrn.variables.recorder`).

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

    Raises:
      ValueError: `variables` is no list of lists of variables, or a loss is no scalar.
    """
    flat_variables = tf.nest.flatten(list(variables))
    if not all(isinstance(v, tf.Variable) for own in variables for v in own):
        raise ValueError("tower_gradients: variables must be a list of tf.Variable for each loss")
    tower = Tower(tower) if isinstance(tower, str) else tower
    with (
        tf.device(tower.encoder_device),
        reading_scope() as reads,
        tf.GradientTape(persistent=True) as encoder_tape,
    ):
        encodings = {} if tower.encodes_itself else encode(batch)
    record_reads(reads.counts)
    flat = tf.nest.flatten(encodings)
    in_encoder = {variable.ref() for variable in encoder_tape.watched_variables()}
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
            losses, aux = loss_fn(own_encodings, batch)
        record_reads(reads.counts)
        for loss in losses:
            if not loss.shape.is_compatible_with([]):
                raise ValueError(
                    f"tower_gradients: a loss must be a scalar, got shape {loss.shape}; of losses "
                    "by example take tf.reduce_mean"
                )
        targets = [[given.get(v.ref(), v) for v in own] for own in variables]
        parts = [
            tape.gradient(loss, (own, sources)) for loss, own in zip(losses, targets, strict=True)
        ]
        return losses, aux, parts

    losses, aux, parts = tower.run(gradients_on_device)
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
