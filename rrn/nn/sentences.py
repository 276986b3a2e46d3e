"""Encoding sentences with an LSTM over their words, each distinct beginning of a sentence once."""

from typing import Any

import tensorflow as tf

from rrn.nn.cells import LSTMCell
from rrn.nn.checks import index_tensor
from rrn.nn.layers import Embedding, gather_with_dense_gradient
from rrn.variables.sharded import known_size


def prefix_tree(
    tokens: tf.Tensor, lengths: tf.Tensor, fixed_shapes: bool = False, multiple: int = 1
) -> dict[str, Any]:
    """Finds the distinct beginnings of sentences: level t of the tree holds those of t + 1 words.

    Args:
      tokens: the sentences' words, integers `[sentences, length]`, padded with any from 0.
      lengths: the sentences' numbers of words, integers `[sentences]`, at least 1.
      fixed_shapes: pad every level to as many entries as there are sentences, so that shapes depend
        on tokens' shape alone, as XLA needs them.
      multiple: else pad every level to a multiple of this number of entries.

    Returns:
      A dict of
        "words": for each level the last word of each of its beginnings, integers `[beginnings]`;
        "parents": for each level but the first, the row in the level before of what comes before
          that word, integers `[beginnings]`;
        "ends": each sentence's row among the beginnings of all levels, one level after the other,
          integers `[sentences]`.
    """
    tokens = index_tensor("prefix_tree: tokens", tokens, "[sentences, length]", [None, None])
    lengths = index_tensor("prefix_tree: lengths", lengths, "[sentences]", tokens.shape[:1])
    tokens, lengths = tf.cast(tokens, tf.int64), tf.cast(lengths, tf.int64)
    known, longest = tf.get_static_value(lengths), tokens.shape[1]
    wrong = [] if known is None else known[(known < 1) | (known > longest)]
    if len(wrong):
        raise ValueError(
            f"prefix_tree: lengths must be from 1 to {longest}, as many words as tokens have, "
            f"got {wrong[0]}"
        )
    num_words = tf.reduce_max(tokens) + 1
    place, first, ends = tf.zeros_like(lengths), tf.constant(0, tf.int64), tf.zeros_like(lengths)
    words, parents = [], []
    for t, column in enumerate(tf.unstack(tokens, known_size(tokens, 1), axis=1)):
        inside = tf.where(t < lengths)
        rows = tf.squeeze(inside, 1)
        keys = tf.gather(place, rows) * num_words + tf.gather(column, rows)
        beginnings, key_place = tf.unique(keys, out_idx=tf.int64)
        place = tf.tensor_scatter_nd_update(place, inside, key_place)
        ends = tf.where(t + 1 == lengths, first + place, ends)
        if fixed_shapes or multiple > 1:
            number = -(-tf.size(beginnings) // multiple) * multiple
            beginnings = padded(beginnings, tf.size(lengths) if fixed_shapes else number)
        first += tf.size(beginnings, tf.int64)
        words.append(tf.cast(tf.math.floormod(beginnings, num_words), tf.int32))
        parents.append(tf.cast(beginnings // num_words, tf.int32))
    return {"words": tuple(words), "parents": tuple(parents[1:]), "ends": tf.cast(ends, tf.int32)}


def padded(rows: tf.Tensor, number: int | tf.Tensor) -> tf.Tensor:
    """Adds zeros at the end: `[n]` to `[number]`, number at least n."""
    longer = tf.concat([rows, tf.zeros([number - tf.size(rows)], rows.dtype)], 0)
    return tf.ensure_shape(longer, [tf.get_static_value(number)])


class SentenceEncoder(tf.Module):
    """The LSTM's hidden output after each sentence's last word.

    An LSTM's state after some words depends on them alone, so sentences that begin alike share the
    states of their beginnings. `rrn.nn.plain.encoded_sentences` is the plain loop.
    """

    def __init__(
        self,
        embedding_size: int,
        hidden_size: int,
        compute_dtype: tf.DType | str = tf.float32,
        name: str = "sentence_encoder",
    ):
        super().__init__(name=name)
        with self.name_scope:
            self.lstm = LSTMCell(embedding_size, hidden_size, compute_dtype)

    def __call__(self, embedding: Embedding, tree: dict[str, Any]) -> tf.Tensor:
        """Encodes the sentences of a `prefix_tree`: `[sentences, hidden_size]`."""
        sizes = [tf.size(words) for words in tree["words"]]
        vectors = tf.split(embedding(tf.concat(tree["words"], 0)), sizes)
        state, levels = None, []
        for t, words in enumerate(vectors):
            if state is not None:
                parents = tree["parents"][t - 1]
                state = [gather_with_dense_gradient(s, parents) for s in state]
            state = self.lstm(words, state)
            levels.append(state[0])
        # A sparse gradient would be taken apart level by level.
        return gather_with_dense_gradient(tf.concat(levels, 0), tree["ends"])
