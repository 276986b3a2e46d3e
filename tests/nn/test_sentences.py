"""Prefix trees and the sentence encoder against the plain loop over padded sentences."""

import numpy as np
import pytest
import tensorflow as tf

from rrn import Embedding, SentenceEncoder, prefix_tree
from rrn.nn import plain
from tests.compare import assert_close, names_and_shapes, randomize

VOCABULARY = 6


def as_lists(tree):
    return tf.nest.map_structure(lambda x: x.numpy().tolist(), tree)


def random_sentences(seed, sentences=40, length=5):
    """Few words, so that beginnings are shared and sentences come twice; every length occurs."""
    random = np.random.default_rng(seed)
    tokens = random.integers(0, VOCABULARY, [sentences, length]).astype(np.int32)
    lengths = random.integers(1, length + 1, sentences).astype(np.int32)
    lengths[:length] = np.arange(1, length + 1)
    tokens[-1], lengths[-1] = tokens[0], lengths[0]
    return tokens, lengths


def make_encoder(dtype=tf.float32):
    embedding, encoder = Embedding(VOCABULARY, 3), SentenceEncoder(3, 4, dtype)
    randomize(embedding)
    randomize(encoder)
    return embedding, encoder


def encode(embedding, encoder, tokens, lengths):
    return encoder(embedding, prefix_tree(tokens, lengths))


def test_prefix_tree_of_hand_written_sentences():
    tokens = [
        [5, 1, 2],
        [5, 1, 0],  # of two words: a beginning of the sentence before
        [5, 3, 2],
        [4, 1, 2],
        [5, 1, 2],  # once more
        [4, 0, 0],  # of one word
    ]
    tree = as_lists(prefix_tree(tokens, [3, 2, 3, 3, 3, 1]))
    # Beginnings: (0) 5, (1) 4 | (2) 5 1, (3) 5 3, (4) 4 1 | (5) 5 1 2, (6) 5 3 2, (7) 4 1 2
    assert tree == {
        "words": ([5, 4], [1, 3, 1], [2, 2, 2]),
        "parents": ([0, 0, 1], [0, 1, 2]),
        "ends": [5, 2, 6, 7, 5, 1],
    }


@pytest.mark.parametrize("seed", range(2))
def test_the_tree_spells_every_sentence_and_holds_no_beginning_twice(seed):
    tokens, lengths = random_sentences(seed)
    tree = as_lists(prefix_tree(tokens, lengths))
    beginnings = [[(word,) for word in tree["words"][0]]]
    for words, parents in zip(tree["words"][1:], tree["parents"], strict=True):
        pairs = zip(words, parents, strict=True)
        beginnings.append([(*beginnings[-1][parent], word) for word, parent in pairs])
    beginnings = [beginning for level in beginnings for beginning in level]
    assert len(set(beginnings)) == len(beginnings)
    sentences = [tuple(t[:n].tolist()) for t, n in zip(tokens, lengths, strict=True)]
    assert [beginnings[end] for end in tree["ends"]] == sentences
    assert set(beginnings) == {s[:n] for s in sentences for n in range(1, len(s) + 1)}


@pytest.mark.parametrize("seed", range(2))
def test_the_encoder_equals_the_plain_loop_in_value_and_in_every_gradient(seed):
    (embedding, encoder), (tokens, lengths) = make_encoder(), random_sentences(seed)
    weights = np.random.default_rng(seed).normal(size=[len(lengths), 4]).astype(np.float32)
    variables = [*embedding.variables, *encoder.variables]
    results = []
    for run in (encode, lambda e, s, *sentences: plain.encoded_sentences(s, e, *sentences)):
        with tf.GradientTape() as tape:
            encodings = run(embedding, encoder, tokens, lengths)
            loss = tf.reduce_sum(encodings * weights)
        results.append((encodings, tape.gradient(loss, variables)))
    (encodings, gradients), (plain_encodings, plain_gradients) = results
    assert encodings.shape == (40, 4)
    assert_close(encodings, plain_encodings, 1e-6)
    for gradient, plain_gradient in zip(gradients, plain_gradients, strict=True):
        assert_close(gradient, plain_gradient)


def test_padding_after_the_length_never_matters_and_equal_sentences_have_equal_rows():
    (embedding, encoder), (tokens, lengths) = make_encoder(), random_sentences(0)
    expected = encode(embedding, encoder, tokens, lengths)
    other = tokens.copy()
    padding = np.arange(5) >= lengths[:, None]
    other[padding] = np.random.default_rng(1).integers(0, VOCABULARY, padding.sum())
    assert (other != tokens).any()
    wider = np.pad(other, [(0, 0), (0, 3)])
    np.testing.assert_array_equal(encode(embedding, encoder, wider, lengths), expected)
    np.testing.assert_array_equal(expected[-1], expected[0])


def test_bfloat16_products_give_float32_encodings_close_to_float32():
    sentences = random_sentences(0)
    expected = encode(*make_encoder(), *sentences)
    actual = encode(*make_encoder(tf.bfloat16), *sentences)
    assert actual.dtype == tf.float32
    assert 0 < tf.norm(actual - expected) / tf.norm(expected) < 0.02


def test_the_encoders_variables():
    assert names_and_shapes(SentenceEncoder(3, 4, name="facts")) == {
        "facts/lstm/linear/w": (7, 16),
        "facts/lstm/linear/b": (16,),
    }


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: prefix_tree([1, 2], [2]), r"tokens must have .*sentences, length\] .* got \(2,\)"),
        (lambda: prefix_tree([[1, 2]], [2, 2]), r"lengths must have .* = \(1,\), got \(2,\)"),
        (lambda: prefix_tree([[1.0, 2.0]], [2]), "tokens must be integers, got float32"),
        (lambda: prefix_tree([[1, 2], [1, 2]], [2, 0]), "lengths must be from 1 to 2, .* got 0"),
        (lambda: prefix_tree([[1, 2], [1, 2]], [3, 2]), "lengths must be from 1 to 2, .* got 3"),
    ],
)
def test_wrong_sentences_and_sizes_are_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("seed", range(2))
def test_fixed_shapes_depend_on_the_number_of_sentences_alone(seed):
    embedding, encoder = make_encoder()
    tokens, lengths = random_sentences(seed)
    tree = prefix_tree(tokens, lengths, fixed_shapes=True)
    assert {len(words) for words in tree["words"]} == {len(tokens)}
    assert {len(parents) for parents in tree["parents"]} == {len(tokens)}
    expected = encode(embedding, encoder, tokens, lengths)
    assert_close(encoder(embedding, tree), expected, 1e-6)
    specs = [tf.TensorSpec(tokens.shape, tf.int32), tf.TensorSpec(lengths.shape, tf.int32)]
    traced = tf.function(lambda *args: prefix_tree(*args, True), autograph=False)
    shapes = traced.get_concrete_function(*specs).structured_outputs
    assert all(spec.shape.is_fully_defined() for spec in tf.nest.flatten(shapes))
