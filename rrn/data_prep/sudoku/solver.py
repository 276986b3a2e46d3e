"""An exact Sudoku solver on NumPy arrays that takes many puzzles at once.

A board is 81 bit masks of the digits that its cells may still hold. The masks of all boards of a
block are narrowed together by three rules. Naked singles: if a cell can hold only one digit, no
other cell of its units holds it. Hidden singles: if only one cell of a unit can hold a digit, it
does. Locked candidates: if a line can hold a digit only in one box, the box's other cells do not
hold it, and the same with line and box swapped. A board that no rule narrows any further is split
in two: in one, a cell holds one of its digits, and in the other any other of them.
"""

import numpy as np

MOST_GUESSES = 4_000_000  # half a minute's; hard puzzles take hundreds
NOT_KNOWN = -1  # a number of solutions
IN_WORDS = {0: "no solution", 1: "one solution", 2: "more than one solution"}
IN_WORDS[NOT_KNOWN] = f"a number of solutions that {MOST_GUESSES:,} guesses have not shown"

BLOCK = 2048  # boards that are narrowed together; their masks fit into a core's cache
ALL = np.uint16(0b111111111)  # the mask of a blank cell; digit d is bit d - 1

# Axes of masks [band, row, stack, column, boards] along which the cells of a unit lie.
ROWS, COLUMNS, BOXES = (2, 3), (0, 1), (1, 3)
# The three cells that a line shares with a box lie along the first of these axes, the other such
# triples of the line along the second, and those of the box along the third.
TRIPLES = ((3, 2, 1), (1, 0, 3))

_COUNT = np.array([bin(mask).count("1") for mask in range(512)], np.uint8)


def solve(
    puzzles: np.ndarray, max_solutions: int = 2, rng: np.random.Generator | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Solves puzzles and counts their solutions, up to `max_solutions` of each.

    Args:
      puzzles: [puzzles, 81] integers 0 to 9, row by row, 0 for a blank.
      rng: draws the digit that is tried first. Without it, the smallest one is tried first.

    Returns:
      solutions: [puzzles, 81] uint8, one of the solutions found; zeros if there is none. counts:
      [puzzles] int64, the number of solutions found, at most `max_solutions`.
    """
    solutions, counts, _ = search(puzzles, max_solutions, rng)
    return solutions, counts


def count_solutions(puzzles: np.ndarray, most_guesses: int = MOST_GUESSES) -> np.ndarray:
    """Returns [puzzles] int8: 0, 1, or 2 for any number of solutions above 1.

    It is `NOT_KNOWN` where the search was given up after `most_guesses`.
    """
    _, counts, guesses = search(puzzles, most_guesses=most_guesses)
    given_up = (guesses > most_guesses) & (counts < 2)
    return np.where(given_up, NOT_KNOWN, counts).astype(np.int8)


def search(
    puzzles: np.ndarray,
    max_solutions: int = 2,
    rng: np.random.Generator | None = None,
    most_guesses: int | None = None,
    digits_found: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """As `solve`, but gives the search for a puzzle up after `most_guesses`, if that is given.

    To `digits_found`, integers [puzzles, 81, 9], it adds how many of the solutions found have each
    digit in each cell. It also returns guesses, [puzzles] int64: how often a board was split in
    two, above `most_guesses` where the search was given up.
    """
    puzzles = np.asarray(puzzles, np.uint16)
    solutions = np.zeros(puzzles.shape, np.uint8)
    counts, guesses = np.zeros([2, len(puzzles)], np.int64)
    masks = np.where(puzzles == 0, ALL, np.uint16(1) << puzzles >> np.uint16(1))
    stack = _blocks(np.ascontiguousarray(masks.T), np.arange(len(puzzles)))[::-1]
    while stack:
        # Taking the newest boards searches depth first, so the stack stays short. Blocks are filled
        # up because full ones are fastest.
        masks, owner = stack.pop()
        while stack and len(owner) + len(stack[-1][1]) <= BLOCK:
            more_masks, more_owner = stack.pop()
            masks, owner = np.hstack([masks, more_masks]), np.hstack([owner, more_owner])
        masks, possible, changed = _narrow(masks)
        known = ((masks & (masks - 1)) == 0).all(axis=0)
        solved = np.flatnonzero(possible & ~changed & known)
        if len(solved):
            # Below the one bit of digit d are d - 1 bits.
            digits = _COUNT[masks[:, solved].T - 1]
            solutions[owner[solved]] = digits + 1
            if digits_found is not None:
                np.add.at(digits_found, (owner[solved, None], np.arange(81), digits), 1)
            np.add.at(counts, owner[solved], 1)
        wanted = possible & (counts[owner] < max_solutions)
        if most_guesses is not None:
            wanted &= guesses[owner] <= most_guesses
        stuck = np.flatnonzero(wanted & ~changed & ~known)
        if len(stuck):
            np.add.at(guesses, owner[stuck], 1)
            masks, second = _branch(masks, stuck, rng)
            stack.append((second, owner[stuck]))
        keep = np.flatnonzero(wanted & (changed | ~known))
        if len(keep):
            stack.append((masks.take(keep, axis=1), owner[keep]))
    return solutions, np.minimum(counts, max_solutions), guesses


def _blocks(masks, owner):
    starts = range(0, len(owner), BLOCK)
    return [(masks[:, i : i + BLOCK], owner[i : i + BLOCK]) for i in starts]


def _narrow(masks):
    """Applies each rule once.

    Returns the masks, which boards may have a solution, and which boards changed.
    """
    before = masks.reshape(3, 3, 3, 3, -1)
    single = np.where(before & (before - 1), 0, before)
    taken = _any(single, ROWS) | _any(single, COLUMNS) | _any(single, BOXES)
    after = before & ~taken | single
    possible, forced = after.all(axis=(0, 1, 2, 3)), 0
    for unit in (ROWS, COLUMNS, BOXES):
        once, twice = _once_and_twice(after, unit)
        possible &= (once == ALL).all(axis=(0, 1, 2, 3))
        forced = forced | (once & ~twice)  # digits with a single place in a unit
    forced = forced & after
    after = np.where(forced, forced, after)
    for cells, line, box in TRIPLES:
        triple = _any(after, cells)
        # A digit that a line can hold only in one box is taken from the box's other lines, and the
        # same with line and box swapped.
        after = after & ~_others(triple & ~_others(triple, line), box)
        after = after & ~_others(triple & ~_others(triple, box), line)
    changed = (after != before).any(axis=(0, 1, 2, 3))
    return after.reshape(81, -1), possible, changed


def _any(masks, axes):
    return np.bitwise_or.reduce(masks, axis=axes, keepdims=True)


def _others(masks, axis):
    return np.roll(masks, 1, axis) | np.roll(masks, 2, axis)


def _once_and_twice(masks, unit):
    """Returns the digits that at least one and at least two cells of each unit may hold."""
    cells = np.moveaxis(masks, unit, (0, 1))
    once = np.zeros(cells.shape[2:], np.uint16)
    twice = np.zeros_like(once)
    for i, j in np.ndindex(3, 3):
        twice |= once & cells[i, j]
        once |= cells[i, j]
    return np.expand_dims(once, unit), np.expand_dims(twice, unit)


def _branch(masks, stuck, rng):
    """Splits each stuck board in two at the first of the cells with the fewest candidates.

    Returns the masks, where this cell holds one of its digits, and the boards where it holds any
    other of them.
    """
    boards = masks.take(stuck, axis=1)
    count = _COUNT[boards]
    cell = np.where(count > 1, count, 10).argmin(axis=0)
    index = np.arange(len(stuck))
    options = boards[cell, index]
    if rng is None:
        tried = options & -options
    else:
        bits = (options >> np.arange(9, dtype=np.uint16)[:, None]) & 1
        tried = (1 << (rng.random(bits.shape) * bits).argmax(axis=0)).astype(np.uint16)
    masks[cell, stuck] = tried
    boards[cell, index] = options & ~tried
    return masks, boards
