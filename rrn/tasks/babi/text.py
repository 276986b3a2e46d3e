"""From text to words' ids in TensorFlow: sentences as in `rrn.data_prep.babi.stories: words`."""

import tensorflow as tf

from rrn.data_prep.babi.stories import FACT_ENDS, QUESTION_ENDS

MAX_WORDS = 24  # of a sentence
_ENDS = f"[{FACT_ENDS}{QUESTION_ENDS}]"  # of sentences
# What stands before a sentence in a list: "1", "2.", "(3)", "[4]", "5:", "-".
_LIST_MARK = r"^\s*(?:[#(\[]?[0-9]+[)\]]?[.:]?(?:\s+|$)|[-*•]\s+)"


def split_facts(stories: tf.Tensor) -> tf.RaggedTensor:
    """Splits stories at marks that end sentences and at ends of lines.

    Returns:
      The facts that have a word, strings `[stories, (facts)]`, without the numbers of a list.
    """
    lines = tf.strings.regex_replace(stories, rf"{_ENDS}|[\n\r]", "\n")
    facts = tf.strings.split(lines, sep="\n")
    facts = facts.with_flat_values(_without_list_mark(facts.flat_values))
    return tf.ragged.boolean_mask(facts, tf.strings.length(tf.strings.strip(facts)) > 0)


def token_ids(
    sentences: tf.Tensor, vocabulary: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Looks up the words of sentences; word 0 stands for all that are not in the vocabulary.

    Args:
      sentences: strings `[sentences]`, each of 1 to `MAX_WORDS` words. The number of a list before
        a sentence is none of its words.
      vocabulary: strings `[words]`.

    Returns:
      (ids `[sentences, MAX_WORDS]`, int32, 0 after a sentence's end; numbers of words
      `[sentences]`; each sentence's words that are not in the vocabulary, with spaces between them,
      strings `[sentences]`).
    """
    letters = tf.strings.lower(_without_list_mark(sentences), "utf-8")
    words = tf.strings.split(tf.strings.regex_replace(letters, _ENDS, ""))
    lengths = words.row_lengths()
    tf.debugging.assert_positive(lengths, "a sentence has no word")
    tf.debugging.assert_less_equal(
        lengths, tf.constant(MAX_WORDS, tf.int64), f"a sentence has more than {MAX_WORDS} words"
    )
    distinct, index = tf.unique(words.flat_values)
    known = distinct[:, None] == vocabulary
    ids = tf.where(tf.reduce_any(known, 1), tf.argmax(known, 1, tf.int32), 0)
    ids = words.with_flat_values(tf.gather(ids, index))
    unknown = joined(tf.ragged.boolean_mask(words, ids == 0))
    return ids.to_tensor(shape=[None, MAX_WORDS]), lengths, unknown


def joined(texts: tf.RaggedTensor | tf.Tensor) -> tf.Tensor:
    """Joins the texts of each row, those that are not empty, with a space between them."""
    joint = tf.strings.reduce_join(texts, -1, separator=" ")
    return tf.strings.strip(tf.strings.regex_replace(joint, " +", " "))


def _without_list_mark(sentences):
    plain = tf.strings.regex_replace(sentences, r"\pZ", " ")  # no-break spaces, too
    return tf.strings.regex_replace(plain, _LIST_MARK, "")
