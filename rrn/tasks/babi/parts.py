"""The parts of a batch: questions with about as many facts are padded to the same number."""

from collections.abc import Mapping, Sequence

import numpy as np


def part_boundaries(
    size_counts: Sequence[float] | np.ndarray, num_parts: int, node_cost: int = 7
) -> tuple[int, ...]:
    """Finds the parts of a batch that make the padding cheapest.

    A graph of size n in a part of size b costs b² + node_cost * b. The unit is one edge. A node
    costs about 7: its projections, node MLP and LSTM against the two middle layers of the message
    MLP.

    Args:
      size_counts: the expected number of graphs of each size, `[max_size + 1]`.

    Returns:
      The largest size in each part, ascending.
    """
    max_size = len(size_counts) - 1
    # largest size covered so far -> (cost, boundaries)
    best: dict[int, tuple[float, tuple[int, ...]]] = {0: (0.0, ())}
    for _ in range(min(num_parts, max_size)):
        longer = dict(best)
        for start, (cost, boundaries) in best.items():
            graphs = 0.0
            for end in range(start + 1, max_size + 1):
                graphs += size_counts[end]
                candidate = cost + graphs * (end**2 + node_cost * end)
                if end not in longer or candidate < longer[end][0]:
                    longer[end] = candidate, (*boundaries, end)
        best = longer
    return best[max_size][1]


def fact_shares(train: Mapping[str, np.ndarray]) -> np.ndarray:
    """Counts questions by their number of facts, as if one of each task were drawn.

    Returns:
      For each number of facts the expected number of questions, `[most facts + 1]`.
    """
    tasks, counts = np.unique(train["task"], return_counts=True)
    share = 1.0 / counts[np.searchsorted(tasks, train["task"])]
    return np.bincount(train["num_facts"], weights=share)
