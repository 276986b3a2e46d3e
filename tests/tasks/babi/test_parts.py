"""The sizes of the buckets into which a batch's questions are divided."""

import itertools

import pytest

from rrn.tasks.babi.batches import bucket_boundaries


def brute_force_cost(size_counts, boundaries, node_cost):
    smallest_that_fits = [next(b for b in boundaries if b >= n) for n in range(len(size_counts))]
    return sum(
        count * (b**2 + node_cost * b)
        for n, (count, b) in enumerate(zip(size_counts, smallest_that_fits, strict=True))
        if n > 0
    )


@pytest.mark.parametrize("num_buckets", [1, 2, 3, 9])
@pytest.mark.parametrize("node_cost", [0, 7])
@pytest.mark.parametrize(
    "size_counts", [[0, 5], [0, 5, 0, 1, 9, 2, 1], [0, 1, 1, 1, 1, 1], [0, 0, 8, 0, 0, 3]]
)
def test_bucket_boundaries_are_the_cheapest_of_all(size_counts, num_buckets, node_cost):
    boundaries = bucket_boundaries(size_counts, num_buckets, node_cost)
    max_size = len(size_counts) - 1
    assert list(boundaries) == sorted(set(boundaries)) and boundaries[-1] == max_size
    assert len(boundaries) <= num_buckets
    choices = [
        (*inner, max_size)
        for count in range(num_buckets)
        for inner in itertools.combinations(range(1, max_size), count)
    ]
    cheapest = min(brute_force_cost(size_counts, choice, node_cost) for choice in choices)
    assert brute_force_cost(size_counts, boundaries, node_cost) == pytest.approx(cheapest)
