"""Towers: the same variables on several devices, each with its own inputs.

In TensorFlow 2 a gradient operation does not follow its forward operation; it runs where
`tape.gradient` is called. The tape is therefore split: each tower's tape is differentiated on the
tower's device down to the encodings, and their gradients feed the encoder's tape on the encoder's
device.
"""

import dataclasses
from typing import Any

import tensorflow as tf

from rrn.distribute.devices import CPU
from rrn.reading import reading_scope


@dataclasses.dataclass
class TowerResult:
    """One tower's loss, its gradients (one per variable, possibly None), and what else it gave.

    reads: variable reference -> how many times the tower (its encoder included) reads the variable.
    """

    loss: tf.Tensor
    gradients: list
    aux: Any
    reads: dict


def tower_gradients(device, encode, loss_fn, batch, variables, encoder_device=CPU):
    """Loss and gradients of one tower.

    encode: batch -> nest of float tensors, on `encoder_device`.
    loss_fn: (encodings, batch) -> (scalar loss, aux), on `device`.
    variables: what the gradients are taken of; those that only `encode` or only `loss_fn` reads are
    both fine.
    """
    with (
        tf.device(encoder_device),
        reading_scope() as encoder_reads,
        tf.GradientTape() as encoder_tape,
    ):
        encodings = encode(batch)
    flat = tf.nest.flatten(encodings)
    with tf.device(device), reading_scope() as reads:
        # The encodings of this tape are its own leaves, so that it ends at them.
        leaves = [tf.stop_gradient(encoding) for encoding in flat]
        with tf.GradientTape() as tape:
            tape.watch(leaves)
            loss, aux = loss_fn(tf.nest.pack_sequence_as(encodings, leaves), batch)
        gradients, leaf_gradients = tape.gradient(loss, (variables, leaves))
    with tf.device(encoder_device):
        reached = [(e, g) for e, g in zip(flat, leaf_gradients, strict=True) if g is not None]
        if reached:
            targets, target_gradients = zip(*reached, strict=True)
            from_encoder = encoder_tape.gradient(
                list(targets), variables, output_gradients=list(target_gradients)
            )
            gradients = [_add(a, b) for a, b in zip(gradients, from_encoder, strict=True)]
    counts = dict(reads.counts)
    for variable, count in encoder_reads.counts.items():
        counts[variable] = counts.get(variable, 0) + count
    return TowerResult(loss, gradients, aux, counts)


def _add(a, b):
    if a is None or b is None:
        return b if a is None else a
    return tf.convert_to_tensor(a) + tf.convert_to_tensor(b)
