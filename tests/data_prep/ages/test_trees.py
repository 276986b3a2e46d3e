"""Trees of Prüfer sequences: a plain decoder and breadth-first search are the oracles."""

import numpy as np

from rrn.data_prep.ages.trees import decode


def plain_decode(sequence):
    """The set of edges of a Prüfer sequence."""
    left, edges = set(range(len(sequence) + 2)), set()
    for place, neighbour in enumerate(sequence):
        leaf = min(left - set(sequence[place:]))
        edges.add((min(leaf, neighbour), max(leaf, neighbour)))
        left.remove(leaf)
    return edges | {tuple(sorted(left))}


def plain_distances(edges):
    """[people, people] by breadth-first search; fails where the edges do not reach everyone."""
    distances = np.full((8, 8), -1)
    for start in range(8):
        reached, far = {start}, 0
        while reached:
            distances[start, list(reached)] = far
            near = {b for edge in edges for a, b in (edge, edge[::-1]) if a in reached}
            reached = {person for person in near if distances[start, person] < 0}
            far += 1
    assert distances.min() == 0
    return distances


def test_trees_are_those_of_plain_decoding_and_search():
    sequences = np.random.default_rng(0).integers(8, size=(300, 6))
    all_edges, distance = decode(sequences)
    for sequence, edges, found in zip(
        sequences.tolist(), all_edges.tolist(), distance, strict=True
    ):
        edges = set(map(tuple, edges))
        assert edges == plain_decode(sequence)
        np.testing.assert_array_equal(found, plain_distances(edges))
