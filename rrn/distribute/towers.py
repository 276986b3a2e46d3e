"""Towers: the same variables on several devices, each with its own inputs."""

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
      variables: what may be read there if it is compiled. XLA reads no variable of another device,
        so it is given their values.
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
        """Runs a function on the device: from values for `reading_scope` to a nest of tensors."""
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
    """Makes a tower for each device, of the network and, with `encodes_itself`, the encoder."""
    variables = [*network.variables, *(encoder.variables if encodes_itself else ())]
    return [Tower(device, encodes_itself, compiled, variables) for device in devices]


@dataclasses.dataclass
class TowerResult:
    """What `tower_gradients` computes on one tower.

    Attributes:
      losses: scalars.
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
    """Computes losses of a batch and the gradients of each, from one forward pass on two tapes.

    In TensorFlow 2 a gradient operation does not follow its forward operation: it runs where
    `tape.gradient` is called. So each device has a tape of its own. The tower's tape begins at the
    encodings, and their gradients feed the encoder's tape.

        encoder's device    batch --encode--> encodings            d encodings --> d variables
                            [encoder_tape         ]   |                 ^     [encoder_tape]
        tower's device                                v                 |
                                                   leaves --loss_fn--> losses --> d variables
                                                   [tape                      ]

    Args:
      tower: where and how it runs; a device's name for `Tower(device)`.
      encode: a function from the batch to a nest of float tensors, which may be empty.
      loss_fn: a function from the encodings and the batch to a list of scalar losses and a nest of
        other tensors. If it is compiled, it changes no variable and reads those of
        `tower.variables` alone.
      batch: the tower's own batch, a nest of tensors.
      variables: for each loss a list of the variables of which to take its gradients, whether
        `encode` reads them, `loss_fn`, or both.

    Raises:
      ValueError: `variables` is no list of lists of variables, or a loss is no scalar.
    """
    tower = Tower(tower) if isinstance(tower, str) else tower
    if not all(isinstance(v, tf.Variable) for own in variables for v in own):
        raise ValueError("tower_gradients: variables must be a list of tf.Variable for each loss")
    with (
        tf.device(tower.encoder_device),
        reading_scope() as reads,
        tf.GradientTape(persistent=True) as encoder_tape,
    ):
        encodings = {} if tower.encodes_itself else encode(batch)
    record_reads(reads.counts)
    flat = tf.nest.flatten(encodings)
    in_encoder = {v.ref() for v in encoder_tape.watched_variables()}
    trains_encoder = any(v.ref() in in_encoder for own in variables for v in own)

    def losses_and_gradients(given):
        leaves = [tf.stop_gradient(encoding) for encoding in flat]
        sources = leaves if trains_encoder else []
        with (
            reading_scope(given) as reads,
            tf.GradientTape(persistent=True, watch_accessed_variables=False) as tape,
        ):
            tape.watch([list(variables), list(given.values()), sources])
            if tower.encodes_itself:
                losses, aux = loss_fn(encode(batch), batch)
            else:
                losses, aux = loss_fn(tf.nest.pack_sequence_as(encodings, leaves), batch)
        record_reads(reads.counts)
        for loss in losses:
            if not loss.shape.is_compatible_with([]):
                raise ValueError(
                    f"tower_gradients: a loss must be a scalar, got shape {loss.shape}; of losses "
                    "by example take tf.reduce_mean"
                )
        targets = [[given.get(v.ref(), v) for v in own] for own in variables]
        pairs = zip(losses, targets, strict=True)
        return losses, aux, [tape.gradient(loss, (own, sources)) for loss, own in pairs]

    losses, aux, parts = tower.run(losses_and_gradients)
    with tf.device(tower.encoder_device):
        gradients = [
            _add_encoder_part(encoder_tape, flat, own, *part)
            for own, part in zip(variables, parts, strict=True)
        ]
    if tower.compiled:  # what follows is compiled, too: with known shapes, and none is sparse
        pairs = zip(gradients, variables, strict=True)
        gradients = [[_dense(*pair) for pair in zip(*own, strict=True)] for own in pairs]
    return TowerResult(losses, gradients, aux)


def _dense(gradient, variable):
    if gradient is None:
        return None
    with tf.device(gradient.device):
        return tf.ensure_shape(tf.convert_to_tensor(gradient), variable.shape)


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


def tower_outputs(
    tower: Tower,
    encode: Callable[[Any], Any],
    function: Callable[[Any, Any], Any],
    batch: Any,
) -> Any:
    """Runs a function of encodings and batch as `tower_gradients` runs `loss_fn`."""
    with tf.device(tower.encoder_device), reading_scope():
        encodings = {} if tower.encodes_itself else encode(batch)

    def outputs_on_device(given):
        with reading_scope(given):
            return function(encode(batch) if tower.encodes_itself else encodings, batch)

    return tower.run(outputs_on_device)
