"""Splits Sudoku puzzles into a pool for each split, and makes examples from a pool."""

from collections.abc import Mapping

import numpy as np

from rrn.data_prep import DataError
from rrn.data_prep.layout import SPLITS

LEVELS = range(18)  # how many further cells are revealed
MOST_GIVENS = 81 - LEVELS[-1]


def split_pools(
    kinds: np.ndarray, sizes: Mapping[str, int], rng: np.random.Generator
) -> tuple[dict[str, np.ndarray], list[str]]:
    """Splits puzzles at random into pools, so that equivalent puzzles are in the same pool.

    Args:
      kinds: [puzzles] integers, equal for equivalent puzzles.
      sizes: the most puzzles of the "test" and the "valid" pool; the rest are the "train" pool.

    Returns:
      pools: the indices of each split's puzzles, ascending. notes: sentences about the split.

    Raises:
      DataError: a pool is left empty.
    """
    _, kind, count = np.unique(kinds, return_inverse=True, return_counts=True)
    rank = rng.permutation(len(count))[kind]
    ordered = rank.argsort(kind="stable")
    starts = np.flatnonzero(np.diff(rank[ordered])) + 1
    chosen = {split: [] for split in SPLITS}
    for together in np.split(ordered, starts):
        fitting = (s for s in sizes if len(chosen[s]) + len(together) <= sizes[s])
        chosen[next(fitting, "train")].extend(together)
    pools = {split: np.sort(np.array(members, int)) for split, members in chosen.items()}
    if empty := [split for split in SPLITS if not len(pools[split])]:
        raise DataError(
            f"{len(kinds):,} puzzles of {len(count):,} kinds leave the {empty[0]} pool empty;"
            " equivalent puzzles stay together: give more puzzles, or other pool sizes"
        )
    notes = ["The puzzles are split at random by seed"]
    if alike := count[count > 1].sum():
        notes.append(f"{alike:,} puzzles are equivalent to others of the list and stay with them")
    return pools, notes


def make_examples(
    puzzles: np.ndarray, solutions: np.ndarray, per_level: int, rng: np.random.Generator
) -> dict[str, np.ndarray]:
    """Makes the examples of a split from its pool, `per_level` of each level from 0 to 17.

    Puzzles, with at most 64 givens, and solutions are [pool, 81] uint8.

    Returns:
      "puzzle", "solution", "givens" and "pool_puzzle", as in the file's schema.
    """
    levels = []
    for level in LEVELS:
        drawn = rng.integers(len(puzzles), size=per_level)
        shown = puzzles[drawn] > 0
        blanks_first = (rng.random(shown.shape) + shown).argsort(axis=1)
        np.put_along_axis(shown, blanks_first[:, :level], True, axis=1)
        digits = np.tile(np.arange(1, 10, dtype=np.uint8), (per_level, 1))
        permuted = rng.permuted(digits, axis=1)
        solution = np.take_along_axis(permuted, solutions[drawn] - 1, axis=1)
        levels.append((np.where(shown, solution, 0), solution, drawn))
    return _by_givens(*map(np.concatenate, zip(*levels, strict=True)))


def _by_givens(puzzle, solution, pool_puzzle):
    """Examples as in the file's schema, in order of their numbers of givens."""
    givens = np.count_nonzero(puzzle, axis=1).astype(np.uint8)
    order = givens.argsort(kind="stable")
    return {
        "puzzle": puzzle[order],
        "solution": solution[order],
        "givens": givens[order],
        "pool_puzzle": pool_puzzle[order].astype(np.int32),
    }


def as_they_are(puzzles: np.ndarray, solutions: np.ndarray) -> dict[str, np.ndarray]:
    """Makes an example of each puzzle, without a change, and adds "pool", as in the schema."""
    return {**_by_givens(puzzles, solutions, np.arange(len(puzzles))), "pool": puzzles}


def mix(
    examples: Mapping[str, np.ndarray],
    others: Mapping[str, np.ndarray],
    rng: np.random.Generator,
) -> dict[str, np.ndarray]:
    """Adds as many other examples, drawn at random, each at most once.

    Both are as of `as_they_are`.

    Raises:
      DataError: there are too few of the others.
    """
    number = len(examples["givens"])
    if number > len(others["givens"]):
        raise DataError(f"--mixed: expected {number:,} examples, got {len(others['givens']):,}")
    chosen = np.sort(rng.choice(len(others["givens"]), number, replace=False))
    used, index = np.unique(others["pool_puzzle"][chosen], return_inverse=True)
    added = others["puzzle"][chosen], others["solution"][chosen], len(examples["pool"]) + index
    own = (examples[name] for name in ("puzzle", "solution", "pool_puzzle"))
    both = [np.concatenate(pair) for pair in zip(own, added, strict=True)]
    pool = np.concatenate([examples["pool"], others["pool"][used]])
    return {**_by_givens(*both), "pool": pool}
