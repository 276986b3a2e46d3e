"""From text to words' ids, in TensorFlow, as `data_prep.babi.stories: words` splits sentences."""

import tensorflow as tf

MAX_WORDS = 24  # of a sentence


def split_facts(stories: tf.Tensor) -> tf.RaggedTensor:
    """Splits stories at full stops and ends of lines into the facts that have a word.

    From strings `[stories]` come strings `[stories, (facts)]`.
    """
    lines = tf.strings.regex_replace(stories, r"[.\n]", "\n")
    facts = tf.strings.split(lines, sep="\n")
    return tf.ragged.boolean_mask(facts, tf.strings.length(tf.strings.strip(facts)) > 0)


def token_ids(sentences: tf.Tensor, vocabulary: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Looks up the words of sentences; word 0 stands for all that are not in the vocabulary.

    Args:
      sentences: strings `[sentences]`, each of 1 to `MAX_WORDS` words.
      vocabulary: strings `[words]`.

    Returns:
      (ids `[sentences, MAX_WORDS]`, int32, 0 after a sentence's end; numbers of words
      `[sentences]`).
    """
    letters = tf.strings.regex_replace(tf.strings.lower(sentences, "utf-8"), r"[.?]", "")
    words = tf.strings.split(letters)
    lengths = words.row_lengths()
    tf.debugging.assert_positive(lengths, "a sentence has no word")
    tf.debugging.assert_less_equal(
        lengths, tf.constant(MAX_WORDS, tf.int64), f"a sentence has more than {MAX_WORDS} words"
    )
    distinct, place = tf.unique(words.flat_values)
    known = distinct[:, None] == vocabulary
    ids = tf.where(tf.reduce_any(known, 1), tf.argmax(known, 1, tf.int32), 0)
    ids = words.with_flat_values(tf.gather(ids, place))
    return ids.to_tensor(shape=[None, MAX_WORDS]), lengths
