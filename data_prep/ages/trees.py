"""All labelled trees on eight people, made from their Prüfer sequences."""

import numpy as np

PEOPLE = 8
NUM_TREES = PEOPLE ** (PEOPLE - 2)


def all_sequences() -> np.ndarray:
    """Returns [262144, 6] uint8: the Prüfer sequence of every tree."""
    length = PEOPLE - 2
    return np.indices([PEOPLE] * length, np.uint8).reshape(length, NUM_TREES).T


def decode(sequences: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Makes the trees of Prüfer sequences, all at once.

    The lowest leaf is cut from the person whom the sequence names next, until two are left. Put
    together again from these two on, every leaf is one farther from all than its neighbour.

    Args:
        sequences: [trees, 6] people.

    Returns:
        edges: [trees, 7, 2] uint8.
        distance: [trees, 8, 8] uint8.
    """
    tree = np.arange(len(sequences))
    # How often each person is still named, plus 1: leaves have 1, who is cut has 0.
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
        # What this says of people who are still to come is overwritten when they come.
        away = distance[tree, neighbour] + np.uint8(1)
        away[tree, leaf] = 0
        distance[tree, leaf] = distance[tree, :, leaf] = away
    edges = np.sort(np.stack([np.stack(cut, axis=1) for cut in cuts], axis=1), axis=2)
    return edges.astype(np.uint8), distance
