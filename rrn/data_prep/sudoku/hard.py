"""Makes hard Sudoku puzzles by local search on the guesses that the solver takes.

A family begins with random puzzles. In every generation each of its puzzles has a child, in which
another cell is given instead of one, with the digit of the same solution or of another. Of parents
and children the hardest stay, but those that take more than `LEVEL` guesses count as equally hard,
and chance decides between them. Once half of the family is that hard, all that are it are taken,
and the family changes on until there are enough of them. Families know nothing of each other.

How many guesses a puzzle takes depends much on how it is turned, since the solver tries cells and
digits in their order. So a puzzle's hardness is the mean logarithm over several turns. Those that
stay are turned and measured again and again, or else puzzles would be found that were hard in a few
turns by chance.
"""

import multiprocessing
import os
import signal
from collections.abc import Iterator, Sequence

import numpy as np

from rrn.data_prep.sudoku.generator import blank_cells
from rrn.data_prep.sudoku.schema import FEWEST_GIVENS
from rrn.data_prep.sudoku.solver import search, solve
from rrn.data_prep.sudoku.symmetry import fingerprints, turned

LEVEL = 100  # guesses, the geometric mean over turns
PARENTS = 128  # puzzles of a family
MOST = 1024  # puzzles that are taken of a family
TURNS = 3  # in which a child is measured
SURE = 6  # turns in which a puzzle is measured before it is taken
AGAIN = 0.05  # the share of parents that are measured once more in a generation
OTHER_SOLUTION = 0.3  # the share of children that have another solution than their parent
PATIENCE = 5000  # generations until the first puzzle is taken; the one measured needed 1,600


def hard_families(
    sizes: Sequence[int], seed: int, level: int = LEVEL
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Makes families of hard puzzles, with a process for each core.

    Args:
      sizes: how many puzzles of each family are taken.
      seed: of all random choices. The puzzles do not depend on the number of processes.
      level: how many guesses they are to take.

    Yields:
      puzzles: [size, 81] uint8, 0 for a blank. solutions: [size, 81] uint8.
    """
    tasks = [(size, (seed, index), level) for index, size in enumerate(sizes)]
    processes = min(len(tasks), _cores())
    if processes == 1:
        yield from map(_family, tasks)
    else:
        # At Ctrl-C this process ends the others.
        ignore = signal.signal, (signal.SIGINT, signal.SIG_IGN)
        with multiprocessing.get_context("spawn").Pool(processes, *ignore) as pool:
            yield from pool.imap(_family, tasks)


def _cores():
    affinity = getattr(os, "sched_getaffinity", None)  # Linux alone has it
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def _family(task):
    """The puzzles and solutions of a family that gets there in time."""
    size, seed, level = task
    rng = np.random.default_rng(seed)
    found = None
    while found is None:
        found = _evolve(size, np.log1p(level), rng)
    puzzles = turned(found, rng)
    return puzzles, solve(puzzles)[0]


def _evolve(size, level, rng):
    """So many hard puzzles of a new family; None if it does not get there."""
    solutions, _ = solve(np.zeros((PARENTS, 81), np.uint8), max_solutions=1, rng=rng)
    puzzles = blank_cells(solutions, FEWEST_GIVENS, rng)
    kinds = fingerprints(puzzles, solutions)
    hardness, turns = _hardness(puzzles, rng), np.ones(PARENTS)
    taken, patience = {}, PATIENCE
    while len(taken) < size and patience:
        patience -= not taken
        again = rng.random(PARENTS) < AGAIN
        turns[again] += 1
        hardness[again] += (_hardness(puzzles[again], rng) - hardness[again]) / turns[again]
        children = _children(puzzles, solutions, min(level, hardness.min()), rng)
        own = puzzles, solutions, kinds, hardness, turns
        both = [np.concatenate(pair) for pair in zip(own, children, strict=True)]
        _, distinct = np.unique(both[2], return_index=True)  # the first of equal ones: the parent
        rank = np.minimum(both[3][distinct], level)
        order = np.lexsort((rng.random(len(rank)), -rank))
        kept = distinct[order[:PARENTS]]
        puzzles, solutions, kinds, hardness, turns = (array[kept] for array in both)
        hard = np.flatnonzero((hardness >= level) & (turns >= SURE))
        if np.median(hardness) >= level:
            taken |= {kinds[i]: puzzles[i] for i in hard if kinds[i] not in taken}
    return np.stack(list(taken.values())[:size]) if taken else None


def _hardness(puzzles, rng):
    return np.log1p(search(turned(puzzles, rng))[2])


def _children(puzzles, solutions, least, rng):
    """The children that are harder than `least`, as puzzles, solutions, kinds, hardness, turns."""
    given, blank = (
        (rng.random(puzzles.shape) * cells).argmax(axis=1)[:, None]
        for cells in (puzzles > 0, puzzles == 0)
    )
    puzzles, solutions = puzzles.copy(), solutions.copy()
    np.put_along_axis(puzzles, given, 0, axis=1)
    other = rng.random(len(puzzles)) < OTHER_SOLUTION
    solutions[other], _ = solve(puzzles[other], max_solutions=1, rng=rng)
    np.put_along_axis(puzzles, blank, np.take_along_axis(solutions, blank, axis=1), axis=1)
    _, counts = solve(puzzles)
    wanted, total = np.flatnonzero(counts == 1), 0.0
    for turn in range(1, TURNS + 1):
        total = total + _hardness(puzzles[wanted], rng)
        hard = total > turn * least
        wanted, total = wanted[hard], total[hard]
    puzzles, solutions, turns = (
        puzzles[wanted],
        solutions[wanted],
        np.full(len(wanted), 1.0 * TURNS),
    )
    kinds = fingerprints(puzzles, solutions) if len(wanted) else np.zeros(0, np.uint64)
    return puzzles, solutions, kinds, total / TURNS, turns
