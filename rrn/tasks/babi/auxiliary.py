"""The auxiliary loss in training: every fact predicts words of other facts about its topics.

The answer alone teaches some tasks poorly: in task 16 ("Lily is a swan. ... Bernhard is green.") a
network is right in half of its answers from the colours alone, and does not learn that the other
half depends on facts with a name or an animal in common. So a readout of every fact's state also
predicts, at every step, the content words of the OTHER facts of its story that mention one of its
topics. The labels come from the story's own words: no supporting facts, no answers.

A content word is one that is rare in facts. A fact's topics are its subject and its object, which
are its first and its last content word.
"""

import numpy as np
import tensorflow as tf

from rrn.tasks.task import Batch

CONTENT_SHARE = 0.4  # a word in a larger share of facts, as "the", "is" or "to", says little


def content_words(words: np.ndarray, facts: np.ndarray, fact_tasks: np.ndarray) -> np.ndarray:
    """Finds whether each word is a content word, booleans `[words]`.

    A word is one if at most `CONTENT_SHARE` of the facts have it, in the mean over the tasks in
    which it occurs. Word 0, which stands for all unknown words, is none.

    Args:
      words: those of each sentence, from `bags_of_words`.
      facts: the facts' sentences, numbers `[facts]`.
      fact_tasks: the task that each fact is of `[facts]`.
    """
    tasks = [facts[fact_tasks == t] for t in np.unique(fact_tasks)]
    counts = np.stack([np.bincount(own, minlength=len(words)) for own in tasks])
    shares = counts @ words / counts.sum(axis=1, keepdims=True)
    content = shares.sum(axis=0) <= CONTENT_SHARE * (shares > 0).sum(axis=0)
    content[0] = False
    return content


def bags_of_words(tokens: np.ndarray, lengths: np.ndarray, num_words: int) -> np.ndarray:
    """Finds which words each sentence has: 0 or 1, float32 `[sentences, num_words]`."""
    words = np.zeros([len(tokens), num_words], np.float32)
    sentence, position = np.nonzero(np.arange(tokens.shape[1]) < lengths[:, None])
    words[sentence, tokens[sentence, position]] = 1.0
    return words


def find_topics(tokens: np.ndarray, lengths: np.ndarray, content: np.ndarray) -> np.ndarray:
    """Finds each sentence's first and last content word, ids `[sentences, 2]`, -1 without any."""
    is_content = content[tokens] & (np.arange(tokens.shape[1]) < lengths[:, None])
    last = tokens.shape[1] - 1 - is_content[:, ::-1].argmax(axis=1)
    positions = np.stack([is_content.argmax(axis=1), last], axis=1)
    found = np.take_along_axis(tokens, positions, axis=1)
    return np.where(is_content.any(axis=1, keepdims=True), found, -1).astype(np.int32)


def topic_labels(topics: tf.Tensor, words: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
    """Finds the content words of the other facts that mention a topic of each fact.

    Args:
      topics: the facts' topics, integers `[stories, facts, 2]`, -1 for none.
      words: their content words, 0 or 1, `[stories, facts, words]`.
      mask: 0 for padding, else 1, `[stories, facts]`.

    Returns:
      0 or 1, `[stories, facts, words]`; 0 for a fact's own topics.
    """
    own = tf.reduce_max(tf.one_hot(topics, words.shape[-1]), axis=2)
    mentions = tf.minimum(tf.matmul(own, words, transpose_b=True), 1.0)
    mentions *= mask[:, None] * (1.0 - tf.eye(tf.shape(mask)[1]))
    return tf.minimum(tf.matmul(mentions, words), 1.0) * (1.0 - own)


def auxiliary_loss(logits: tf.Tensor, labels: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
    """Computes the mean over steps and a story's facts of the words' summed cross-entropies.

    Args:
      logits: `[stories, facts, steps, words]`.
      labels: those of `topic_labels`.
      mask: 0 for padding, else 1, `[stories, facts]`.
    """
    labels = tf.repeat(labels[:, :, None], logits.shape[2], axis=2)
    losses = tf.nn.sigmoid_cross_entropy_with_logits(labels, tf.cast(logits, tf.float32))
    losses = tf.reduce_mean(tf.reduce_sum(losses, axis=3), axis=2)
    return tf.math.divide_no_nan(tf.reduce_sum(losses * mask, 1), tf.reduce_sum(mask, 1))


def auxiliary_losses(logits: tf.Tensor, batch: Batch) -> tf.Tensor:
    """Computes `auxiliary_loss` `[examples]` by bucket, of logits `[nodes, steps, words]`."""
    of_nodes = [tf.gather(batch[name], batch["fact_of_node"]) for name in ("topics", "content")]
    sizes = [tf.size(mask) for mask in batch["masks"]]
    by_bucket = [tf.split(rows, sizes) for rows in (logits, *of_nodes)]
    losses = []
    for mask, *rows in zip(batch["masks"], *by_bucket, strict=True):
        shapes = [tf.concat([tf.shape(mask), values.shape[1:]], 0) for values in rows]
        own_logits, topics, content = map(tf.reshape, rows, shapes)
        losses.append(auxiliary_loss(own_logits, topic_labels(topics, content, mask), mask))
    return tf.concat(losses, 0)


def some_facts(batch: Batch, draws: tf.Tensor, num_facts: int) -> Batch:
    """Makes a batch of one bucket with at most `num_facts` facts of every story.

    Args:
      draws: numbers in [0, 1), `[examples, most facts]`.
    """
    masks, nodes, first_node, first_graph = [], [], 0, 0
    for mask in batch["masks"]:
        graphs, size = tf.shape(mask)[0], mask.shape[1]
        keys = mask * (1.0 + draws[first_graph : first_graph + graphs, :size])
        keys, fact = tf.math.top_k(keys, min(num_facts, size))  # padding, 0, comes last
        node = first_node + size * tf.range(graphs)[:, None] + fact
        padding = [[0, 0], [0, num_facts - keys.shape[1]]]
        masks.append(tf.pad(tf.cast(keys > 0.0, tf.float32), padding))
        nodes.append(tf.pad(node, padding))
        first_node += tf.size(mask)
        first_graph += graphs
    nodes = tf.reshape(tf.concat(nodes, 0), [-1])
    return {
        **batch,
        "masks": (tf.concat(masks, 0),),
        "fact_of_node": tf.gather(batch["fact_of_node"], nodes),
        "position_of_node": tf.gather(batch["position_of_node"], nodes),
    }
