"""What holds of every prepared file of ages; `data_prep.ages.prepare` describes it."""

from collections.abc import Mapping

import numpy as np

from rrn.data_prep import DataError
from rrn.data_prep.ages.trees import NUM_TREES, PEOPLE
from rrn.data_prep.layout import SPLITS, check_all, check_layout, check_range

LAYOUT = {
    "{split}/edges": ("uint8", ("T", PEOPLE - 1, 2)),
    "{split}/distance": ("uint8", ("T", PEOPLE, PEOPLE)),
}


def check(datasets: Mapping[str, np.ndarray]) -> None:
    """Refuses wrong arrays with a `DataError`."""
    check_layout(datasets, LAYOUT)
    neighbours = []
    for split in SPLITS:
        edges, distance = datasets[f"{split}/edges"], datasets[f"{split}/distance"]
        check_range(f"{split}/edges", edges, 0, PEOPLE)
        check_all(f"{split}/edges", edges[..., 0] < edges[..., 1], edges, "the lower one first")
        neighbours.append(_neighbours(edges))
        connected, found = _distances(neighbours[-1])
        # Seven edges that connect eight people are a tree.
        check_all(f"{split}/edges", connected, edges, "edges that form a tree")
        check_all(f"{split}/distance", found == distance, distance, "the number of edges between")
    each = np.concatenate(neighbours)
    if len(np.unique(each.view(np.uint64))) != len(each) or len(each) != NUM_TREES:
        raise DataError(f"edges: expected each of the {NUM_TREES:,} trees in one split, once")


def _neighbours(edges: np.ndarray) -> np.ndarray:
    """Returns [trees, 8] uint8: bit k of entry i says that i and k have an edge."""
    tree = np.arange(len(edges))
    bits = np.zeros((len(edges), PEOPLE), np.uint8)
    for one, two in np.moveaxis(edges, 0, 2):
        bits[tree, one] |= np.uint8(1) << two
        bits[tree, two] |= np.uint8(1) << one
    return bits


def _distances(neighbours: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns which graphs are connected, [graphs], and their distances, [graphs, 8, 8]."""
    person = np.arange(PEOPLE, dtype=np.uint8)
    reached = np.broadcast_to(np.uint8(1) << person, neighbours.shape)
    distance = np.zeros((*neighbours.shape, PEOPLE), np.uint8)
    for _ in range(PEOPLE - 1):
        there = (reached[..., None] >> person) & np.uint8(1)
        distance += np.uint8(1) - there
        reached = reached | np.bitwise_or.reduce(there * neighbours[:, None], axis=2)
    return (reached == 255).all(axis=1), distance
