"""The Sudoku solver: a brute-force oracle, hard puzzles and the real list."""

import numpy as np

from rrn.data_prep.sudoku.solver import BLOCK, NOT_KNOWN, count_solutions, search, solve
from tests.data_prep.sudoku.helpers import UNITS, assert_solves, boards


def count_by_trial(puzzle: np.ndarray, most: int) -> int:
    """Counts solutions up to `most`, cell by cell: the oracle."""
    grid = puzzle.reshape(9, 9)
    best = None
    for row, column in np.argwhere(grid == 0):
        box = grid[row // 3 * 3 : row // 3 * 3 + 3, column // 3 * 3 : column // 3 * 3 + 3]
        options = set(range(1, 10)) - {*grid[row], *grid[:, column], *box.flat}
        if best is None or len(options) < len(best[2]):
            best = row, column, options
    if best is None:
        return 1
    row, column, options = best
    found = 0
    for digit in options:
        grid[row, column] = digit
        found += count_by_trial(puzzle, most - found)
        if found == most:
            break
    grid[row, column] = 0
    return found


def test_solve_counts_as_the_oracle_does(generated):
    rng = np.random.default_rng(1)
    puzzles = generated[0][:18].copy()
    # The first with a given less: more solutions. The last with a given changed: mostly none.
    for puzzle in puzzles[:8]:
        puzzle[rng.choice(np.flatnonzero(puzzle))] = 0
    for puzzle in puzzles[11:]:
        cell = rng.choice(np.flatnonzero(puzzle))
        taken = {digit for unit in UNITS if cell in unit for digit in puzzle[unit]}
        puzzle[cell] = min(set(range(1, 10)) - taken, default=puzzle[cell])
    expected = [count_by_trial(puzzle.copy(), 9) for puzzle in puzzles]
    assert {0, 1, 2, 9} <= set(expected)
    solutions, counts = solve(puzzles, max_solutions=9)
    assert counts.tolist() == expected
    assert_solves(solutions[counts > 0], puzzles[counts > 0])
    assert not solutions[counts == 0].any()
    assert solve(puzzles)[1].tolist() == np.minimum(expected, 2).tolist()


def test_solve_hard_puzzles():
    known = {
        # Inkala 2012; the "golden nugget"; one that counters trial in order of cells and digits.
        "8..........36......7..9.2...5...7.......457.....1...3...1....68..85...1..9....4..": (
            "812753649943682175675491283154237896369845721287169534521974368438526917796318452"
        ),
        ".......39.....1..5..3.5.8....8.9...6.7...2...1..4.......9.8..5..2....6..4..7.....": (
            "751846239892371465643259871238197546974562318165438927319684752527913684486725193"
        ),
        "..............3.85..1.2.......5.7.....4...1...9.......5......73..2.1........4...9": (
            "987654321246173985351928746128537694634892157795461832519286473472319568863745219"
        ),
    }
    solutions, counts = solve(boards(*known))
    np.testing.assert_array_equal(solutions, boards(*known.values()))
    assert counts.tolist() == [1, 1, 1]


def test_solve_when_there_is_no_or_more_than_one_solution(generated):
    solution = generated[1][0]
    wrong = solution.copy()
    wrong[[0, 1]] = wrong[[1, 0]]  # full, but two columns have a digit twice
    no_place = boards("12345678." + "........9" + "." * 63)[0]  # no digit left for the last cell
    puzzles = np.array([np.zeros(81, int), wrong, solution, no_place])
    solutions, counts = solve(puzzles, max_solutions=50)
    assert counts.tolist() == [50, 0, 1, 0]
    assert_solves(solutions[[0, 2]], puzzles[[0, 2]])


def test_solve_takes_none_and_more_than_a_block(generated):
    solutions, counts = solve(np.zeros((0, 81), int))
    assert solutions.shape == (0, 81) and counts.shape == (0,)
    index = np.arange(BLOCK + 100) % 60
    solutions, counts = solve(generated[0][index])
    assert (counts == 1).all()
    np.testing.assert_array_equal(solutions, generated[1][index])


def test_solve_fills_blank_grids_at_random():
    blank = np.zeros((500, 81), int)
    grids, _ = solve(blank, 1, np.random.default_rng(0))
    assert_solves(grids, blank)
    # Every digit in every cell: 500 / 9 = 55.6 on average, standard deviation 7.
    times = np.stack([(grids == digit).sum(axis=0) for digit in range(1, 10)])
    assert times.min() > 20 and times.max() < 91


def test_whether_there_is_one_solution_is_counted_within_bounds(generated):
    two = generated[0].copy()
    two[:] = 0
    # Long searched by programs (Norvig), and without a solution.
    hard = ".....5.8....6.1.43..........1.5........1.6...3.......553.....61........4........."
    puzzles = np.concatenate([generated[0][:3], two[:1], boards(hard)])
    assert count_solutions(puzzles, 100_000).tolist() == [1, 1, 1, 2, NOT_KNOWN]
    *_, guesses = search(puzzles[-1:], most_guesses=5000)
    assert 5000 < guesses[0] < 5000 + 2 * BLOCK


def test_guesses_measure_the_search(generated):
    one_blank = generated[1][:1].copy()
    one_blank[0, 0] = 0
    # The hardest of a well-known list, and one that singles solve.
    hard = "8..........36......7..9.2...5...7.......457.....1...3...1....68..85...1..9....4.."
    easy = "53..7....6..195....98....6.8...6...34..8.3..17...2...6.6....28....419..5....8..79"
    _, counts, guesses = search(np.concatenate([one_blank, boards(hard, easy)]))
    assert counts.tolist() == [1, 1, 1]
    assert guesses[0] == guesses[2] == 0 and guesses[1] > 10
