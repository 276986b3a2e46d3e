"""Towers: the same variables on several devices, each with its own inputs.

In TensorFlow 2 a gradient operation does not follow its forward operation; it runs where
`tape.gradient` is called. The tape is therefore split: each tower's tape is differentiated on the
tower's device down to the encodings, and their gradients feed the encoder's tape on the encoder's
device.
"""

import dataclasses
from typing import Any

import tensorflow as tf

from rrn.distribute.devices import cpu_beside
from rrn.reading import reading_scope


@dataclasses.dataclass
class TowerResult:
    """One tower's losses, their gradients, and what else it gave.

    gradients: for each loss a list with one gradient, or None, per variable of it.
    reads: variable reference -> how many times the tower (its encoder included) reads the variable.
    """

    losses: list
    gradients: list
    aux: Any
    reads: dict


def tower_gradients(device, encode, loss_fn, batch, variables):
    """Losses of one tower, each with the gradients of its own variables, from one forward pass.

    encode: batch -> nest of float tensors, on the CPU beside `device`.
    loss_fn: (encodings, batch) -> (list of scalar losses, aux), on `device`.
    variables: for each loss a list of what its gradients are taken of; those that only `encode` or
    only `loss_fn` reads are both fine.
    """
    encoder_device = cpu_beside(device)
    with (
        tf.device(encoder_device),
        reading_scope() as encoder_reads,
        tf.GradientTape(persistent=True) as encoder_tape,
    ):
        encodings = encode(batch)
    flat = tf.nest.flatten(encodings)
    in_encoder = {variable.ref() for variable in encoder_tape.watched_variables()}
    flat_variables = tf.nest.flatten(variables)
    trains_encoder = any(variable.ref() in in_encoder for variable in flat_variables)
    with tf.device(device), reading_scope() as reads:
        # The encodings of this tape are its own leaves, so that it ends at them.
        leaves = [tf.stop_gradient(encoding) for encoding in flat]
        sources = leaves if trains_encoder else []
        with tf.GradientTape(persistent=True, watch_accessed_variables=False) as tape:
            tape.watch([flat_variables, sources])
            losses, aux = loss_fn(tf.nest.pack_sequence_as(encodings, leaves), batch)
        parts = [
            tape.gradient(loss, (own, sources)) for loss, own in zip(losses, variables, strict=True)
        ]
    with tf.device(encoder_device):
        gradients = [
            _add_encoder_part(encoder_tape, flat, own, *part)
            for own, part in zip(variables, parts, strict=True)
        ]
    counts = dict(reads.counts)
    for variable, count in encoder_reads.counts.items():
        counts[variable] = counts.get(variable, 0) + count
    return TowerResult(losses, gradients, aux, counts)


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
