"""All labelled trees on eight people, made from their Prüfer sequences."""

import numpy as np

PEOPLE = 8
NUM_TREES = PEOPLE ** (PEOPLE - 2)


def all_sequences() -> np.ndarray:
    """Returns the Prüfer sequences of all trees, [262144, 6] uint8."""
    length = PEOPLE - 2
    return np.indices([PEOPLE] * length, np.uint8).reshape(length, NUM_TREES).T


def decode(sequences: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Makes the trees of Prüfer sequences, all at once.

    A sequence says how to take a tree apart: the leaf with the lowest number is cut from the
    person that the sequence names next, until two people are left. The distances follow when the
    tree is put together again in reverse: a leaf is one edge farther from everybody than its
    neighbour is. Sequences are [trees, 6] people.

    Returns:
      edges: [trees, 7, 2] uint8, the two people of each edge, the lower one first. distance:
      [trees, 8, 8] uint8, the number of edges between every two people.
    """
    tree = np.arange(len(sequences))
    # A person's number of edges is 1 plus how often the sequence still names the person. It is 1
    # for a leaf, and becomes 0 when the leaf is cut.
    degree = 1 + (sequences[:, :, None] == np.arange(PEOPLE)).sum(axis=1)
    cuts = []
    for neighbour in sequences.T:
        leaf = (degree == 1).argmax(axis=1)
        cuts.append((leaf, neighbour))
        degree[tree, leaf] -= 1
        degree[tree, neighbour] -= 1
    cuts.append((degree == 1).nonzero()[1].reshape(-1, 2).T)
    distance = np.zeros((len(sequences), PEOPLE, PEOPLE), np.uint8)
    for leaf, neighbour in reversed(cuts):
        # Entries of people who are not yet put back are wrong here, and written over later.
        away = distance[tree, neighbour] + np.uint8(1)
        away[tree, leaf] = 0
        distance[tree, leaf] = distance[tree, :, leaf] = away
    edges = np.sort(np.stack([np.stack(cut, axis=1) for cut in cuts], axis=1), axis=2)
    return edges.astype(np.uint8), distance
